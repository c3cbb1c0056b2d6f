"""Runs ctest in a build folder, with a watchdog, and ends with one plain line, `N passed, N failed`.

Exit status: 0 when every test passed or was skipped, 1 when one failed, 2 when none could be run.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

from ctest_listing import tests_of
from watchdog import Watchdog

most_lines, most_columns = 40, 300


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


def print_failures(suite: xml.etree.ElementTree.Element) -> None:
    """The end of what each failed test printed: behind all other output, where a reader of a long log looks first."""
    for case in suite.iter("testcase"):
        if case.get("status") == "fail":
            output = (case.findtext("system-out") or "").rstrip().splitlines()
            print(f"\n--- {case.get('name')} failed after {float(case.get('time', 0)):.0f} s; its last lines:")
            print("\n".join(line[:most_columns] for line in output[-most_lines:]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="a configured and built folder, such as build/release")
    arguments, ctest_arguments = parser.parse_known_args()
    if not (arguments.build / "CMakeCache.txt").is_file():
        print(f"{arguments.build} is not a configured build folder: `make test` makes it", file=sys.stderr)
        return 2

    report = (arguments.build / "test-report.xml").resolve()
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", str(arguments.build), "--output-on-failure", "--no-tests=error"]
    command += ["--parallel", str(os.cpu_count() or 1), "--output-junit", str(report), *ctest_arguments]
    if is_sanitized(arguments.build):
        command = fixed_addresses() + command
    tests = tests_of(arguments.build, *ctest_arguments)
    with subprocess.Popen(command, env=environment_of_tests()) as ctest, Watchdog(ctest.pid, tests):
        status = ctest.wait()
    if not report.is_file():
        print(f"ctest ended with status {status} and wrote no report", file=sys.stderr)
        return 2

    suite = xml.etree.ElementTree.parse(report).getroot()
    failed = int(suite.get("failures", 0))
    skipped = int(suite.get("skipped", 0)) + int(suite.get("disabled", 0))
    passed = int(suite.get("tests", 0)) - failed - skipped
    print_failures(suite)
    sys.stdout.flush()
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    if passed + failed == 0:
        return 2
    return 1 if failed or status else 0


if __name__ == "__main__":
    sys.exit(main())
