#!/usr/bin/env python3
"""The long run, `make test-hdf5`: what others wrote to test HDF5 passes with the connector as it does without.

    acceptance.py [--repeats 20] [--programs 2000] [--only api|testhdf5|h5py|netcdf|programs]

HDF5's own API tests and testhdf5 (both from `make setup-hdf5`), the test suite of every h5py here, netCDF4-python's where it
is, then random programs. What fails natively may fail; anything else that fails ends this with status 1.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import support
from support import foreign

TIMEOUT = 900
SUMMARY = re.compile(r"^(FAILED|ERROR) (\S+)", re.MULTILINE)


def native_verifies(folder: Path) -> list[str]:
    """The HDF5 files in a folder that native HDF5 cannot dump."""
    files = [path for path in folder.rglob("*.h5") if path.read_bytes()[:4] == b"\x89HDF"]
    broken = [
        path.name for path in files if support.run([support.TOOLS / "h5dump", "-A", path], support.clean()).status
    ]
    print(f"    {len(files)} files left behind, {len(broken)} that native h5dump cannot read")
    return broken


def hdf5_tests(program: str, repeats: int) -> list[str]:
    """One of HDF5's own programs, natively once and under the connector many times."""
    command = [support.TOOLS / program]
    if not command[0].is_file():
        return [f"{command[0]} is missing: run `make setup-hdf5`"]
    faults, times = [], []
    data = {
        "srcdir": str(support.CACHE / "threadsafe"),
        "HDF5_ALARM_SECONDS": str(TIMEOUT),
        "HDF5_NOCLEANUP": "1",
    }
    for turn in range(repeats + 1):
        environment = {**(support.under_dovetail() if turn else support.clean()), **data}
        with tempfile.TemporaryDirectory(prefix="dovetail-hdf5-") as name:
            start = time.monotonic()
            ended = support.run(command, environment, Path(name), timeout=TIMEOUT)
            times.append(time.monotonic() - start)
            failed = re.findall(r"^.*FAILED.*$", ended.output, re.MULTILINE)
            if turn == 0:
                native = (ended.status, failed, native_verifies(Path(name)))
                if ended.status:
                    return [f"{program} fails natively: status {ended.status}\n{ended.output[-2000:]}"]
                continue
            if ended.status != native[0] or failed != native[1]:
                faults.append(
                    f"{program}, turn {turn}: status {ended.status}, natively {native[0]}; {failed[:5]}\n{ended.errors[-2000:]}"
                )
            if turn == 1 and len(broken := native_verifies(Path(name))) > len(native[2]):
                faults.append(f"{program}: native HDF5 cannot read {broken}")
    print(f"  {program}: native {times[0]:.1f} s, {repeats} times under dovetail {max(times[1:]):.1f} s at most")
    return faults


def python_tests(name: str, python: str, *arguments: str, folder: Path | None = None) -> list[str]:
    """A test suite in Python: the tests that fail only under the connector."""
    failed = {}
    for kind, environment in (("native", support.clean()), ("dovetail", support.under_dovetail())):
        with tempfile.TemporaryDirectory(prefix="dovetail-hdf5-") as place:
            command = [python, "-m", "pytest", "-q", "--tb=line", "-rfE", "-p", "no:cacheprovider", *arguments]
            ended = support.run(command, environment, folder or Path(place), timeout=TIMEOUT)
        failed[kind] = set(SUMMARY.findall(ended.output))
        print(f"  {name}, {kind}: {ended.output.strip().splitlines()[-1] if ended.output.strip() else ended.errors}")
        if ended.status not in (0, 1):
            return [f"{name}, {kind}: status {ended.status}\n{ended.output[-2000:]}{ended.errors[-2000:]}"]
    return [
        f"{name}: {' '.join(test)} fails only under dovetail" for test in sorted(failed["dovetail"] - failed["native"])
    ]


def h5py_tests() -> list[str]:
    return [
        fault
        for version, python in support.interpreters().items()
        for fault in python_tests(f"h5py {version}", python, "--pyargs", "h5py")
    ]


def netcdf_tests() -> list[str]:
    python, tests = foreign.python_with("netCDF4", "pytest"), foreign.SOURCES / "netcdf4-python" / "test"
    if python is None or not tests.is_dir():
        missing = "no Python with netCDF4 and pytest" if python is None else f"no {tests}"
        print(f"  netCDF4: left out, there is {missing}; scripts/setup_foreign.sh gets it")
        return []
    return python_tests("netCDF4", python, ".", folder=tests)


def random_programs(count: int) -> list[str]:
    """In portions, so that each has a seed of its own and a fault is soon known."""
    faults = []
    for portion in range(max(1, count // 250)):
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-c",
            support.SOURCE / "pyproject.toml",
        ]
        environment = {**os.environ, "DOVETAIL_HDF5_PROGRAMS": "250"}
        done = subprocess.run(
            [*map(str, command), str(support.HERE / "differential_test.py")],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            faults.append(f"random programs, portion {portion}:\n{done.stdout[-4000:]}")
    print(f"  random programs: {max(1, count // 250)} portions of 250, {len(faults)} with a difference")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20, help="of HDF5's own tests")
    parser.add_argument("--programs", type=int, default=2000, help="random programs")
    parser.add_argument("--only", choices=("api", "testhdf5", "h5py", "netcdf", "programs"))
    arguments = parser.parse_args()
    if arguments.repeats < 1 or arguments.programs < 1:
        parser.error("at least one repeat and one program")
    if not support.PLUGINS.is_dir():
        parser.error(f"{support.PLUGINS} is missing: run `make setup-hdf5 build`, or set DOVETAIL_BUILD_DIR")
    parts = {
        "api": lambda: hdf5_tests("h5_api_test", arguments.repeats),
        "testhdf5": lambda: hdf5_tests("testhdf5", arguments.repeats),
        "h5py": h5py_tests,
        "netcdf": netcdf_tests,
        "programs": lambda: random_programs(arguments.programs),
    }
    faults = []
    for name, part in parts.items():
        if arguments.only in (None, name):
            print(name, flush=True)
            faults += part()
    print("\n".join(faults) or "Everything passes with the connector that passes without it.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
