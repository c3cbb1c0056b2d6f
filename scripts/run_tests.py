"""Runs ctest in a build folder, with a watchdog, and ends with one plain line, `N passed, N failed`.

Where at most three tests fail, they are run again, alone. One that passes then fails by chance or by the load of the machine:
its first output is printed, and the last line names it. Nothing is run again where seldom means a fault: under a sanitizer, where
a test with kills, faults or random programs has failed, and in the long runs (`--once`).

Exit status: 0 when every test passed, at once or alone, or was skipped; 1 when one failed; 2 when none could be run.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

from ctest_listing import tests_of
from watchdog import Watchdog

most_lines, most_columns = 40, 300
most_again = 3
looks_for_rare_faults = re.compile("crash|fault|fuzz|kill|power|random|recover|stress|torn")


def fixed_addresses() -> list[str]:
    """A command prefix that turns off address randomisation, where that is allowed.

    Older sanitizer runtimes refuse to start when the kernel spreads mappings more widely than they knew of.
    """
    setarch = shutil.which("setarch")
    if setarch is None:
        return []
    prefix = [setarch, platform.machine(), "--addr-no-randomize"]
    allowed = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    return prefix if allowed else []


def is_sanitized(build: Path) -> bool:
    cache = (build / "CMakeCache.txt").read_text()
    return any(line.startswith("DOVETAIL_SANITIZE:") and not line.endswith("=") for line in cache.splitlines())


def environment_of_tests() -> dict[str, str]:
    """Without what make tells its own children: a test that runs make would run it as a part of the one that runs the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "MFLAGS"}


def run(build: Path, report_name: str, *options: str) -> tuple[int, xml.etree.ElementTree.Element | None]:
    """The status of ctest and its report of the tests that these options select; None, and a message, if it wrote none."""
    report = (build / report_name).resolve()
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", str(build), "--output-on-failure", "--no-tests=error"]
    command += ["--output-junit", str(report), *options]
    if is_sanitized(build):
        command = fixed_addresses() + command
    tests = tests_of(build, *options)
    with subprocess.Popen(command, env=environment_of_tests()) as ctest, Watchdog(ctest.pid, tests):
        status = ctest.wait()
    if not report.is_file():
        print(f"ctest ended with status {status} and wrote no report", file=sys.stderr)
        return status, None
    return status, xml.etree.ElementTree.parse(report).getroot()


def failed_in(suite: xml.etree.ElementTree.Element) -> list[xml.etree.ElementTree.Element]:
    return [case for case in suite.iter("testcase") if case.get("status") == "fail"]


def print_failures(cases: list[xml.etree.ElementTree.Element]) -> None:
    """The end of what each failed test printed: behind all other output, where a reader of a long log looks first."""
    for case in cases:
        output = (case.findtext("system-out") or "").rstrip().splitlines()
        print(f"\n--- {case.get('name')} failed after {float(case.get('time', 0)):.0f} s; its last lines:")
        print("\n".join(line[:most_columns] for line in output[-most_lines:]))
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="a configured and built folder, such as build/release")
    parser.add_argument("--once", action="store_true", help="run nothing again")
    arguments, ctest_arguments = parser.parse_known_args()
    build = arguments.build
    if not (build / "CMakeCache.txt").is_file():
        print(f"{build} is not a configured build folder: `make test` makes it", file=sys.stderr)
        return 2

    # More than there are processors: many tests wait for a disk, a throttled device or a process that they have killed.
    at_once = (os.cpu_count() or 1) * 3 // 2
    status, suite = run(build, "test-report.xml", "--parallel", str(at_once), *ctest_arguments)
    if suite is None:
        return 2
    failed = failed_in(suite)
    skipped = int(suite.get("skipped", 0)) + int(suite.get("disabled", 0))
    passed = int(suite.get("tests", 0)) - len(failed) - skipped
    print_failures(failed)
    alone: list[str] = []
    is_rare = any(looks_for_rare_faults.search(case.get("name", "")) for case in failed)
    if 0 < len(failed) <= most_again and not (arguments.once or is_rare or is_sanitized(build)):
        print("\n--- once more, alone:", flush=True)
        # Which tests: what failed alone, whatever the other options select.
        status, again = run(build, "test-report-alone.xml", *ctest_arguments, "--rerun-failed", "--parallel", "1")
        if again is not None:
            still = {case.get("name") for case in failed_in(again)}
            alone = [name for case in failed if (name := case.get("name", "")) not in still]
    failures = len(failed) - len(alone)
    print(
        f"{passed + len(alone)} passed, {failures} failed"
        + (f", {skipped} skipped" if skipped else "")
        + (f"; only alone passed {', '.join(alone)}" if alone else "")
    )
    if passed + len(failed) == 0:
        return 2
    return 1 if failures or status else 0


if __name__ == "__main__":
    sys.exit(main())
