"""How each test of another project's suite ended, natively and under the connector: they must end alike."""

from __future__ import annotations

import json
import tempfile
import xml.etree.ElementTree as xml
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import support

TIMEOUT = 7200
# PyTables makes chunks for Blosc2 as large as the cache of the last level. It compresses a whole one for each row that a test appends. On a server
# with 300 MB of cache, one test takes minutes, natively too. It reads the sizes from a file in the home folder.
CACHES = {"l2_cache_size": 1 << 20, "l3_cache_size": 4 << 20}
Outcomes = Counter[tuple[str, str]]  # of (test, how it ended); a suite may hold a test several times

# Runs suites of unittest and writes how each test ended. PyTables makes its suites in functions, which pytest does not call.
UNITTEST_RUNNER = r"""
import importlib, re, sys, unittest
outcomes = open(sys.argv[1], "w")
class Recorder(unittest.TextTestResult):
    def startTest(self, test):
        self.test = test.id()  # PyTables' tests clear what they know of themselves at their end
        super().startTest(test)
    def note(self, test, outcome):
        print(outcome, getattr(self, "test", None) or test.id(), sep="\t", file=outcomes, flush=True)
    def addSuccess(self, test): super().addSuccess(test); self.note(test, "passed")
    def addFailure(self, test, error): super().addFailure(test, error); self.note(test, "failed")
    def addError(self, test, error): super().addError(test, error); self.note(test, "error")
    def addSkip(self, test, reason): super().addSkip(test, reason); self.note(test, "skipped")
    def addExpectedFailure(self, test, error): super().addExpectedFailure(test, error); self.note(test, "expected failure")
    def addUnexpectedSuccess(self, test): super().addUnexpectedSuccess(test); self.note(test, "unexpected success")
    def addSubTest(self, test, part, error):
        super().addSubTest(test, part, error)
        if error is not None:
            self.note(part, "failed")
def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        elif re.search(sys.argv[2], test.id()):
            yield test
suites = [unittest.TestSuite(tests_of(importlib.import_module(name).suite())) for name in sys.argv[3:]]
unittest.TextTestRunner(resultclass=Recorder, verbosity=0).run(unittest.TestSuite(suites))
"""


class SuiteEnded(Exception):
    """A suite ended before its last test."""


def unittest_outcomes(
    python: str, modules: list[str], environment: dict[str, str], folder: Path, matching: str = ""
) -> Outcomes:
    """Of the tests in whose full name the regular expression `matching` is found."""
    record = folder / "outcomes"
    (folder / ".pytables-cpuinfo.json").write_text(json.dumps(CACHES))
    environment = environment | {"HOME": str(folder)}
    ended = support.run(
        [python, "-c", UNITTEST_RUNNER, record, matching, *modules], environment, folder, timeout=TIMEOUT
    )
    if ended.status != 0:
        last = record.read_text().splitlines()[-1:] if record.exists() else []
        raise SuiteEnded(f"status {ended.status} after {last}\n{ended.errors[-3000:]}")
    outcomes: Outcomes = Counter()
    for line in record.read_text().splitlines():
        outcome, _, test = line.partition("\t")
        outcomes[test, outcome] += 1
    (folder / "said").write_text(ended.output + ended.errors)
    return outcomes


def pytest_outcomes(
    python: str, targets: list[str], environment: dict[str, str], folder: Path, place: Path | None = None
) -> Outcomes:
    """`place`: where the suite must run, if it is not an installed package."""
    record = folder / "outcomes.xml"
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={record}", "--pyargs", *targets]
    ended = support.run(command, environment, place or folder, timeout=TIMEOUT)
    (folder / "said").write_text(ended.output + ended.errors)
    if ended.status not in (0, 1):
        raise SuiteEnded(f"status {ended.status}\n{ended.output[-2000:]}{ended.errors[-2000:]}")
    outcomes: Outcomes = Counter()
    for case in xml.parse(record).iter("testcase"):
        ends = [child.tag for child in case if child.tag in ("failure", "error", "skipped")] or ["passed"]
        for end in ends:
            outcomes[f"{case.get('classname')}.{case.get('name')}", end] += 1
    return outcomes


def compare(
    name: str, outcomes_in: Callable[[dict[str, str], Path], Outcomes], dovetail: dict[str, str] | None = None
) -> list[str]:
    """What ends differently under the connector. The environment `dovetail` must make HDF5 take it or fail; by default it is as `dovetail run`
    has it, and what the connector says at the end shows that the suite has met it."""
    reporting = dovetail is None
    environments = {
        "native": support.clean(),
        "dovetail": support.preloaded(DOVETAIL_HDF5_REPORT="1") if dovetail is None else dovetail,
    }
    found = {}
    for kind, environment in environments.items():
        with tempfile.TemporaryDirectory(prefix="dovetail-foreign-") as folder:
            try:
                found[kind] = outcomes_in(environment, Path(folder))
            except SuiteEnded as reason:
                return [f"{name}, {kind}: {reason}"]
            if kind == "dovetail" and reporting and "dovetail hdf5:" not in (Path(folder) / "said").read_text():
                return [f"{name}: the connector was not used"]
        counts: Counter[str] = Counter()
        for (_, outcome), number in found[kind].items():
            counts[outcome] += number
        print(
            f"  {name}, {kind}: " + ", ".join(f"{number} {outcome}" for outcome, number in counts.items()), flush=True
        )
    native, ours = found["native"], found["dovetail"]
    if not native:
        return [f"{name}: no test was run"]
    return [f"{name}: {test}: natively not {outcome}" for test, outcome in sorted(ours - native)] + [
        f"{name}: {test}: under dovetail not {outcome}" for test, outcome in sorted(native - ours)
    ]
