"""A copy of the tree in which one line at a time is changed, and the tests of a room look for the change."""

from __future__ import annotations

import difflib
import hashlib
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from arrows import read_rooms
from ctest_listing import Test, tests_of
from first_failure import FirstFailure, Outcome

SOURCE = Path(__file__).resolve().parent.parent
COPIED = ("CMakeLists.txt", "cmake", "include", "src", "tests", "bench", "bindings", "scripts")
# The forms of the tests, by what they find in their environment.
FORMS: dict[str, dict[str, str]] = {"short": {"DOVETAIL_TEST_SCALE": "small"}, "long": {}}
# A change may make a test wait for ever. So a test gets this many times the seconds that it takes without a change, and twice that when it
# runs alone. A busy machine does no harm: a failure does not count if it comes without the change, too.
TIMES_USUAL, LEAST_SECONDS, MOST_SECONDS = 4, 10, 150
# Tests wait more than they compute.
BESIDE = 2 * (os.cpu_count() or 1)
# A race that a change opens does not show each time.
REPETITIONS = 3


@dataclass(frozen=True)
class Change:
    """What one line becomes."""

    room: str
    file: str  # from the top of the tree
    number: int  # of the line, from 0
    was: str
    line: str

    def __str__(self) -> str:
        shown = "\n".join(text for text in difflib.ndiff([self.was], [self.line]) if text[0] in "+-")
        return f"{self.file}:{self.number + 1}\n{shown}"


def with_lower_rooms(rooms: list[str]) -> str:
    """The rooms and all below them, as the top CMakeLists.txt declares them."""
    declared = list(read_rooms())
    for room in rooms:
        if room not in declared:
            sys.exit(f"mutants: no room {room}; there are: {', '.join(declared)}")
    return ";".join(declared[: max(map(declared.index, rooms)) + 1])


