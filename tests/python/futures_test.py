"""Futures of tasks as `concurrent.futures.Future`: in every function of the standard library that takes one, and in tasks."""

from __future__ import annotations

import asyncio
import concurrent.futures as futures
import gc
import pickle
import sys
import threading
import time

import dovetail as dt
import pytest


@dt.task
def square(x):
    return x * x


@dt.task
def fail(text="on purpose"):
    raise LookupError(text)


class Gated:
    """A task that runs until the gate is opened."""

    def __init__(self, value=None):
        self.gate, self.begun = threading.Event(), threading.Event()
        self.future = dt.io(self._run, label="gated")(value)

    def _run(self, value):
        self.begun.set()
        self.gate.wait()
        return dt.cancelled() if value is None else value

    def running(self):
        self.begun.wait()
        return self.future


def test_a_future_is_one_of_the_standard_library():
    future = square(7)
    assert isinstance(future, futures.Future)
    assert future.result(timeout=60) == 49
    assert future.exception(timeout=0) is None
    assert (future.done(), future.running(), future.cancelled(), future.cancel()) == (True, False, False, False)
    assert "square" in repr(future)
    assert "finished" in repr(future)
    # Nobody asked for what only `concurrent.futures.wait` needs.
    assert future.__dict__ == {}


def test_states_of_a_task_that_runs_and_of_one_that_waits_for_it():
    gated = Gated(1)
    first = gated.running()
    second = square(first)
    assert (first.running(), first.done(), first.cancel()) == (True, False, False)
    assert (second.running(), second.done()) == (False, False)
    assert repr(first).endswith("running>")
    assert repr(second).endswith("pending>")
    for wait in (second.result, second.exception):
        with pytest.raises(TimeoutError, match="square"):
            wait(timeout=0.001)
    with pytest.raises(TimeoutError):
        dt.wait({"a": [second]}, timeout=0.001)
    gated.gate.set()
    assert dt.wait({"a": [second]}, timeout=60) == {"a": [1]}
    assert first.result() == 1


def test_a_wait_with_a_limit_for_what_a_task_changes():
    gated, box = Gated(1), [0]

    @dt.task(box=dt.INOUT)
    def change(box, after):
        box[0] = after

    change(box, gated.future)
    with pytest.raises(TimeoutError):
        dt.wait(box, timeout=0.001)
    gated.gate.set()
    assert dt.wait(box, timeout=60) == [1]


def test_a_failure_is_given_and_raised():
    future = fail()
    error = future.exception()
    assert isinstance(error, dt.TaskFailed)
    assert isinstance(error.__cause__, LookupError)
    assert repr(future).endswith("failed>")
    with pytest.raises(dt.TaskFailed):
        future.result()
    assert not future.cancelled()
    # What needs it has failed too, and was cancelled by nobody.
    follower = square(fail())
    assert isinstance(follower.exception(), dt.TaskFailed)
    assert not follower.cancelled()


def test_cancelling_what_has_not_begun_counts_at_once():
    gated = Gated(1)
    running = gated.running()
    waiting = square(running)
    follower = square(waiting)
    told = []
    waiting.add_done_callback(lambda future: told.append((future, threading.current_thread())))
    assert waiting.cancel() is True
    assert told == [(waiting, threading.current_thread())]
    assert (waiting.cancelled(), waiting.done(), waiting.running(), waiting.cancel()) == (True, True, False, True)
    assert repr(waiting).endswith("cancelled>")
    for wait in (waiting.result, waiting.exception):
        with pytest.raises(futures.CancelledError) as caught:
            wait()
        assert isinstance(caught.value, dt.TaskCancelled)
        assert caught.value.cancelled
    assert waiting.wait(timeout=0)
    assert dt.wait_for_any([running, waiting]) == 1
    gated.gate.set()
    with pytest.raises(futures.CancelledError):
        follower.result()
    assert follower.cancelled()
    assert told == [(waiting, threading.current_thread())]


def test_what_was_cancelled_is_never_run():
    gated, ran = Gated(1), []

    @dt.task(thing=dt.INOUT)
    def note(thing, after, number):
        ran.append(number)

    thing = [0]
    notes = [note(thing, gated.future, number) for number in range(200)]
    cancelled = [number for number in range(0, 200, 2) if notes[number].cancel()]
    assert len(cancelled) == 100
    gated.gate.set()
    dt.barrier()
    assert not set(ran) & set(cancelled)


def test_cancelling_and_beginning_at_the_same_time():
    """Whoever is told that a task was cancelled can rely on it."""
    for _ in range(50):
        ran = set()
        tasks = [dt.task(ran.add, label="add")(number) for number in range(50)]
        told = {number for number, future in enumerate(tasks) if future.cancel()}
        for number, future in enumerate(tasks):
            assert future.cancelled() == (number in told)
            if number not in told:
                future.result()
        assert ran == set(range(50)) - told
    dt.barrier()


