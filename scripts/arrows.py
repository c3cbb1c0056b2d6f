"""Which includes are allowed: between rooms, from the folders outside of them, and between the units of each folder."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from layers import CXX_SUFFIXES, Arrow, circles, cxx_arrows, files_of, included_file, includes, python_arrows

ROOT = Path(__file__).resolve().parent.parent
# Beside the rooms: the folders whose files make one program, one library, or one family of programs.
OUTSIDE_FOLDERS = ("bindings/*", "interpose/*", "tools/*", "bench", "examples/*")
PYTHON_FOLDERS = ("python/*", "scripts", "tools", "bench", "examples/*", "tests/*")
Rooms = dict[str, tuple[str, set[str]]]


def calls(list_file: Path, function: str) -> list[list[str]]:
    """The arguments of each call of a function in a CMakeLists.txt."""
    text = list_file.read_text() if list_file.is_file() else ""
    return [found.split() for found in re.findall(rf"^\s*{function}\(([^)]*)\)", text, re.MULTILINE)]


def read_rooms() -> Rooms:
    """Each room's folder and the rooms that it may include, from CMakeLists.txt."""
    rooms = {}
    for name, *rest in calls(ROOT / "CMakeLists.txt", "dovetail_room"):
        fields: dict[str, list[str]] = {"DEPENDS": [], "SOURCES": []}
        key = ""
        for word in rest:
            if word in fields:
                key = word
            elif key:
                fields[key].append(word)
        rooms[name] = ((fields["SOURCES"] or [f"src/{name}"])[0], set(fields["DEPENDS"]))
    if not rooms:
        sys.exit("CMakeLists.txt declares no room: has the form of dovetail_room(...) changed?")
    return rooms


def folders(patterns: tuple[str, ...]) -> list[Path]:
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern) if path.is_dir()})


def room_of(header: Path, rooms: Rooms) -> str | None:
    """The room that a file, named relative to `src`, lies in."""
    return next((name for name, (folder, _) in rooms.items() if Path("src", header).is_relative_to(folder)), None)


def owner_of(file: Path, rooms: Rooms) -> str | None:
    """The room that a file belongs to as its source or its test."""
    if (ROOT / "tests") in file.parents:
        return file.relative_to(ROOT / "tests").parts[0]
    return room_of(file.relative_to(ROOT / "src"), rooms) if (ROOT / "src") in file.parents else None


def folders_of_rooms(rooms: Rooms) -> Iterator[tuple[str, str, Path]]:
    """Room, what its files are, and where they lie."""
    for name, (sources, _) in rooms.items():
        yield name, "room", ROOT / sources
        yield name, "a test of room", ROOT / "tests" / name


def check_arrows_of_rooms(rooms: Rooms) -> list[str]:
    """A room uses the rooms below it. Its tests use what it may use, and what the tests of those rooms share."""
    problems = []
    for name, what, folder in folders_of_rooms(rooms):
        lower = rooms[name][1]
        for path in files_of(folder, CXX_SUFFIXES):
            for line, header in includes(path):
                file = included_file(path, folder, header, ROOT / "src", ROOT / "tests")
                target = owner_of(file, rooms) if file is not None else None
                if target is not None and target != name and target not in lower:
                    allowed = ", ".join(sorted(lower)) or "no other room"
                    problems.append(
                        f"{path.relative_to(ROOT)}:{line}: {what} '{name}' includes \"{header}\" of room '{target}'; "
                        f"it may include {allowed}"
                    )
    return problems


def rooms_for(path: Path, rooms: Rooms) -> set[str]:
    """The rooms that a file outside of them may include: what the nearest CMakeLists.txt above it says."""
    listed = next(folder / "CMakeLists.txt" for folder in path.parents if (folder / "CMakeLists.txt").is_file())
    if any(calls(listed, function) for function in ("dovetail_use_rooms", "dovetail_contain_rooms")):
        return set(rooms)
    return {room for _, *named in calls(listed, "dovetail_includes_rooms") for room in named}


def check_arrows_from_outside(rooms: Rooms) -> list[str]:
    problems = []
    room_folders = {ROOT / folder for folder, _ in rooms.values()}
    outside = [folder for folder in folders(OUTSIDE_FOLDERS) if folder not in room_folders]
    for folder in outside:
        for path in files_of(folder, CXX_SUFFIXES):
            for line, header in includes(path):
                said = f'{path.relative_to(ROOT)}:{line}: {folder.relative_to(ROOT)} includes "{header}"'
                target = included_file(path, folder, header, ROOT / "src", ROOT / "include") or folder
                if (ROOT / "src") in target.parents:
                    allowed = rooms_for(path, rooms)
                    if room_of(target.relative_to(ROOT / "src"), rooms) not in allowed:
                        problems.append(f"{said}; of the rooms it may include {', '.join(sorted(allowed)) or 'none'}")
                elif not {folder, ROOT / "include"} & {target, *target.parents}:
                    problems.append(f"{said}, which belongs to {target.parent.relative_to(ROOT)}")
    return problems


def check_layers(rooms: Rooms) -> list[str]:
    cxx = {ROOT / "include", *folders(OUTSIDE_FOLDERS), *(ROOT / folder for folder, _ in rooms.values())}
    arrows: dict[str, list[Arrow]] = {}
    for folder in cxx:
        arrows.setdefault(str(folder.relative_to(ROOT)), []).extend(cxx_arrows(folder))
    for folder in folders(PYTHON_FOLDERS):
        arrows.setdefault(str(folder.relative_to(ROOT)), []).extend(python_arrows(folder))
    problems = []
    for name in sorted(arrows):
        in_circles = [arrow for circle in circles(arrows[name]) for arrow in circle]
        if in_circles:
            count = len(in_circles)
            problems.append(f"{name}: {count} arrows in circles: what both sides need belongs into a unit below them")
        problems += [
            f"{arrow.file.relative_to(ROOT)}:{arrow.line}: {arrow.source} needs {arrow.target}, which leads back to it"
            for arrow in in_circles
        ]
    return problems


def check_arrows() -> list[str]:
    rooms = read_rooms()
    return check_arrows_of_rooms(rooms) + check_arrows_from_outside(rooms) + check_layers(rooms)
