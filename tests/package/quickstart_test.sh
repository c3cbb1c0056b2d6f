#!/usr/bin/env bash
# The programs of docs/quickstart.md and docs/coming_from.md, built by the commands that stand there, with the installed library alone.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

export PKG_CONFIG_PATH=$library_dir/pkgconfig LD_LIBRARY_PATH=$library_dir
python3 - "$source_dir/docs" "$work" <<'PYTHON'
import re
import sys
from pathlib import Path

# Behind a program in a compiled language stands the command that builds it, which names its file.
PROGRAM = re.compile(r"## ([^\n]+)\n```(?:cpp|c|fortran)\n(.*?)```\n```\n(.*?)\n```", re.DOTALL)

docs, work = Path(sys.argv[1]), Path(sys.argv[2])
numbers = work / "numbers"
numbers.mkdir()
for number in range(1, 9):
    (numbers / f"{number}.bin").write_bytes(b"\0\0\0\0\0\0\xf0\x3f" * number**2)  # so many times 1.0: the norm is `number`
lines = ["failed=0"]
for page, arguments, wanted, programs in (("quickstart.md", "", "sum 28000", 4), ("coming_from.md", f"{numbers}/*.bin", "36.000000", 4)):
    found = PROGRAM.findall((docs / page).read_text())
    if len(found) != programs:
        sys.exit(f"{page}: {len(found)} programs with a command, not {programs}: {[name for name, _, _ in found]}")
    for place, (name, program, command) in enumerate(found):
        folder = work / f"{page}-{place}"
        folder.mkdir()
        compiler, source = re.search(r"^(\S+).* (\S+\.(?:cpp|c|f90)) ", command).groups()
        (folder / source).write_text(program)
        binary = command.split(" -o ")[1].split()[0]
        lines += [
            f"cd {folder}",
            f"if ! command -v {compiler} >/dev/null; then echo '{page}, {name}: there is no {compiler}, skipped' >&2",
            f"elif ! {command} || [[ $(./{binary} {arguments}) != '{wanted}' ]]; then echo '{page}, {name}: failed' >&2; failed=1; fi",
        ]
(work / "run.sh").write_text("\n".join([*lines, "exit $failed", ""]))
PYTHON
bash "$work/run.sh"