@pytest.mark.parametrize("kind", [dt.task, dt.io])
def test_cancelling_a_task_that_waits_for_the_interpreter(kind):
    """The runtime has decided to run it, but no instruction of it has run."""
    ran, interval = [], sys.getswitchinterval()
    dt.wait(kind(abs)(1))
    try:
        sys.setswitchinterval(1000)  # nobody else gets the interpreter in this block
        future = kind(lambda: ran.append(1))()
        end = time.monotonic() + 0.02
        while time.monotonic() < end:
            pass
        cancelled = future.cancel()
    finally:
        sys.setswitchinterval(interval)
    dt.barrier()
    assert future.cancelled() == cancelled == (not ran)


@pytest.mark.parametrize("when", [futures.FIRST_COMPLETED, futures.FIRST_EXCEPTION, futures.ALL_COMPLETED])
def test_wait_of_the_standard_library(when):
    gated = Gated(1)
    never = square(gated.running())
    failing, quick = fail(), square(2)
    ordinary = futures.Future()
    ordinary.set_result(5)
    others = {gated.future, never}
    if when == futures.ALL_COMPLETED:
        gated.gate.set()
    done, pending = futures.wait([never, gated.future, failing, quick, ordinary], timeout=60, return_when=when)
    assert ordinary in done
    assert done | pending == {never, gated.future, failing, quick, ordinary}
    assert when == futures.ALL_COMPLETED or pending >= others
    assert when != futures.FIRST_EXCEPTION or failing in done
    gated.gate.set()
    assert futures.wait([never, gated.future, quick]).not_done == set()
    failing.exception()


def test_wait_of_the_standard_library_with_a_limit_and_a_cancelled_future():
    gated = Gated(1)
    waiting = square(gated.running())
    assert futures.wait([waiting], timeout=0.001).not_done == {waiting}
    waiting.cancel()
    assert futures.wait([waiting, gated.future], timeout=0.001) == ({waiting}, {gated.future})
    gated.gate.set()
    assert futures.wait([waiting, gated.future]).not_done == set()


def test_as_completed_of_the_standard_library():
    gated = Gated(100)
    made = [gated.future, *(square(number) for number in range(10))]
    order = futures.as_completed(made, timeout=60)
    assert {next(order).result() for _ in range(10)} == {number * number for number in range(10)}
    gated.gate.set()
    assert next(order).result() == 100
    assert list(order) == []
    with pytest.raises(TimeoutError):
        held = Gated(1)
        try:
            list(futures.as_completed([held.future], timeout=0.001))
        finally:
            held.gate.set()


@pytest.mark.parametrize("in_task", [dt.task, dt.io])
def test_the_standard_library_waits_in_a_task(in_task):
    """With one worker, a wait that held it would never end."""

    def body():
        made = [square(number) for number in range(20)]
        assert futures.wait(made[:10]).not_done == set()
        total = sum(future.result() for future in futures.as_completed(made))
        gated = Gated(1)
        assert futures.wait([square(gated.running())], timeout=0.001).done == set()
        gated.gate.set()
        return total

    with dt.Runtime(workers=1):
        assert dt.wait([in_task(body)() for _ in range(5)]) == [sum(n * n for n in range(20))] * 5


def test_asyncio():
    async def main():
        assert await asyncio.wrap_future(square(3)) == 9
        assert await asyncio.wait_for(square(4), 60) == 16
        assert await asyncio.gather(*(asyncio.wrap_future(square(n)) for n in range(5))) == [0, 1, 4, 9, 16]
        with pytest.raises(dt.TaskFailed):
            await asyncio.wrap_future(fail())
        gated = Gated(1)
        waiting = square(gated.running())
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(waiting), 0.001)
        assert waiting.cancelled()  # as those of the standard library
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wrap_future(waiting)
        with pytest.raises(futures.CancelledError):
            await waiting
        gated.gate.set()

    asyncio.run(main())


def test_a_snapshot_for_asyncio_of_later_pythons():
    gated = Gated(3)
    waiting = square(gated.running())
    assert waiting._get_snapshot() == (False, False, None, None)
    waiting.cancel()
    assert waiting._get_snapshot() == (True, True, None, None)
    gated.gate.set()
    gated.future.result()
    assert gated.future._get_snapshot() == (True, False, 3, None)
    failing = fail()
    failing.wait()
    done, cancelled, result, exception = failing._get_snapshot()
    assert (done, cancelled, result) == (True, False, None)
    assert isinstance(exception, dt.TaskFailed)


def test_what_only_the_runtime_may_do():
    future = square(1)
    for refused in (lambda: future.set_result(1), lambda: future.set_exception(None)):
        with pytest.raises(futures.InvalidStateError, match="square"):
            refused()
    with pytest.raises(futures.InvalidStateError):
        future.set_running_or_notify_cancel()
    with pytest.raises(TypeError):
        dt.Future()
    with pytest.raises(TypeError):
        type("Derived", (dt.Future,), {})
    with pytest.raises(TypeError, match="no future"):
        dt.Future.result(object.__new__(futures.Future))
    with pytest.raises(TypeError, match="send its result"):
        pickle.dumps(future)
    dt.wait(future)


def test_futures_leave_nothing_behind():
    def use():
        made = [square(number) for number in range(200)]
        futures.wait(made)
        made[0].add_done_callback(lambda future: None)
        dt.barrier()

    use()
    gc.collect()
    before = len(gc.get_objects())
    use()
    gc.collect()
    assert len(gc.get_objects()) <= before + 20
