#!/usr/bin/env python3
"""The long run, `make test-hdf5`: what others wrote to test HDF5 passes with the connector as it does without.

    acceptance.py [--repeats 20] [--programs 2000] [--only api|own|h5py|netcdf|programs]

It runs HDF5's API tests and other programs of its own tests (both from `make setup-hdf5`). It goes on with the test suite of every h5py here
and netCDF4-python's where that is installed, then with random programs. A test that fails natively may fail; any other failure ends this with
status 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from functools import partial

import support
from outcomes import compare, pytest_outcomes
from own_programs import API, LONG, SHORT, own_tests
from support import foreign


def h5py_tests() -> list[str]:
    return [
        fault
        for version, python in support.interpreters().items()
        for fault in compare(f"h5py {version}", partial(pytest_outcomes, python, ["h5py"]), support.under_dovetail())
    ]


def netcdf_tests() -> list[str]:
    python, tests = foreign.python_with("netCDF4", "pytest"), foreign.SOURCES / "netcdf4-python" / "test"
    if python is None or not tests.is_dir():
        missing = "no Python with netCDF4 and pytest" if python is None else f"no {tests}"
        print(f"  netCDF4: left out, there is {missing}; scripts/setup_foreign.sh gets it")
        return []
    # As `dovetail run` has it: HDF5_PLUGIN_PATH hides the filters that netCDF4 brings.
    return compare("netCDF4", partial(pytest_outcomes, python, ["."], place=tests))


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
    parser.add_argument("--repeats", type=int, default=20, help="of HDF5's API tests and testhdf5")
    parser.add_argument("--programs", type=int, default=2000, help="random programs")
    parser.add_argument("--only", choices=("api", "own", "h5py", "netcdf", "programs"))
    arguments = parser.parse_args()
    if arguments.repeats < 1 or arguments.programs < 1:
        parser.error("at least one repeat and one program")
    if not support.PLUGINS.is_dir():
        parser.error(f"{support.PLUGINS} is missing: run `make setup-hdf5 build`, or set DOVETAIL_BUILD_DIR")
    parts = {
        "api": lambda: own_tests(API, arguments.repeats),
        "own": lambda: own_tests((*SHORT, *LONG), min(arguments.repeats, 4)),
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
