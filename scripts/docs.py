"""Makes the site of documents in build/docs/html: all pages, and the reference of Python, C++, C and Fortran.

It fails when something public is undocumented, when a link or an anchor leads nowhere, and when a page is missing in the navigation, which stands in
docs/conf.py. Nothing has to be built before. Doxygen reads the headers, griffe the Python sources, Sphinx makes the pages.

Doxygen asks for words also where there is nothing to say or where they are said already. Not counted are copying and
moving, and the members of a named group (`@name ... @{ ... @}`), which the group's own text describes.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import header_reference
import python_reference

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "build" / "docs"
SOURCE = OUTPUT / "source"
SITE = OUTPUT / "html"
# Pages outside of docs/.
OTHER_PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "bench/README.md",
    "bench/devices/README.md",
]
UNDOCUMENTED = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+): warning: Member (?P<member>.*) of .* is not documented\.$")
COPY_OR_MOVE = re.compile(r"^(?P<type>\w+)\((const )?(?P=type) &+\w*\)|^operator=\(")
START = '<!doctype html><meta charset="utf-8"><title>Dovetail</title><meta http-equiv="refresh" content="0; url=README.html"><a href="README.html">Dovetail</a>\n'


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


def read_headers() -> list[str]:
    """Has Doxygen write what it finds into build/docs/xml. Returns what is wrong."""
    status = subprocess.run(["doxygen", "docs/Doxyfile"], cwd=ROOT, check=False).returncode
    if status:
        sys.exit(f"docs: doxygen ended with status {status}")
    # A warning goes on over the lines that are indented.
    text = (OUTPUT / "warnings.txt").read_text().replace(f"{ROOT}/", "")
    warnings = [line for line in re.split(r"\n(?! )", text) if line]
    return list(dict.fromkeys(filter(is_fault, warnings)))


def write(folder: Path, pages: dict[str, str]) -> None:
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def gather_pages() -> None:
    """Sphinx reads one folder: the pages as they are, beside what was generated."""
    pages = [*(ROOT / page for page in OTHER_PAGES), *(ROOT / "docs").rglob("*.md")]
    write(SOURCE, {str(page.relative_to(ROOT)): page.read_text() for page in pages if page.is_file()})


def make_site() -> list[str]:
    """Has Sphinx make the pages. Returns its warnings, each of which is a fault."""
    command = [sys.executable, "-m", "sphinx", "--quiet", "--no-color", "--jobs", "auto", "--conf-dir", "docs"]
    result = subprocess.run(
        [*command, "--doctree-dir", OUTPUT / "doctrees", SOURCE, SITE],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    (SITE / "index.html").write_text(START)
    said = (result.stdout + result.stderr).replace(f"{SOURCE}/", "").replace(f"{ROOT}/", "")
    return [line for line in said.splitlines() if line.strip()] or (["Sphinx failed"] if result.returncode else [])


def main() -> int:
    shutil.rmtree(OUTPUT, ignore_errors=True)
    SITE.mkdir(parents=True)
    faults = read_headers()
    python = python_reference.make(ROOT / "python")
    faults += python.faults
    gather_pages()
    write(SOURCE / "reference" / "python", python.pages)
    write(SOURCE / "reference", header_reference.make(OUTPUT / "xml", ROOT / "include"))
    faults += make_site()
    for fault in faults:
        print(fault)
    print(f"docs: {SITE.relative_to(ROOT)}/index.html, {len(faults)} warnings")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
