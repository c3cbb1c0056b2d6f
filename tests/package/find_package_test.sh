#!/usr/bin/env bash
# A project elsewhere finds the installed library with find_package(dovetail).
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cmake -S "$source_dir/tests/package" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix"
cmake --build "$work/build"
"$work/build/cpp_consumer"
"$work/build/c_consumer"
"$work/build/posix_consumer"
