"""Random programs end alike on the embedded runtime and on a cluster, also while its workers are killed.

DOVETAIL_TEST_ROUNDS: how many programs; DOVETAIL_TEST_SEED: of the first one.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time

import dovetail as dt
import pytest
from conftest import PATIENT
from random_programs import Program

distributed = pytest.importorskip("distributed", reason="Dask distributed is not installed")
ROUNDS = int(os.environ.get("DOVETAIL_TEST_ROUNDS", "2"))
SEED = int(os.environ.get("DOVETAIL_TEST_SEED", random.randrange(1 << 30)))


@pytest.fixture(autouse=True)
def disk(monkeypatch, tmp_path):
    config = tmp_path / "dovetail.toml"
    config.write_text(f'[[device]]\nname = "disk"\npaths = ["{tmp_path}"]\nread = 100\nwrite = 100\n')
    monkeypatch.setenv("DOVETAIL_CONFIG", str(config))


def compare(seed: int, program: Program, folder, cluster, beside=contextlib.nullcontext) -> None:
    print(f"DOVETAIL_TEST_SEED={seed} DOVETAIL_TEST_ROUNDS=1")
    here = program.run(folder / f"here{seed}")
    with beside(), dt.Cluster(cluster):
        there = program.run(folder / f"there{seed}")
    assert here == there


def test_programs_end_alike(local, tmp_path):
    for seed in range(SEED, SEED + ROUNDS):
        compare(seed, Program(seed, 120, 0.0005), tmp_path, local)


class Killer:
    """Kills workers at random while its block runs. Dask's tasks run beside, and are checked."""

    def __init__(self, cluster, seed: int) -> None:
        self._cluster = cluster
        self._choose = random.Random(seed)
        self._end = threading.Event()
        self.kills = 0
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._end.wait(self._choose.uniform(0.2, 2.0)):
            # One that runs; the others start again.
            there = list(self._cluster.scheduler.workers)
            started = [each for each in self._cluster.workers.values() if each.worker_address in there]
            if not started:
                continue
            with contextlib.suppress(ProcessLookupError):  # it has been killed just now
                os.kill(self._choose.choice(started).pid, signal.SIGKILL)
                self.kills += 1

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()


@pytest.mark.skipif("DOVETAIL_TEST_LONG" not in os.environ, reason="takes minutes: make test-cluster")
def test_programs_end_alike_while_workers_are_killed(tmp_path):
    import dask

    kills = 0
    with (
        dask.config.set({**PATIENT, "distributed.scheduler.allowed-failures": 20}),
        distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        for seed in range(SEED, SEED + ROUNDS):
            killer = Killer(cluster, seed)
            theirs = client.map(lambda x: x + 1, range(30), pure=False)
            compare(seed, Program(seed, 120, 0.1), tmp_path, cluster, lambda killer=killer: killer)
            assert client.gather(theirs) == list(range(1, 31))
            with dt.Cluster(cluster) as used:
                while any(device["nodes"] or device["returning"] for device in used.devices()):
                    time.sleep(0.05)  # no lease is lost; the alarm ends what never becomes true
            kills += killer.kills
    print(f"{kills} kills in {ROUNDS} programs")
    assert kills > 0
