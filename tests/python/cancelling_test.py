"""Cancelling what runs in worker processes and in coroutines."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path

import dovetail as dt
import pytest
from dovetail import processes


@dt.task(process=True)
def hold(begun, gate):
    """Says in one pipe that it has begun, and runs until the other one is opened."""
    with open(begun, "w"):
        pass
    with open(gate):
        pass
    return "held"


@dt.task(process=True, retries=2)
def touch(path):
    Path(path).touch()


@dt.task(process=True)
def size_of(value):
    return len(value)


class Cancels:
    """An argument that cannot be pickled: what tries has the call cancelled meanwhile."""

    future: dt.Future

    def __reduce__(self):
        assert self.future.cancel()
        raise TypeError("cannot be pickled")


class Counts:
    """An argument that counts how often it is pickled."""

    times = 0

    def __reduce__(self):
        Counts.times += 1
        return (str, ("pickled",))


@dt.task
def after(value):
    return value


class Busy:
    """The only worker process, busy until `release`."""

    def __init__(self, folder):
        self.gate = folder / "gate"
        begun = folder / "begun"
        os.mkfifo(begun)
        os.mkfifo(self.gate)
        self.future = hold(str(begun), str(self.gate))
        with open(begun) as pipe:
            pipe.read()

    def wait_for(self, number):
        """Until so many tasks wait for the process."""
        while len(processes.the_pool()._waiting) < number:
            time.sleep(0.001)

    def release(self):
        with open(self.gate, "w"):
            pass


@pytest.fixture
def one_process():
    processes.kill_all()
    processes.set_size(1)
    yield
    processes.kill_all()
    processes.set_size(0)


def test_a_process_task_that_waits_for_a_process_can_be_cancelled(one_process, tmp_path):
    busy, told = Busy(tmp_path), []
    paths = [tmp_path / str(number) for number in range(20)]
    waiting = [touch(str(path)) for path in paths]
    follower = after(waiting[0])
    for future in waiting:
        future.add_done_callback(told.append)
    busy.wait_for(20)
    assert busy.future.running() and not any(future.running() for future in waiting)
    assert all(future.cancel() for future in waiting[:10])
    assert told == waiting[:10] and all(future.cancelled() and future.done() for future in told)
    assert not busy.future.cancel(), "it has begun"
    busy.release()
    assert busy.future.result() == "held"
    assert [future.exception() for future in waiting[10:]] == [None] * 10
    with pytest.raises(dt.TaskCancelled):
        follower.result()
    dt.barrier()
    assert [path.exists() for path in paths] == [False] * 10 + [True] * 10
    assert told[:10] == waiting[:10] and len(told) == 20


def test_a_runtime_that_is_cancelled_drops_what_waits_for_a_process(one_process, tmp_path):
    with dt.Runtime(workers=2) as runtime:
        busy = Busy(tmp_path)
        waiting = [touch(str(tmp_path / str(number))) for number in range(5)]
        busy.wait_for(5)
        runtime.cancel()
        busy.release()
        results = dt.gather(*waiting, return_exceptions=True)
    assert [type(result) for result in results] == [dt.TaskCancelled] * 5
    assert not any((tmp_path / str(number)).exists() for number in range(5))


def test_a_call_that_is_cancelled_while_its_message_is_made_is_no_failure(one_process, tmp_path):
    busy = Busy(tmp_path)
    first = [size_of(bytes(10_000)) for _ in range(2)]  # whose messages are made at once
    busy.wait_for(2)
    arguments = [Cancels() for _ in range(6)]
    for argument in arguments:
        argument.future = size_of(argument)
    busy.wait_for(8)
    busy.release()
    dt.barrier()
    assert all(argument.future.cancelled() for argument in arguments)
    assert busy.future.result() == "held" and dt.gather(*first) == [10_000] * 2


def test_no_message_is_made_for_a_call_that_was_cancelled(one_process, tmp_path):
    busy = Busy(tmp_path)
    first = [size_of(bytes(10_000)) for _ in range(2)]
    busy.wait_for(2)
    waiting = [size_of(Counts()) for _ in range(6)]
    busy.wait_for(8)
    assert all(future.cancel() for future in waiting[:5])
    busy.release()
    dt.barrier()
    assert waiting[5].result() == len("pickled") and dt.gather(*first) == [10_000] * 2
    assert Counts.times == 1, "once for the call that was not cancelled"


def test_calls_that_were_cancelled_stay_so_when_the_processes_are_ended(one_process, tmp_path):
    busy = Busy(tmp_path)
    waiting = [touch(str(tmp_path / str(number))) for number in range(6)]
    busy.wait_for(6)
    assert all(future.cancel() for future in waiting)
    processes.kill_all()
    assert isinstance(busy.future.exception(), dt.TaskFailed)
    dt.barrier()
    assert all(future.cancelled() for future in waiting)


def test_a_coroutine_sees_that_it_is_asked_to_stop():
    running, others = threading.Event(), threading.Event()

    @dt.task
    async def until_asked():
        running.set()
        while not await asyncio.to_thread(dt.cancelled):  # its context goes with it
            await asyncio.sleep(0)
        return dt.cancelled()

    @dt.task
    async def until_told():
        while not others.is_set():
            await asyncio.sleep(0)
        return dt.cancelled()

    asked, told = until_asked(), until_told()
    running.wait()
    assert asked.cancel() is False
    assert asked.result() is True
    others.set()
    assert told.result() is False, "it was the other one"
    assert not dt.cancelled()
