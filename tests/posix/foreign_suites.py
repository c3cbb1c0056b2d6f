"""CPython's own tests, natively and as one task whose calls are interposed: test by test they must end alike.

A few tests hold only for a process with one thread, since a signal goes to any thread that does not block it. A test that ends differently
is run beside a thread that does nothing, too; what fails there as well says nothing about tasks, and is listed apart.

    foreign_suites.py [--modules test_os test_io ...] [--seconds 900] [--repeats 2]

The modules come with the Python installation that runs this script; some distributions leave them out. A test that ends
differently is repeated in both ways, so that one that fails by chance is told apart. Exit status: 0 alike, 1 not, 77 nothing to run.
`DOVETAIL_BUILD_DIR` names the build.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))  # behind all that the tests import

import hangs  # noqa: E402 (behind the path to it)

# What they share with the calls that are interposed: files, descriptors, positions, signals, children, threads.
SMALL = ("test_fileio", "test_file", "test_posix", "test_select", "test_pty", "test_tempfile", "test_mmap", "test_os")
LONG = (
    *SMALL,
    "test_io",
    "test_largefile",
    "test_univnewlines",
    "test_fileinput",
    "test_memoryio",
    "test_bufio",
    "test_pipes",
    "test_poll",
    "test_epoll",
    "test_selectors",
    "test_signal",
    "test_threadsignals",
    "test_threading",
    "test_thread",
    "test_socket",
    "test_socketserver",
    "test_subprocess",
    "test_popen",
    "test_fork1",
    "test_wait3",
    "test_wait4",
    "test_shutil",
    "test_pathlib",
    "test_zipfile",
    "test_tarfile",
    "test_gzip",
    "test_bz2",
    "test_lzma",
    "test_dbm_dumb",
    "test_shelve",
    "test_mailbox",
    "test_logging",
    "test_asyncio.test_subprocess",
    "test_asyncio.test_unix_events",
    "test_concurrent_futures",
)


class Recorder(unittest.TestResult):
    """Writes a line for each test as it begins and as it ends, so that a crash or a hang has a name."""

    def __init__(self, file, seconds: float) -> None:
        super().__init__()
        self._file = file
        self._seconds = seconds

    def _write(self, test, outcome: str, reason: str = "") -> None:
        self._file.write(json.dumps({"test": test.id(), "outcome": outcome, "reason": reason}) + "\n")
        self._file.flush()

    def startTest(self, test):  # noqa: N802 (unittest's names)
        super().startTest(test)
        self._write(test, "began")
        faulthandler.dump_traceback_later(self._seconds, exit=True)

    def stopTest(self, test):  # noqa: N802
        faulthandler.cancel_dump_traceback_later()
        super().stopTest(test)

    def addSuccess(self, test):  # noqa: N802
        self._write(test, "passed")

    def addFailure(self, test, err):  # noqa: N802
        self._write(test, "failed", self._exc_info_to_string(err, test))

    def addError(self, test, err):  # noqa: N802
        self._write(test, "failed", self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):  # noqa: N802
        self._write(test, "skipped", reason)

    def addExpectedFailure(self, test, err):  # noqa: N802
        self._write(test, "passed")

    def addUnexpectedSuccess(self, test):  # noqa: N802
        self._write(test, "failed", "unexpected success")

    def addSubTest(self, test, subtest, err):  # noqa: N802
        if err is not None:
            self._write(test, "failed", self._exc_info_to_string(err, subtest))


def run_module(name: str, results: Path, seconds: float) -> int:
    """In a process of its own: runs the tests of one module."""
    from test import support

    support.use_resources = ["largefile", "network", "subprocess", "cpu", "walltime"]
    with results.open("w") as file:
        # Out of the way of tests that close or count descriptors.
        recorder = Recorder(os.fdopen(os.dup2(file.fileno(), 200, inheritable=False), "w"), seconds)
        unittest.defaultTestLoader.loadTestsFromName(f"test.{name}").run(recorder)
    return 0


class Suite:
    WAY = "as a task"

    def __init__(self, build: Path, seconds: float) -> None:
        self._build = build
        self._seconds = seconds

    def settings(self, folder: Path, interposed: bool, beside_a_thread: bool) -> dict[str, str]:
        """The environment that makes the difference. `folder`: in which the tests make their files."""
        libraries = ["libdovetail-posix.so"] * interposed
        if interposed or beside_a_thread:
            libraries.append("libposix_main_in_task.so")
        settings = {"DOVETAIL_TEST_MAIN": "beside_a_thread"} if beside_a_thread else {}
        if libraries:
            settings["LD_PRELOAD"] = ":".join(str(self._build / "lib" / library) for library in libraries)
        return settings

    def outcomes(self, name: str, interposed: bool, beside_a_thread: bool = False) -> dict[str, tuple[str, str]]:
        """What became of each test, and why."""
        folder = Path(tempfile.mkdtemp(prefix="foreign-suite-", dir=self._build))
        # Python's own names: a program under test looks at its environment.
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "DOVETAIL"))}
        environment |= {"TMPDIR": str(folder), "LC_ALL": "C.UTF-8"}
        environment.pop("VIRTUAL_ENV", None)
        environment |= self.settings(folder, interposed, beside_a_thread)
        python = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
        results = folder / "results"
        command = [python, __file__, "--run", name, "--results", results, "--seconds", str(self._seconds / 3)]
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=self._seconds)
            ending = f"exit status {process.returncode}"
        except subprocess.TimeoutExpired:
            output, ending = b"", f"no end after {self._seconds:.0f} s\n{hangs.end(process)}"
        found: dict[str, tuple[str, str]] = {}
        if results.exists():
            for line in results.read_text().splitlines():
                entry = json.loads(line)
                before = found.get(entry["test"], ("began", ""))[0]
                if before == "began" or entry["outcome"] == "failed":
                    found[entry["test"]] = (entry["outcome"], entry["reason"])
        if process.returncode != 0:
            found["the whole module"] = ("ended", ending + "\n" + output.decode(errors="replace")[-3000:])
        shutil.rmtree(folder, ignore_errors=True)
        return found

    def compare(self, name: str, repeats: int) -> tuple[int, dict[str, str]]:
        """How many tests there are, and those that never end as they do natively."""
        native = self.outcomes(name, False)
        interposed = self.outcomes(name, True)
        differing = {test for test in native | interposed if native.get(test, "-")[0] != interposed.get(test, "-")[0]}
        seen = {test: ({native.get(test, "-")[0]}, {interposed.get(test, "-")[0]}) for test in differing}
        reasons = {test: interposed.get(test, ("", "not run"))[1] for test in differing}
        for _ in range(repeats):
            if not any(set.isdisjoint(*ways) for ways in seen.values()):
                break
            native, interposed = self.outcomes(name, False), self.outcomes(name, True)
            for test, (before, after) in seen.items():
                before.add(native.get(test, "-")[0])
                after.add(interposed.get(test, "-")[0])
        unlike = {test: ways for test, ways in seen.items() if set.isdisjoint(*ways)}
        for _ in range(repeats + 1):  # which thread takes a signal is chance
            beside = self.outcomes(name, False, beside_a_thread=True) if unlike else {}
            for test in [test for test, (_, after) in unlike.items() if beside.get(test, "-")[0] in after]:
                print(f"  {test}: as beside any other thread, {beside[test][0]}")
                del unlike[test]
        return len(native), {
            test: f"natively {'/'.join(sorted(before))}, {self.WAY} {'/'.join(sorted(after))}: {reasons[test]}"
            for test, (before, after) in unlike.items()
        }


def compare_all(suite: Suite, modules, repeats: int) -> int:
    if os.environ.get("DOVETAIL_SANITIZE"):
        print("a sanitizer cannot be loaded into a program without it")
        return 77
    present = [name for name in modules if importlib.util.find_spec("test") and find_test(name)]
    if not present:
        print("this Python comes without its tests")
        return 77
    failed = 0
    for name in present:
        count, unlike = suite.compare(name, repeats)
        print(f"{name}: {count} tests, {len(unlike)} end differently", flush=True)
        for test, text in unlike.items():
            print(f"  {test}: {text}", flush=True)
        failed += len(unlike)
    return 1 if failed else 0


def find_test(name: str) -> bool:
    try:
        return importlib.util.find_spec(f"test.{name}") is not None
    except ModuleNotFoundError:
        return False


def main(kind: type[Suite] = Suite, description: str | None = __doc__, modules: tuple[str, ...] = LONG) -> int:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", nargs="+", default=modules)
    parser.add_argument("--seconds", type=float, default=900, help="most for a module, a third of it for a test")
    parser.add_argument("--repeats", type=int, default=2, help="of a module in which tests end differently")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--results", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        return run_module(arguments.run, arguments.results, arguments.seconds)
    suite = kind(Path(os.environ.get("DOVETAIL_BUILD_DIR", "build/release")).resolve(), arguments.seconds)
    return compare_all(suite, arguments.modules, arguments.repeats)


if __name__ == "__main__":
    sys.exit(main())
