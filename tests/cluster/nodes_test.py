"""What an agent does on its node: I/O tasks beside the slots, limits and budgets of the node."""

from __future__ import annotations

import fcntl
import os
import time

import dovetail as dt
import pytest

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


def note(path: str, seconds: float) -> int:
    """How many run at the same time, this one included."""

    def change(by: int) -> int:
        with open(path, "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            count = int(file.read() or 0) + by
            file.seek(0)
            file.write(f"{count:4}")
            file.flush()
        return count

    count = change(1)
    time.sleep(seconds)  # so that others would be seen
    change(-1)
    return count


@pytest.mark.parametrize("options", [{"limit": 3}, {"storage_bw": 30, "device": "disk"}])
def test_limits_and_shares_of_a_device_hold_for_io_tasks_of_a_node(tmp_path, options):
    (tmp_path / "count").touch()
    body, free = dt.io(note, **options), dt.io(note)
    assert max(dt.wait([body(str(tmp_path / "count"), 0.005) for _ in range(24)])) <= 3
    assert max(dt.wait([free(str(tmp_path / "count"), 0.005) for _ in range(24)])) > 3


@pytest.mark.parametrize("options", [{"limit": 1}, {"storage_bw": 60, "device": "disk"}])
def test_limits_and_shares_of_a_device_hold_for_computing_tasks_of_a_node(tmp_path, options):
    (tmp_path / "count").touch()
    body = dt.task(note, **options)
    assert max(dt.wait([body(str(tmp_path / "count"), 0.02) for _ in range(12)])) == 1


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
