"""dislib's tests, with PyCOMPSs' own modules and under Dovetail: test by test they must end alike."""

from __future__ import annotations

import shutil
import tempfile
import time
import xml.etree.ElementTree as xml
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from foreign_runner import SOURCES, Runner, indented

# A program in Python that runs pytest: the tests find PyCOMPSs in the process that runs them.
PYTEST = "import sys, pytest\nsys.exit(pytest.main(sys.argv[1:]))\n"


@dataclass
class Dislib:
    """dislib's tests, in a copy of its sources: they write beside themselves."""

    folder: Path
    runner: Runner

    def outcomes(self, tests: list[str], native: bool) -> dict[str, str] | str:
        """How each test ended, by pytest's name of it; or why that is not known."""
        record, script = self.folder / "outcomes.xml", self.folder / "run_pytest.py"
        record.unlink(missing_ok=True)
        script.write_text(PYTEST)
        runner = Runner(self.runner.python, self.runner.seconds, native)
        options = ["-q", "-p", "no:cacheprovider", "-p", "no:faulthandler", f"--junitxml={record}", *tests]
        ended = runner.run(script, options, self.folder, [self.folder])
        if not record.exists():
            return f"ended with {ended.status}\n{indented(ended.output[-3000:])}"
        found = {}
        for case in xml.parse(record).iter("testcase"):
            module, _, group = case.get("classname", "").rpartition(".")
            ends = [child.tag for child in case if child.tag in ("failure", "error", "skipped")] or ["passed"]
            found[f"{module.replace('.', '/')}.py::{group}::{case.get('name')}"] = ends[0]
        return found

    def compare(self, module: str) -> tuple[list[str], bool]:
        begin = time.monotonic()
        native = self.outcomes([f"tests/{module}.py"], native=True)
        between = time.monotonic()
        if isinstance(native, str) or "passed" not in native.values():
            reason = native.partition("\n")[0] if isinstance(native, str) else "no test of it passes"
            print(f"  {module}: left out, natively {reason}", flush=True)
            return [], False
        dovetail = self.outcomes([f"tests/{module}.py"], native=False)
        end = time.monotonic()
        again = [] if isinstance(dovetail, str) else [test for test in native if dovetail.get(test) != native[test]]
        if isinstance(dovetail, str):
            print(
                f"  {module}: natively {_counts(native)}; under dovetail it {dovetail.partition(chr(10))[0]}",
                flush=True,
            )
            return [f"{module} under dovetail: {dovetail}"], True
        print(
            f"  {module}: natively {_counts(native)} ({between - begin:.0f} s); "
            f"under dovetail {_counts(dovetail)} ({end - between:.0f} s)",
            flush=True,
        )
        return [fault for test in again if (fault := self._differs_alone(test))], True

    def _differs_alone(self, test: str) -> str:
        ways = [self.outcomes([test], native) for native in (True, False)]
        ends = [way if isinstance(way, str) else way.get(test, "not run") for way in ways]
        if ends[0] == ends[1]:
            print(f"    {test}: alone, {ends[0]} in both ways", flush=True)
            return ""
        return f"{test}: natively {ends[0]}, under dovetail {ends[1]}"


def _counts(outcomes: dict[str, str]) -> str:
    return ", ".join(f"{number} {end}" for end, number in sorted(Counter(outcomes.values()).items()))


def run_dislib(runner: Runner, wanted: list[str], left_out: dict[str, str]) -> tuple[list[str], int]:
    """What ends differently, and how many modules were compared."""
    faults: list[str] = []
    compared = 0
    with tempfile.TemporaryDirectory(prefix="dovetail-dislib-") as name:
        folder = Path(name) / "dislib"
        shutil.copytree(SOURCES / "dislib", folder, ignore=shutil.ignore_patterns(".git"))
        for file in sorted((folder / "tests").glob("test_*.py")):
            if wanted and file.stem not in wanted:
                continue
            if file.stem in left_out:
                print(f"  {file.stem}: left out, {left_out[file.stem]}")
                continue
            found, ran = Dislib(folder, runner).compare(file.stem)
            faults += found
            compared += ran
    return faults, compared
