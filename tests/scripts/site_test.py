"""`make docs` names what is wrong with the documents: a broken link, an anchor or a name that is not there, a page outside of the navigation, what is
public and undocumented in Python and in a header. And it names nothing else.

A small tree has one fault of each kind, and the real package for Python, less one docstring."""

from __future__ import annotations

import html
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("DOVETAIL_SOURCE_DIR", Path(__file__).resolve().parents[2]))
NEEDED = ("sphinx", "myst_parser", "furo", "breathe", "griffe")

README = """# Project

See [the guide](docs/guide.md), [a part of it](docs/guide.md#a-part) and [the headers](include/dovetail).
"""
GUIDE = """# Guide

[Nowhere](nowhere.md). [No such part](#no-such-part). [The start](../README.md), where `dt.gather` and `dovetail::Urgency` are named, and `dt.gathre(x)`.

## A part
"""
NAVIGATION = """
NAVIGATION = {"All": ["docs/guide", "reference/python/index", "reference/cpp", "reference/c"]}
"""
# What is said of each fault, in which place.
FAULTS = [
    r"include/dovetail/urgency\.hpp:\d+: warning: Member nobody_knows\(\).* is not documented",
    r"python/dovetail/gathering\.py:\d+: dovetail\.gather is public and has no docstring",
    r"docs/lost\.md:? ?.*WARNING: document isn't included in any toctree",
    r"docs/guide\.md:3: WARNING: 'myst' cross-reference target not found: 'nowhere\.md'",
    r"docs/guide\.md:3: WARNING: 'myst' cross-reference target not found: 'no-such-part'",
    r"docs/guide\.md:3: WARNING: there is no public name 'dt\.gathre\(x\)'",
]


def lost_anchors(site: Path) -> set[tuple[str, str]]:
    """The links of the site to anchors that are in no page, each with the page that has it."""
    texts = {page: html.unescape(page.read_text()) for page in site.rglob("*.html")}
    anchors = {page: set(re.findall(r' id="([^"]+)"', text)) for page, text in texts.items()}
    return {
        (str(page.relative_to(site)), f"{path}#{anchor}")
        for page, text in texts.items()
        for path, anchor in re.findall(r'href="([^":#]*)#([^"]+)"', text)
        if anchor not in anchors[(page.parent / path).resolve() if path else page]
    }


class Docs(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="dovetail-docs-")
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)
        for name in ("docs.py", "python_reference.py", "header_reference.py"):
            self.copy(f"scripts/{name}")
        for name in ("docs/Doxyfile", "docs/site.css", "docs/conf.py", "include/dovetail/urgency.hpp"):
            self.copy(name)
        for name in ("dovetail_error.h", "dovetail_error.f90", "dovetail_files.h"):
            self.copy(f"include/dovetail/{name}")
        for module in (SOURCE / "python" / "dovetail").rglob("*.py*"):
            if "__pycache__" not in module.parts and not module.is_symlink() and module.suffix in (".py", ".pyi"):
                self.copy(str(module.relative_to(SOURCE)))
        self.change("docs/conf.py", r"(?<=\n)def add_navigation", NAVIGATION.strip() + "\n\n\ndef add_navigation")
        for name, text in {"README.md": README, "docs/guide.md": GUIDE, "docs/lost.md": "# Lost\n"}.items():
            (self.tree / name).write_text(text)
        # The docstrings of these sources name pages of the real tree.
        for page in set(re.findall(r"\bdocs/[\w/-]+\.md\b", self.sources())):
            if not (self.tree / page).exists():
                (self.tree / page).parent.mkdir(parents=True, exist_ok=True)
                (self.tree / page).write_text("---\norphan: true\n---\n# A page\n")

    def sources(self) -> str:
        files = [*(self.tree / "include").rglob("*.h*"), *(self.tree / "python").rglob("*.py*")]
        return "\n".join(file.read_text() for file in files)

    def copy(self, name: str) -> None:
        (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / name, self.tree / name)

    def change(self, name: str, pattern: str, replacement: str) -> None:
        path = self.tree / name
        text, count = re.subn(pattern, lambda _: replacement, path.read_text(), count=1, flags=re.DOTALL)
        self.assertEqual(count, 1, f"{name} has nothing like {pattern}")
        path.write_text(text)

    def test_faults_are_named(self) -> None:
        self.change("python/dovetail/gathering.py", r'(?<=list\[Any\]:\n)    """Waits for all of these.*?"""\n', "")
        self.change("include/dovetail/urgency.hpp", r"(?<=namespace dovetail \{\n)", "\nint nobody_knows();\n")
        made = subprocess.run(
            [sys.executable, self.tree / "scripts" / "docs.py"], check=False, capture_output=True, text=True
        )
        said = made.stdout.splitlines()
        self.assertEqual(made.stderr, "")
        self.assertEqual(made.returncode, 1, made.stdout)
        for fault in FAULTS:
            self.assertEqual(len([line for line in said if re.match(fault, line)]), 1, f"{fault} in\n{made.stdout}")
        self.assertEqual(
            said[len(FAULTS) :], [f"docs: build/docs/html/index.html, {len(FAULTS)} warnings"], made.stdout
        )
        # The site is there all the same; names, and pages that docstrings name, are links.
        site = self.tree / "build" / "docs" / "html"
        guide = (site / "docs" / "guide.html").read_text()
        self.assertIn('href="../reference/python/futures.html#dovetail.gather"', guide)
        self.assertRegex(guide, r'href="\.\./reference/cpp/urgency_hpp\.html#_CPP\w*Urgency')
        futures = (site / "reference" / "python" / "futures.html").read_text()
        self.assertIn('href="../../docs/python_futures.html"', futures)
        urgency = (site / "reference" / "cpp" / "urgency_hpp.html").read_text()
        self.assertNotIn('<span class="pre">namespace</span>', urgency)
        errors = (site / "reference" / "c" / "dovetail_error_h.html").read_text()
        self.assertRegex(errors, r'id="c\.dovetail_error_message"')
        self.assertIn("In Fortran", errors)
        self.assertIn('id="c.dovetail_file_options"', (site / "reference" / "c" / "dovetail_files_h.html").read_text())
        self.assertEqual(lost_anchors(site), {("docs/guide.html", "#no-such-part"), ("docs/guide.html", "#nowhere.md")})
        self.assertIn("guide.html", (site / "README.html").read_text().split("</aside>")[0])


if __name__ == "__main__":
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing or shutil.which("doxygen") is None:
        print(f"skipped: {', '.join(missing) or 'doxygen'} is not installed; `make docs` installs it")
        sys.exit(77)
    unittest.main()
