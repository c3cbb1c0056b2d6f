#!/usr/bin/env bash
# What README.md tells somebody who has only the installed library to type: its program and its commands, as they stand.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

python3 - "$source_dir/README.md" "$work" <<'PYTHON'
import re
import sys
from pathlib import Path

text, work = Path(sys.argv[1]).read_text(), Path(sys.argv[2])
section = text[text.index("## A program") :]
(work / "program.cpp").write_text(re.search(r"```cpp\n(.*?)```", section, re.DOTALL)[1])
commands = re.search(r"```\n(.*?)```", re.sub(r"```cpp.*?```", "", section, flags=re.DOTALL), re.DOTALL)[1]
assert "pkg-config --cflags --libs dovetail" in commands, commands
# `make install` builds; what it installs is here already, in the folder that it is told.
(work / "commands.sh").write_text(re.sub(r"^make install .*\n", "", commands, flags=re.MULTILINE))
PYTHON
mkdir "$work/home"
mv "$prefix" "$work/home/dovetail"
cd "$work"
said=$(env -u LD_LIBRARY_PATH -u PKG_CONFIG_PATH HOME="$work/home" bash -e commands.sh)
if [[ $said != *"sum 500500"* ]]; then
    echo "the README's program said '$said'" >&2
    exit 1
fi
