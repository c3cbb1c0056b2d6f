#!/usr/bin/env python3
"""Test suites of projects that use HDF5: each test ends under the connector as it ends natively.

    foreign_suites.py [--only tables|pandas|xarray] [--module test_carray ...] [--python PYTHON]

PyTables' own suite, pandas' tests of its HDFStore and xarray's of its HDF5 back ends, out of the installed packages. Both runs are made
here, one after the other. Exit status: 0 if no test ends differently, 1 if one does, 77 if the packages are not installed, 2 for bad usage.
PYTHON: an interpreter that has them, by default that of .cache-foreign/venv (scripts/setup_foreign.sh) if there is one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

import support
from support import foreign

SKIPPED = 77
TIMEOUT = 7200
Outcomes = Counter[tuple[str, str]]  # of (test, how it ended); a suite may hold a test several times

# Runs suites of unittest and writes how each test ended. PyTables makes its suites in functions, which pytest does not call.
UNITTEST_RUNNER = r"""
import importlib, sys, unittest
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
suites = [importlib.import_module(name).suite() for name in sys.argv[2:]]
unittest.TextTestRunner(resultclass=Recorder, verbosity=0).run(unittest.TestSuite(suites))
"""


class SuiteEnded(Exception):
    """A suite ended before its last test."""


def unittest_outcomes(python: str, modules: list[str], environment: dict[str, str], folder: Path) -> Outcomes:
    record = folder / "outcomes"
    ended = support.run([python, "-c", UNITTEST_RUNNER, record, *modules], environment, folder, timeout=TIMEOUT)
    if ended.status != 0:
        last = record.read_text().splitlines()[-1:] if record.exists() else []
        raise SuiteEnded(f"status {ended.status} after {last}\n{ended.errors[-3000:]}")
    outcomes: Outcomes = Counter()
    for line in record.read_text().splitlines():
        outcome, _, test = line.partition("\t")
        outcomes[test, outcome] += 1
    (folder / "said").write_text(ended.output + ended.errors)
    return outcomes


def pytest_outcomes(python: str, targets: list[str], environment: dict[str, str], folder: Path) -> Outcomes:
    record = folder / "outcomes.xml"
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={record}", "--pyargs", *targets]
    ended = support.run(command, environment, folder, timeout=TIMEOUT)
    (folder / "said").write_text(ended.output + ended.errors)
    if ended.status not in (0, 1):
        raise SuiteEnded(f"status {ended.status}\n{ended.output[-2000:]}{ended.errors[-2000:]}")
    outcomes: Outcomes = Counter()
    for case in xml.parse(record).iter("testcase"):
        ends = [child.tag for child in case if child.tag in ("failure", "error", "skipped")] or ["passed"]
        for end in ends:
            outcomes[f"{case.get('classname')}.{case.get('name')}", end] += 1
    return outcomes


def pytables_modules(python: str, wanted: list[str]) -> list[str]:
    listed = "import tables.tests.test_suite as s, inspect, re; print(*re.findall(r'tables[.\\w]*tests[.]test_\\w+', inspect.getsource(s)))"
    found = support.run([python, "-c", listed], support.clean()).expect(0).output.split()
    known = dict.fromkeys(name for name in found if name.rpartition(".")[2] not in ("test_suite", "test_all"))
    return [name for name in known if not wanted or name.rpartition(".")[2] in wanted]


def pytest_targets(folder: str, wanted: list[str]) -> list[str]:
    return [f"{folder}.{name}" for name in wanted] or [folder]


def has(python: str, package: str) -> bool:
    return support.run([python, "-c", f"import {package}"], support.clean()).status == 0


def compare(name: str, outcomes_of, python: str, parts: list[str]) -> list[str]:
    """What ends differently under the connector; both runs are tables of outcomes."""
    found = {}
    for kind, environment in (("native", support.clean()), ("dovetail", support.preloaded(DOVETAIL_HDF5_REPORT="1"))):
        with tempfile.TemporaryDirectory(prefix="dovetail-foreign-") as folder:
            try:
                found[kind] = outcomes_of(python, parts, environment, Path(folder))
            except SuiteEnded as reason:
                return [f"{name}, {kind}: {reason}"]
            if kind == "dovetail" and "dovetail hdf5:" not in (Path(folder) / "said").read_text():
                return [f"{name}: the connector was not used"]
        counts: Counter[str] = Counter()
        for (_, outcome), number in found[kind].items():
            counts[outcome] += number
        print(
            f"  {name}, {kind}: " + ", ".join(f"{number} {outcome}" for outcome, number in counts.items()), flush=True
        )
    native, dovetail = found["native"], found["dovetail"]
    if not native:
        return [f"{name}: no test was run"]
    return [f"{name}: {test}: natively not {outcome}" for test, outcome in sorted(dovetail - native)] + [
        f"{name}: {test}: under dovetail not {outcome}" for test, outcome in sorted(native - dovetail)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("tables", "pandas", "xarray"))
    parser.add_argument("--module", nargs="+", default=[], help="of the suite that --only names")
    parser.add_argument("--python", help="an interpreter that has the packages")
    arguments = parser.parse_args()
    if arguments.module and arguments.only is None:
        parser.error("--module needs --only")
    python = arguments.python or (str(foreign.PYTHON) if foreign.PYTHON.exists() else sys.executable)
    if not support.PLUGINS.is_dir():
        parser.error(f"{support.PLUGINS} is missing: run `make setup-hdf5 build`, or set DOVETAIL_BUILD_DIR")
    suites = {
        "tables": (["tables"], unittest_outcomes, lambda: pytables_modules(python, arguments.module)),
        "pandas": (
            ["pandas", "tables", "pytest"],
            pytest_outcomes,
            lambda: pytest_targets("pandas.tests.io.pytables", arguments.module),
        ),
        "xarray": (
            ["xarray", "h5netcdf", "pytest"],
            pytest_outcomes,
            lambda: pytest_targets("xarray.tests", arguments.module or ["test_backends"]),
        ),
    }
    faults, compared = [], 0
    for name, (packages, outcomes_of, parts) in suites.items():
        if arguments.only not in (None, name):
            continue
        missing = [package for package in packages if not has(python, package)]
        if missing:
            print(f"  {name}: left out, {python} has no {', '.join(missing)}")
            continue
        found = parts()
        if not found:
            parser.error(f"{name} has no module {' '.join(arguments.module)}")
        compared += 1
        faults += compare(name, outcomes_of, python, found)
    print("\n".join(faults))
    return 1 if faults else (0 if compared else SKIPPED)


if __name__ == "__main__":
    sys.exit(main())
