"""What an agent does on its node: I/O tasks beside the slots, limits and budgets of the node."""

from __future__ import annotations

import os
import time

import dovetail as dt
import numpy as np
import pytest
from together import meet, note

pytest.importorskip("distributed", reason="Dask distributed is not installed")
pytestmark = pytest.mark.usefixtures("connected")


def test_io_tasks_need_no_slot(tmp_path):
    @dt.task
    def busy(path, number):
        open(f"{path}{number}", "w").close()
        while not os.path.exists(path):
            time.sleep(0.001)
        return os.getpid()

    @dt.io
    def release(path, slots):
        while not all(os.path.exists(f"{path}{number}") for number in range(slots)):
            time.sleep(0.001)
        open(path, "w").close()
        return os.getpid()

    @dt.io
    def process():
        return os.getpid()

    path = str(tmp_path / "open")
    slots = [busy(path, number) for number in range(2)]  # every slot that there is
    released = release(path, 2)
    assert len(set(dt.wait(slots))) == 2
    # One process keeps the account of the node.
    assert set(dt.wait([process() for _ in range(20)])) == {dt.wait(released)}


@pytest.mark.parametrize("options", [{"limit": 3}, {"storage_bw": 30, "device": "disk"}])
def test_limits_and_shares_of_a_device_hold_for_io_tasks_of_a_node(tmp_path, options):
    (tmp_path / "count").touch()
    body, free = dt.io(note, **options), dt.io(meet)
    assert max(dt.wait([body(str(tmp_path / "count"), 0.005) for _ in range(24)])) <= 3
    dt.wait([free(str(tmp_path), number, 4) for number in range(4)])


@pytest.mark.parametrize("options", [{"limit": 1}, {"storage_bw": 60, "device": "disk"}])
def test_computing_tasks_with_a_limit_or_a_share_run_in_one_process_of_the_node(tmp_path, options):
    (tmp_path / "count").touch()
    body = dt.task(note, **options)
    assert max(dt.wait([body(str(tmp_path / "count"), 0.01) for _ in range(8)])) == 1


def test_calls_without_a_limit_do_not_wait_behind_those_that_have_one(tmp_path):
    @dt.task(limit=1)
    def limited(path):
        while not os.path.exists(path):
            time.sleep(0.001)

    path = str(tmp_path / "open")
    waiting = [limited(path) for _ in range(10)]
    dt.wait(dt.task(lambda path: open(path, "w").close())(path))
    dt.wait(waiting)


def test_a_node_gets_a_bounded_number_of_bytes_at_a_time(local, tmp_path, until, monkeypatch):
    from distributed import Client
    from dovetail.cluster import node

    @dt.io
    def wait(array, folder, number):
        open(os.path.join(folder, str(number)), "w").close()
        while not os.path.exists(os.path.join(folder, "open")):
            time.sleep(0.005)
        return len(array)

    def received():
        from dovetail.cluster import agent

        return agent.the_agent()._runtime._core.pending

    monkeypatch.setattr(node, "_MOST_BYTES", 8 << 20)
    array = np.zeros(1 << 20, np.uint8)
    futures = [wait(array, str(tmp_path), number) for number in range(12)]
    until(lambda: len(list(tmp_path.iterdir())) >= 8)
    with Client(local, set_as_default=False) as client:
        there = sum(client.run(received).values())
    (tmp_path / "open").touch()
    assert there == 8  # of 1 MiB each
    assert dt.wait(futures) == [1 << 20] * 12


def test_tasks_share_a_limit(tmp_path):
    (tmp_path / "count").touch()
    limit = dt.Limit(1)
    bodies = [dt.io(note, limit=limit, label=f"body {i}") for i in range(3)]
    assert max(dt.wait([body(str(tmp_path / "count"), 0.003) for body in bodies * 4])) == 1


def test_an_unknown_device_is_the_failure_of_its_task():
    @dt.io(storage_bw=5, device="nosuch")
    def nowhere():
        pass

    with pytest.raises(dt.TaskFailed, match="nosuch"):
        dt.wait(nowhere())


def test_time_limits_hold_on_the_node():
    @dt.task(time_limit=0.05)
    def slow():
        while True:
            time.sleep(0.01)

    with pytest.raises(dt.TaskFailed) as failure:
        dt.wait(slow())
    assert isinstance(failure.value.__cause__, dt.TimeLimitExceeded)


def test_tasks_of_dask_run_beside(local):
    from distributed import Client

    @dt.task
    def double(x):
        return 2 * x

    with Client(local, set_as_default=False) as client:
        ours = [double(i) for i in range(300)]
        theirs = client.map(lambda x: x + 1, range(100))
        assert sum(client.gather(theirs)) == 5050
        assert dt.wait(ours) == [2 * i for i in range(300)]


def test_calls_that_have_not_begun_are_given_back(local):
    from distributed import Client
    from dovetail import pickling
    from dovetail.cluster import agent, message

    def body(waits):
        from dovetail.cluster import agent

        while waits and any(gate.open for gate, _ in agent.the_agent()._batches.values()):
            time.sleep(0.001)
        return waits

    key = ("a driver", 1)
    options = message.Options("body", io=False, storage_bw=None, device=None, limit=None, time_limit=None)
    batch = message.pack({key: (options, pickling.dump_alone(body))}, [(7, key, (), (True,)), (8, key, (), (False,))])
    with Client(local, set_as_default=False) as client:
        ends = message.unpack_ends(client.submit(agent.run, batch, "a batch", False, pure=False).result())
    assert [end[:2] for end in ends] == [(7, message.Fate.DONE), (8, message.Fate.NOT_BEGUN)]
