"""What all tests on a cluster share: two workers, each a process with one slot."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "scripts")]

import hangs  # noqa: E402 (behind the path to it)

ALARM_SECONDS = int(os.environ.get("DOVETAIL_TEST_ALARM", "240"))
ALARM = pytest.StashKey[hangs.Alarm]()
PATIENT = {
    # A LocalCluster gives a worker up that is not back after some seconds, be it that it was killed again.
    "distributed.deploy.lost-worker-timeout": "1h",
    # A result whose worker has died is asked for again after this time.
    "distributed.comm.timeouts.connect": "5s",
}
"""Of Dask, for tests that kill workers."""


def pytest_configure(config: pytest.Config) -> None:
    config.stash[ALARM] = hangs.Alarm(os.dup(2))


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[ALARM].stop()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and importlib.util.find_spec("distributed") is None:
        session.exitstatus = 77  # skipped, for ctest


@pytest.fixture(autouse=True)
def alarm(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that hangs ends the run and says where everybody is."""
    request.config.stash[ALARM].set(ALARM_SECONDS)
    yield
    request.config.stash[ALARM].set(ALARM_SECONDS)


@contextlib.contextmanager
def cluster_of(folder: Path, workers: int, slots: int) -> Iterator[Any]:
    """A cluster, as a user of Dask starts one. Its node has a device "disk" of 100 MB/s; a task may see two workers die."""
    distributed = pytest.importorskip("distributed", reason="Dask distributed is not installed")
    import dask

    config = folder / "dovetail.toml"
    config.write_text(f'[[device]]\nname = "disk"\npaths = ["{folder}"]\nread = 100\nwrite = 100\n')
    with (
        dask.config.set({**PATIENT, "distributed.scheduler.allowed-failures": 2}),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=slots,
            processes=True,
            dashboard_address="127.0.0.1:0",
            env={"DOVETAIL_CONFIG": str(config)},
        ) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two workers, each a process with one slot."""
    with cluster_of(tmp_path_factory.mktemp("node"), 2, 1) as cluster:
        yield cluster


Until = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def until() -> Until:
    """Asks until the answer is true, and returns it. What never becomes true ends by the alarm."""

    def ask(question: Callable[[], Any]) -> Any:
        while not (answer := question()):
            time.sleep(0.005)
        return answer

    return ask


@pytest.fixture
def connected(local: Any) -> Iterator[Any]:
    """The tasks of the test run on the cluster."""
    import dovetail

    with dovetail.Cluster(local):
        yield local
