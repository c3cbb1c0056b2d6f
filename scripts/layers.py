"""Which units of a folder depend on which, and where their dependencies run in a circle.

A unit is what is read together: `x.hpp`, `x.h`, `x.cpp` and `x.c` are the unit `x`; a module of Python is a unit. An arrow goes from a unit to
one that it includes or imports. A folder lies in layers when no unit reaches itself along the arrows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

CXX_SUFFIXES = {".cpp", ".hpp", ".h", ".c"}
PYTHON_SUFFIXES = {".py", ".pyi"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


@dataclass(frozen=True)
class Arrow:
    source: str
    target: str
    file: Path
    line: int


def files_of(folder: Path, suffixes: set[str]) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in suffixes and path.is_file())


def unit_of(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder).with_suffix(""))


def includes(path: Path) -> list[tuple[int, str]]:
    """Line and name of each #include of a file."""
    text = path.read_text(errors="replace")
    return [(text.count("\n", 0, match.start(1)) + 1, match[2]) for match in INCLUDE.finditer(text)]


def imports(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Line, dots and module, and imported names of each import of a file, those inside of functions as well."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, []
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or ""), [alias.name for alias in node.names]


def included_file(path: Path, folder: Path, header: str, *further: Path) -> Path | None:
    """The file that an #include in a file of the folder means. It is searched from the file's own place up to the folder, then further."""
    places = [place for place in path.parents if folder in (place, *place.parents)]
    return next((file.resolve() for place in (*places, *further) if (file := place / header).is_file()), None)


def cxx_arrows(folder: Path) -> list[Arrow]:
    found = []
    for path in files_of(folder, CXX_SUFFIXES):
        for line, header in includes(path):
            # A room's own headers are named with the room, too.
            target = included_file(path, folder, header, folder.parent)
            if target is not None and folder in target.parents and unit_of(target, folder) != unit_of(path, folder):
                found.append(Arrow(unit_of(path, folder), unit_of(target, folder), path, line))
    return found


def module_file(parts: list[str], places: Iterable[Path]) -> Path | None:
    for place in places:
        base = place.joinpath(*parts)
        candidates = [base.with_name(base.name + suffix) for suffix in sorted(PYTHON_SUFFIXES)] if parts else []
        for candidate in (*candidates, base / "__init__.py"):
            if candidate.is_file():
                return candidate
    return None


def python_arrows(folder: Path) -> list[Arrow]:
    modules = files_of(folder, PYTHON_SUFFIXES)
    # Scripts extend sys.path, so that every folder that is no package may be on it.
    importable = dict.fromkeys(
        place for module in modules for place in module.parents if folder.parent in (place, *place.parents)
    )
    scripts = [place for place in importable if not (place / "__init__.py").exists()]
    found = []
    for path in modules:
        for line, module, names in imports(path):
            name = module.lstrip(".")
            dots = len(module) - len(name)
            places = (
                [path.parents[dots - 1]] if dots else [path.parent, *scripts] if path.parent in scripts else scripts
            )
            parts = name.split(".") if name else []
            targets = [module_file([*parts, imported], places) for imported in names]
            # `from package import name`: the name is a module of the package, or something that the package itself holds.
            targets = [target or module_file(parts, places) for target in targets] or [module_file(parts, places)]
            for target in dict.fromkeys(targets):
                if target is not None and folder in target.parents and target != path:
                    found.append(Arrow(unit_of(path, folder), unit_of(target, folder), path, line))
    return found


def circles(arrows: list[Arrow]) -> list[list[Arrow]]:
    """The arrows that can be left out to break a circle: a list for each set of units that all reach each other."""
    following: dict[str, set[str]] = {}
    for arrow in arrows:
        following.setdefault(arrow.source, set()).add(arrow.target)

    def reached(unit: str) -> frozenset[str]:
        seen: set[str] = set()
        ahead = [unit]
        while ahead:
            new = following.get(ahead.pop(), set()) - seen
            seen |= new
            ahead += new
        return frozenset(seen)

    reachable = {unit: reached(unit) for unit in following}
    found: dict[frozenset[str], list[Arrow]] = {}
    for arrow in arrows:
        if arrow.source in reachable.get(arrow.target, frozenset()):
            together = frozenset(
                unit for unit in reachable[arrow.source] if arrow.source in reachable.get(unit, frozenset())
            )
            found.setdefault(together, []).append(arrow)
    return list(found.values())
