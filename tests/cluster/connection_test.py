"""Programs that come to a cluster and leave it."""

from __future__ import annotations

import os
import pickle
from types import SimpleNamespace

import dovetail as dt
import pytest

distributed = pytest.importorskip("distributed", reason="Dask distributed is not installed")


def test_a_cluster_may_be_used_again(local):
    task = dt.task(abs)
    cluster = dt.Cluster(local)
    for _ in range(2):
        with cluster:
            assert dt.wait(task(-1)) == 1


def test_a_worker_in_the_process_of_the_program_is_refused_each_time():
    with distributed.LocalCluster(
        n_workers=1, processes=False, protocol="tcp", dashboard_address="127.0.0.1:0"
    ) as cluster:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="processes=True"):
                dt.Cluster(cluster).start()


def test_processes_of_the_same_number_in_two_containers_are_told_apart(monkeypatch):
    from dovetail.cluster import agent, plugin

    started = []
    monkeypatch.setattr(agent, "start", started.append)
    worker = SimpleNamespace(nanny=None)
    sent = pickle.dumps(plugin.NodePlugin())
    with pytest.raises(RuntimeError, match="program's own process"):
        pickle.loads(sent).setup(worker)
    monkeypatch.setattr(plugin, "_PROCESS", "of the other container")  # where the number is the same
    pickle.loads(sent).setup(worker)
    assert started == [worker]


def test_calls_that_change_files_in_place_leave_no_mark_in_the_scheduler(local, tmp_path):
    def marks(dask_scheduler):
        return [name for name in dask_scheduler.extensions["events"]._events if str(name).startswith("dovetail-")]

    @dt.task(path=dt.FILE_INOUT)
    def append(path):
        with open(path, "a") as file:
            file.write(str(os.getpid()))

    with distributed.Client(local, set_as_default=False) as client:
        before = client.run_on_scheduler(marks)
        with dt.Cluster(local):
            for i in range(20):
                append(str(tmp_path / f"file{i}"))
        assert client.run_on_scheduler(marks) == before