class MutatedCopy:
    """Lies in `folder`. Its tests are those of `rooms`."""

    def __init__(self, folder: Path, rooms: list[str]) -> None:
        self.tree = folder / "tree"
        self.usual: dict[str, dict[str, float]] = {}  # for each form, the seconds of each test without a change
        self._build = folder / "build"
        self._rooms = rooms
        self._options = [f"-DDOVETAIL_ONLY_ROOMS={with_lower_rooms(rooms)}", "-DDOVETAIL_TEST_SECONDS=0"]
        self._options += ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1"]
        # One source is compiled for a change of one line, and tests are not linked again for each change of the library.
        self._options += ["-DCMAKE_UNITY_BUILD=OFF", "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON"]
        self._tests: dict[str, list[Test]] = {}
        self._programs: list[str] = []
        self._library_as_it_is = self._programs_as_they_are = ""
        self._noticed: list[tuple[str, str]] = []  # tests, and the files in which they noticed a change

    def copy(self) -> None:
        """Makes the copy equal to the tree. Equal files are left alone, so that only the others are built again."""
        wanted = [path for top in COPIED for path in [SOURCE / top, *(SOURCE / top).rglob("*")] if path.is_file()]
        kept = {self.tree / path.relative_to(SOURCE) for path in wanted}
        for path in [path for path in self.tree.rglob("*") if path.is_file() and path not in kept]:
            path.unlink()
        for path in wanted:
            copy = self.tree / path.relative_to(SOURCE)
            if not copy.exists() or copy.read_bytes() != path.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())

    def digest(self) -> str:
        """Equal for equal sources and tests."""
        paths = sorted(path for top in ("include", "src", "tests") for path in (self.tree / top).rglob("*.?pp"))
        return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()

    def build_as_it_is(self) -> None:
        """Ends the program if that is not possible."""
        ready = self._run("cmake", "-S", self.tree, "-B", self._build, "-G", "Ninja", *self._options)
        if ready:
            known = [test for room in self._rooms for test in tests_of(self._build, "-L", f"^{room}$")]
            self._programs = [test.name for test in known if self._ninja("-t", "query", test.name)]
            # Tests that need a device which is faulty on purpose are skipped without it.
            has_devices = self._ninja("-t", "query", "devices")
            ready = self._compiles() and self._compiles_tests() and (not has_devices or self._ninja("devices"))
        if not ready:
            sys.exit(f"mutants: the rooms do not build as they are:\n{self._said}")
        self._tests = {room: tests_of(self._build, "-L", f"^{room}$") for room in self._rooms}
        self._library_as_it_is, self._programs_as_they_are = self._library(), self._test_programs()

    def measure(self, form: str) -> None:
        """How long each test takes without a change. Ends the program if a test fails twice."""
        left = [test for room in self._rooms for test in self._tests[room]]
        self.usual[form] = dict.fromkeys((test.name for test in left), float(MOST_SECONDS))
        while left:
            failure, passed = self._first_failure(form, left)
            if failure and self._first_failure(form, [failure.test], alone=True)[0]:
                sys.exit(f"mutants: {failure.test.name} fails without a change:\n{failure.said}")
            self.usual[form] |= passed
            left = [
                test for test in left if test.name not in passed and not (failure and test.name == failure.test.name)
            ]

    def notices(self, change: Change, form: str) -> str | None:
        """The test that notices the change, and how it fails; "" if none does; None if it does not compile or changes no instruction."""
        try:
            self._write(change, change.line)
            if not self._compiles():
                return None
            same = self._library() == self._library_as_it_is
            if not same and (test := self._noticed_by(change, form)):
                return test
            if not change.file.endswith(".hpp"):
                return None if same else ""
            # What is in a header is in the tests, too.
            if not self._compiles_tests():
                return "a test that does not compile"
            if self._test_programs() == self._programs_as_they_are:
                return None if same else ""
            return self._noticed_by(change, form, with_tests=True)
        finally:
            self.undo(change)

    def undo(self, change: Change) -> None:
        """The copy as it was before the change."""
        self._write(change, change.was)

    def _write(self, change: Change, line: str) -> None:
        path = self.tree / change.file
        lines = path.read_text().splitlines(keepends=True)
        lines[change.number] = line + "\n"
        path.write_text("".join(lines))

    def _run(self, *command: str | Path) -> bool:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=self.tree)
        self._said = done.stdout.decode(errors="replace")[-3000:]
        return done.returncode == 0

    def _ninja(self, *arguments: str) -> bool:
        return self._run("ninja", "-C", self._build, *arguments)

    def _compiles(self) -> bool:
        return self._ninja("dovetail_rooms")

    def _compiles_tests(self) -> bool:
        return self._ninja(*self._programs)

    def _library(self) -> str:
        return self._instructions([self._build / "lib" / "rooms" / "libdovetail.so"])

    def _test_programs(self) -> str:
        tests = [test for room in self._rooms for test in self._tests[room]]
        return self._instructions([Path(test.command[0]) for test in tests if test.name in self._programs])

    def _instructions(self, files: list[Path]) -> str:
        """Equal for the same instructions: a change of nothing else is none (`return false` to `return {}`)."""
        digest = hashlib.sha256()
        for file in files:
            with tempfile.NamedTemporaryFile() as text:
                subprocess.run(["objcopy", "-O", "binary", "--only-section=.text", file, text.name], check=True)
                digest.update(Path(text.name).read_bytes())
        return digest.hexdigest()

    def _first_failure(
        self, form: str, tests: list[Test], alone: bool = False
    ) -> tuple[Outcome | None, dict[str, float]]:
        """And the seconds of the tests that passed."""
        limits = {
            test.name: max(LEAST_SECONDS, min(TIMES_USUAL * self.usual[form][test.name], MOST_SECONDS)) * (1 + alone)
            for test in tests
        }
        run = FirstFailure(FORMS[form])
        return run.run(tests, limits, 1 if alone else BESIDE), run.passed

    def _noticed_by(self, change: Change, form: str, with_tests: bool = False) -> str:
        """The first failure that comes by the change. "" if there is none."""
        left = sorted(self._tests[change.room], key=lambda test: self._promise(test, change, form))
        while left:
            failure, passed = self._first_failure(form, left)
            if failure is None:
                return ""
            if self._comes_by(change, form, failure, with_tests):
                self._noticed.append((failure.test.name, change.file))
                return f"{failure.test.name} ({failure.how})"
            left = [test for test in left if test.name not in passed and test.name != failure.test.name]
        return ""

    def _promise(self, test: Test, change: Change, form: str) -> float:
        """The smaller, the sooner the test is expected to notice the change."""
        here = self._noticed.count((test.name, change.file))
        ever = sum(name == test.name for name, _ in self._noticed)
        return self.usual[form][test.name] / (1 + 10 * here + ever)

    def _comes_by(self, change: Change, form: str, failure: Outcome, with_tests: bool) -> bool:
        """Whether a failure comes again when the test runs alone, and does not come without the change. Where the test ran out of time, it has to
        do so once more afterwards: the machine may have been busy until then."""
        if not self._fails_again(form, failure):
            return False
        self._write(change, change.was)
        self._build_again(with_tests)
        comes_without = self._first_failure(form, [failure.test], alone=True)[0] is not None
        if failure.how != "Timeout" and not comes_without:
            return True
        self._write(change, change.line)
        self._build_again(with_tests)
        return not comes_without and self._fails_again(form, failure)

    def _fails_again(self, form: str, failure: Outcome) -> bool:
        times = 1 if failure.how == "Timeout" else REPETITIONS
        return any(self._first_failure(form, [failure.test], alone=True)[0] for _ in range(times))

    def _build_again(self, with_tests: bool) -> None:
        if not (self._compiles() and (not with_tests or self._compiles_tests())):
            sys.exit(f"mutants: what has been built does not build any more:\n{self._said}")
