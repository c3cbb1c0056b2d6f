"""Other projects' suites that take seconds; acceptance.py and foreign_suites.py run all of them."""

from __future__ import annotations

import sys
from functools import partial

import pytest
import support
from outcomes import compare, pytest_outcomes, unittest_outcomes
from own_programs import API, SHORT, own_tests
from support import foreign

# Every kind of object, whole chunks past HDF5's pipeline, and files that Python's own file interface sees.
TABLES = ("tests.test_attributes", "tests.test_create", "tests.test_direct_chunk", "nodes.tests.test_filenode")


@pytest.mark.parametrize("program", [*API, *SHORT])
def test_own_program_leaves_the_bytes_that_it_leaves_natively(program):
    if not (support.TOOLS / program).is_file():
        pytest.skip(f"there is no {program}; scripts/setup_hdf5.sh builds it")
    assert not own_tests((program,), 2)


def test_h5py_suite_ends_as_natively():
    outcomes = partial(pytest_outcomes, sys.executable, ["h5py"])
    assert not compare("h5py", outcomes, support.under_dovetail())


@pytest.mark.parametrize("module", TABLES)
def test_pytables_module_ends_as_natively(module):
    python = foreign.python_with("tables")
    if python is None:
        pytest.skip("no Python has tables; scripts/setup_foreign.sh makes one")
    assert not compare(module, partial(unittest_outcomes, python, [f"tables.{module}"]))
