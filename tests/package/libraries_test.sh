#!/usr/bin/env bash
# What is installed: libraries that find each other, show the public interface alone, and can be loaded late.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

python3 "$source_dir/tests/package/libraries.py" "$prefix" "$source_dir" "$build_dir"
