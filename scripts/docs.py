"""Generates the reference of the public interface into build/docs/html; fails when something public is undocumented.

Doxygen asks for words also where there is nothing to say or where they are said already. Not counted are copying and
moving, and the members of a named group (`@name ... @{ ... @}`), which the group's own text describes.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "build" / "docs"
UNDOCUMENTED = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+): warning: Member (?P<member>.*) of .* is not documented\.$")
COPY_OR_MOVE = re.compile(r"^(?P<type>\w+)\((const )?(?P=type) &+\w*\)|^operator=\(")


def grouped_lines(path: Path) -> set[int]:
    """Line numbers between the `@{` and `@}` of groups that have a name."""
    lines, named, inside = set(), False, False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if "///" in line:
            named = named or "@name" in line
            inside = (inside or (named and "@{" in line)) and "@}" not in line
            named = named and "@}" not in line
        if inside:
            lines.add(number)
    return lines


def is_fault(warning: str) -> bool:
    found = UNDOCUMENTED.match(warning)
    if found is None:
        return True
    return not COPY_OR_MOVE.match(found["member"]) and int(found["line"]) not in grouped_lines(ROOT / found["file"])


def main() -> int:
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    status = subprocess.run(["doxygen", "docs/Doxyfile"], cwd=ROOT, check=False).returncode
    if status:
        print(f"doxygen ended with status {status}", file=sys.stderr)
        return status
    # A warning goes on over the lines that are indented.
    text = (OUTPUT / "warnings.txt").read_text().replace(f"{ROOT}/", "")
    warnings = [line for line in re.split(r"\n(?! )", text) if line]
    faults = list(dict.fromkeys(filter(is_fault, warnings)))
    for fault in faults:
        print(fault)
    print(f"docs: {OUTPUT.relative_to(ROOT)}/html/index.html, {len(faults)} warnings")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
