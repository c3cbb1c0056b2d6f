"""Programs that come to a cluster and leave it."""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
from types import SimpleNamespace

import dovetail as dt
import pytest
from dovetail.cluster.dispatcher import Dispatcher

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


@pytest.fixture
def silent():
    """A dispatcher whose scheduler does not answer."""
    loop = asyncio.new_event_loop()

    async def never(function):
        await asyncio.Event().wait()

    client = SimpleNamespace(run_on_scheduler=never)
    yield SimpleNamespace(_client=client, _loop=loop, _patience=1e6, _questions=set(), _end=asyncio.Event())
    loop.close()


@pytest.fixture
def serving(silent):
    thread = threading.Thread(target=silent._loop.run_forever)
    thread.start()
    yield silent

    async def end():
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    asyncio.run_coroutine_threadsafe(end(), silent._loop).result()
    silent._loop.call_soon_threadsafe(silent._loop.stop)
    thread.join()


def test_a_scheduler_that_does_not_say_who_uses_devices_is_given_up(serving):
    serving._patience = 0.01
    with pytest.raises(TimeoutError, match=r"has not answered within 0\.01 s"):
        Dispatcher.devices(serving)


def test_who_asks_for_devices_while_the_program_leaves_is_told(serving, until):
    errors = []

    def ask():
        with pytest.raises(ConnectionError, match="has left the cluster") as error:
            Dispatcher.devices(serving)
        errors.append(error.value)

    asking = threading.Thread(target=ask)
    asking.start()
    until(lambda: serving._questions)
    serving._loop.call_soon_threadsafe(Dispatcher._drop_questions, serving)
    asking.join()
    serving._end.set()
    ask()
    assert len(errors) == 2


def test_who_asks_for_devices_after_the_program_has_left_is_told(silent):
    silent._loop.close()
    with pytest.raises(ConnectionError, match="has left the cluster"):
        Dispatcher.devices(silent)
