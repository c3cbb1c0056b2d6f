#!/usr/bin/env python3
"""Our own tests that need other people's packages, in the interpreter that has them: that of .cache-foreign/venv.

    foreign_packages.py [options of pytest]

`make test` runs the same files with .venv, where they leave out what is not installed. Here nothing that the packages are needed for may be left
out. Exit status: 0 all pass, 1 not, 77 there is no such interpreter.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

import support
from support import foreign

SKIPPED = 77
HDF5 = ("hdf5/room_test.py", "hdf5/libraries_test.py", "hdf5/netcdf4_test.py")
PYTHON = ("python/loading_test.py",)
# Each is the reason for one of the packages.
NEEDED = {
    "test_pandas_is_told_of_a_full_disk",
    "test_filters_of_netcdf4_stay_reachable",
    "test_datasets_are_the_same",
    "test_any_order_of_imports_works",
    "test_a_random_order_of_everything_works",
    "test_a_random_order_beside_the_connector_works",
}


def outcomes(files: tuple[str, ...], options: list[str], record: Path) -> tuple[int, dict[str, set[str]]]:
    """The status of pytest, and how the tests ended, by their names without parameters."""
    # Each folder has a conftest.py and modules of its own.
    tests = [str(support.SOURCE / "tests" / file) for file in files]
    command = [str(foreign.PYTHON), "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", f"--junitxml={record}"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(support.BUILD.resolve() / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONFAULTHANDLER": "1",
        "DOVETAIL_BUILD_DIR": str(support.BUILD.resolve()),
        "DOVETAIL_SOURCE_DIR": str(support.SOURCE),
    }
    command += ["-c", str(support.SOURCE / "pyproject.toml"), *options, *tests]
    status = subprocess.run(command, env=environment, check=False).returncode
    found: dict[str, set[str]] = {}
    for case in xml.parse(record).iter("testcase") if record.exists() else ():
        ends = {child.tag for child in case if child.tag in ("failure", "error", "skipped")} or {"passed"}
        found.setdefault(case.get("name", "").partition("[")[0], set()).update(ends)
    return status, found


def main() -> int:
    if not foreign.PYTHON.exists():
        print(f"  left out, there is no {foreign.PYTHON}; scripts/setup_foreign.sh makes it")
        return SKIPPED
    failed = False
    seen: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory(prefix="dovetail-packages-") as folder:
        for name, files in (("hdf5", HDF5), ("python", PYTHON)):
            status, found = outcomes(files, sys.argv[1:], Path(folder) / f"{name}.xml")
            seen |= found
            failed |= status != 0
    left_out = sorted(name for name in NEEDED if "passed" not in seen.get(name, ()))
    if left_out and not sys.argv[1:]:
        print(f"  did not run and pass: {', '.join(left_out)}")
    return 1 if failed or (left_out and not sys.argv[1:]) else 0


if __name__ == "__main__":
    sys.exit(main())
