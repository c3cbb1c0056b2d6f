"""What all tests of the HDF5 connector share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import support


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """ctest is told where everything was skipped."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 0 and reporter is not None and not reporter.stats.get("passed"):
        session.exitstatus = 77


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "python" in metafunc.fixturenames:
        found = support.interpreters()
        metafunc.parametrize("python", found.values(), ids=[f"h5py-{version}" for version in found])


@pytest.fixture
def faults() -> Iterator[object]:
    """A file system whose transfers can be held, delayed and failed."""
    from fault_fs import FaultFs, FaultFsUnavailable

    try:
        with FaultFs() as mounted:
            yield mounted
    except FaultFsUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where a program runs; its files are named without a path, so that messages of two runs compare."""
    here = os.getcwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(here)
