#!/usr/bin/env python3
"""Test suites of projects that use HDF5: each test ends under the connector as it ends natively.

    foreign_suites.py [--only tables|pandas|xarray|h5netcdf] [--module test_carray ...] [--matching REGEX] [--python PYTHON]

PyTables' and h5netcdf's own suites, pandas' tests of its HDFStore and xarray's of its HDF5 back ends, out of the installed packages. Both
runs are made here, one after the other. Exit status: 0 if no test ends differently, 1 if one does, 77 if the packages are not installed, 2 for bad usage.
PYTHON: an interpreter that has them, by default that of .cache-foreign/venv (scripts/setup_foreign.sh) if there is one.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

import support
from outcomes import compare, pytest_outcomes, unittest_outcomes
from support import foreign

SKIPPED = 77
# Those of its tests that open HDF5 files.
XARRAY = ("test_backends", "test_backends_api", "test_backends_datatree", "test_datatree", "test_distributed")


def pytables_modules(python: str, wanted: list[str]) -> list[str]:
    """All that its packages have: its own list of them leaves some out."""
    listed = """
import pkgutil, tables.nodes.tests, tables.tests
for package in (tables.tests, tables.nodes.tests):
    print(*(f"{package.__name__}.{module.name}" for module in pkgutil.iter_modules(package.__path__)))
"""
    found = support.run([python, "-c", listed], support.clean()).expect(0).output.split()
    lists = ("test_suite", "test_all")
    modules = [name for name in found if (short := name.rpartition(".")[2]).startswith("test_") and short not in lists]
    return [name for name in modules if not wanted or name.rpartition(".")[2] in wanted]


def has(python: str, package: str) -> bool:
    return support.run([python, "-c", f"import {package}"], support.clean()).status == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("tables", "pandas", "xarray", "h5netcdf"))
    parser.add_argument("--module", nargs="+", default=[], help="of the suite that --only names")
    parser.add_argument(
        "--matching",
        default="",
        help="only those of PyTables' tests in whose full name this regular expression is found",
    )
    parser.add_argument("--python", help="an interpreter that has the packages")
    arguments = parser.parse_args()
    if arguments.module and arguments.only is None:
        parser.error("--module needs --only")
    python = arguments.python or (str(foreign.PYTHON) if foreign.PYTHON.exists() else sys.executable)
    if not support.PLUGINS.is_dir():
        parser.error(f"{support.PLUGINS} is missing: run `make setup-hdf5 build`, or set DOVETAIL_BUILD_DIR")
    wanted = arguments.module
    of_unittest = partial(unittest_outcomes, matching=arguments.matching)
    suites = {
        # One by one: hundreds of tests are known after minutes, and one that ends the process takes no others with it.
        "tables": (["tables"], of_unittest, lambda: [[module] for module in pytables_modules(python, wanted)]),
        "pandas": (
            ["pandas", "tables", "pytest"],
            pytest_outcomes,
            lambda: [[f"pandas.tests.io.pytables.{name}" for name in wanted] or ["pandas.tests.io.pytables"]],
        ),
        "xarray": (
            ["xarray", "h5netcdf", "dask", "pytest"],
            pytest_outcomes,
            lambda: [[f"xarray.tests.{name}" for name in wanted or XARRAY]],
        ),
        "h5netcdf": (["h5netcdf", "netCDF4", "pytest"], pytest_outcomes, lambda: [["h5netcdf.tests"]]),
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
            parser.error(f"{name} has no module {' '.join(wanted)}")
        for targets in found:
            compared += 1
            part = targets[0].rpartition(".")[2] if len(found) > 1 else ""
            faults += compare(f"{name} {part}".rstrip(), partial(outcomes_of, python, targets))
    print("\n".join(faults) or ("Each test ends as it ends natively." if compared else "Nothing could be run."))
    return 1 if faults else (0 if compared else SKIPPED)


if __name__ == "__main__":
    sys.exit(main())
