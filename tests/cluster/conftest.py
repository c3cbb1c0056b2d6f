"""What all tests on a cluster share: two workers, each a process with one slot."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "scripts")]

import hangs  # noqa: E402 (behind the path to it)

ALARM_SECONDS = int(os.environ.get("DOVETAIL_TEST_ALARM", "240"))
ALARM = pytest.StashKey[hangs.Alarm]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[ALARM] = hangs.Alarm(os.dup(2))


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[ALARM].stop()


@pytest.fixture(autouse=True)
def alarm(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that hangs ends the run and says where everybody is."""
    request.config.stash[ALARM].set(ALARM_SECONDS)
    yield
    request.config.stash[ALARM].set(ALARM_SECONDS)


@pytest.fixture(scope="session")
def local() -> Iterator[Any]:
    """The cluster, as a user of Dask starts one."""
    distributed = pytest.importorskip("distributed", reason="Dask distributed is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, protocol="tcp"
    ) as cluster:
        yield cluster


@pytest.fixture
def connected(local: Any) -> Iterator[Any]:
    """The tasks of the test run on the cluster."""
    import dovetail

    with dovetail.Cluster(local):
        yield local
