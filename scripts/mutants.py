"""Changes one line of a room at random, builds, runs the room's tests, and counts how many changes they notice.

The changes are made in a copy of the tree, `build/mutants`. A change that does not compile, or changes no instruction, is not counted. A
change that no test notices is listed: a test is missing, or the line makes no difference that a test may assert (time and memory orders make none).
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
COPIED = ("CMakeLists.txt", "cmake", "include", "src", "tests", "bench", "bindings", "scripts")
# A change may make a test wait for ever. Most are noticed by a short run of the tests; what is not goes through the long one.
SHORT_SECONDS, LONG_SECONDS = 30, 150

# What a line may become: each place where the pattern occurs is one change.
CHANGES: tuple[tuple[str, str], ...] = (
    (r" < ", " <= "),
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r" \+= ", " -= "),
    (r" -= ", " += "),
    (r"\+\+", "--"),
    (r"--", "++"),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\bif \((?!constexpr)(.*)\) \{$", r"if (!(\1)) {"),
    (r"\breturn (?!nullptr)(\w+(?:\(\))?);$", r"return {};"),
    (r"\bcontinue;$", "break;"),
    (r"(?<= )0(?=[;,)])", "1"),
    (r"(?<= )1(?=[;,)])", "0"),
    # A statement that is a call or an assignment, on a line of its own.
    (
        r"^(\s+)(?!return|delete|throw|co_|using|auto|const|static|case|default|break|friend|else)[\w:.\->()*]+(\(.*\)| = .*);$",
        r"\1;",
    ),
)


def changes(text: str) -> Iterator[tuple[int, str]]:
    """Every change of the text of a source: the number of a line, and what it becomes."""
    for number, line in enumerate(text.splitlines()):
        code = line.split("//")[0].rstrip()
        if not code.strip() or code.lstrip().startswith(("#", "*", '"')) or '"' in code or "operator" in code:
            continue
        for pattern, replacement in CHANGES:
            for found in re.finditer(pattern, code):
                yield number, code[: found.start()] + found.expand(replacement) + code[found.end() :]


class Room:
    """A copy of the tree, in which one room and what it stands on are built and tested."""

    def __init__(self, name: str, rooms: str) -> None:
        self.name = name
        self.tree = SOURCE / "build" / "mutants" / "tree"
        self.build = SOURCE / "build" / "mutants" / name
        self._options = [f"-DDOVETAIL_ONLY_ROOMS={rooms}", "-DDOVETAIL_TEST_SECONDS=0"]
        self._options += ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1"]

    def _run(self, *command: str | Path, **variables: str) -> bool:
        environment = {**os.environ, **variables}
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=self.tree, env=environment
        )
        self.said = done.stdout.decode(errors="replace")[-3000:]
        return done.returncode == 0

    def prepare(self) -> None:
        """The copy as it is now in the tree, built, and its tests pass."""
        wanted = [path for top in COPIED for path in [SOURCE / top, *(SOURCE / top).rglob("*")] if path.is_file()]
        kept = {self.tree / path.relative_to(SOURCE) for path in wanted}
        for path in [path for path in self.tree.rglob("*") if path.is_file() and path not in kept]:
            path.unlink()
        # What is the same is left alone, so that only what differs is built again.
        for path in wanted:
            copy = self.tree / path.relative_to(SOURCE)
            if not copy.exists() or copy.read_bytes() != path.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
        # Tests need not be linked again for each change of the library.
        linked = "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON"
        ready = self._run("cmake", "-S", self.tree, "-B", self.build, "-G", "Ninja", linked, *self._options)
        if not (ready and self.compiles("tests") and self.passes()):
            sys.exit(f"mutants: {self.name} does not build or pass as it is:\n{self.said}")
        self.as_it_is = self.instructions()

    def compiles(self, target: str) -> bool:
        return self._run("ninja", "-C", self.build, target)

    def instructions(self) -> str:
        """Equal for two libraries of the same instructions: a change of nothing else is none (`return false` to `return {}`)."""
        library = self.build / "lib" / "rooms" / "libdovetail.so"
        with tempfile.NamedTemporaryFile() as text:
            subprocess.run(["objcopy", "-O", "binary", "--only-section=.text", library, text.name], check=True)
            return hashlib.sha256(Path(text.name).read_bytes()).hexdigest()

    def passes(self) -> bool:
        command = ["ctest", "--test-dir", self.build, "--stop-on-failure", "--parallel", "2", "-L", f"^{self.name}$"]
        return self._run(*command, "--timeout", str(SHORT_SECONDS), DOVETAIL_TEST_SCALE="small") and self._run(
            *command, "--timeout", str(LONG_SECONDS)
        )

    def notices(self, file: Path, number: int, line: str) -> bool | None:
        """Whether a test fails with this change; nothing if it does not compile, or changes no instruction."""
        path = self.tree / file.relative_to(SOURCE)
        lines = path.read_text().splitlines(keepends=True)
        before = "".join(lines)
        lines[number] = line + "\n"
        path.write_text("".join(lines))
        try:
            if not self.compiles("dovetail_rooms") or (file.suffix == ".cpp" and self.instructions() == self.as_it_is):
                return None
            if not self.passes():
                return True
            # What is in a header is in the tests, too.
            return file.suffix == ".hpp" and (not self.compiles("tests") or not self.passes())
        finally:
            path.write_text(before)


def folder_of(room: str) -> Path:
    """Where a room lies, if not in the folder of its name."""
    declared = (SOURCE / "CMakeLists.txt").read_text()
    elsewhere = re.search(rf"^dovetail_room\({room}\b[^)]*SOURCES (\S+)\)", declared, re.MULTILINE)
    return SOURCE / (elsewhere[1] if elsewhere else f"src/{room}")


def lower_rooms(room: str) -> str:
    """The room and all below it, as the top CMakeLists.txt declares them."""
    declared = re.findall(r"^dovetail_room\((\w+)[^)]*\)", (SOURCE / "CMakeLists.txt").read_text(), re.MULTILINE)
    if room not in declared:
        sys.exit(f"mutants: no room {room}; there are: {', '.join(declared)}")
    return ";".join(declared[: declared.index(room) + 1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="+", help="rooms of src")
    parser.add_argument("--number", type=int, default=100, help="of changes, shared by the rooms by their size")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no change after that")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    print(f"mutants: seed {arguments.seed}", flush=True)
    rooms = {name: Room(name, lower_rooms(name)) for name in arguments.rooms}
    for room in rooms.values():
        room.prepare()
    possible = [
        (name, file, number, line)
        for name in rooms
        for file in sorted(folder_of(name).glob("*.[ch]pp"))
        for number, line in changes(file.read_text())
    ]
    chance.shuffle(possible)
    noticed, tried, end = 0, 0, time.monotonic() + arguments.seconds
    while possible and tried < arguments.number and time.monotonic() < end:
        name, file, number, line = possible.pop()
        seen = rooms[name].notices(file, number, line)
        if seen is None:
            continue
        tried += 1
        noticed += seen
        if not seen:
            was = file.read_text().splitlines()[number]
            shown = "\n".join(text for text in difflib.ndiff([was], [line]) if text[0] in "+-")
            print(f"mutants: not noticed: {file.relative_to(SOURCE)}:{number + 1}\n{shown}", flush=True)
        elif tried % 5 == 0:
            print(f"mutants: {tried} tried, {noticed} noticed", flush=True)
    print(f"mutants: {tried} tried, {noticed} noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
