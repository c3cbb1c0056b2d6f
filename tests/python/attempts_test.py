"""Attempts: which failures are tried again and when, and bodies that may run for so long and no longer."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import sys
import threading
import time

import dovetail as dt
import pytest
from dovetail import time_limit


class Flaky:
    """Fails so many times, with these exceptions in turn."""

    def __init__(self, *failures):
        self.failures, self.times = list(failures), []

    def __call__(self):
        self.times.append(time.monotonic())
        if self.failures:
            raise self.failures.pop(0)
        return len(self.times)


def test_only_some_exceptions_are_tried_again():
    flaky = Flaky(OSError(1), OSError(2), LookupError(3), OSError(4))
    future = dt.task(retries=5, retry_on=OSError, label="flaky")(flaky)()
    with pytest.raises(dt.TaskFailed, match="LookupError: 3"):
        future.result()
    assert len(flaky.times) == 3
    assert dt.task(retries=2, retry_on=(OSError, LookupError))(Flaky(OSError(), LookupError()))().result() == 3
    with pytest.raises(TypeError, match="retry_on must be a class"):
        dt.task(retries=1, retry_on="OSError")(flaky)


@pytest.mark.parametrize("kind", [dt.task, dt.io])
def test_the_delay_doubles(kind):
    flaky = Flaky(OSError(), OSError())
    assert kind(retries=2, retry_delay=0.05)(flaky)().result() == 3
    first, second, third = flaky.times
    assert second - first >= 0.05
    assert third - second >= 0.1


def test_a_task_that_waits_for_its_next_attempt_holds_no_worker():
    flaky = Flaky(OSError(), OSError())
    with dt.Runtime(workers=1):
        future = dt.task(retries=2, retry_delay=1000)(flaky)()
        while not flaky.times:
            time.sleep(0)
        assert dt.task(abs)(-1).result(timeout=60) == 1
        future.cancel()
        with pytest.raises(dt.TaskFailed):
            future.result(timeout=60)
    assert len(flaky.times) == 1


def _in_other_process(path):
    with open(path, "a") as file:
        file.write("x")
    if os.stat(path).st_size < 3:
        raise OSError("again")
    raise LookupError("enough")


def test_attempts_of_process_tasks_and_coroutines(tmp_path):
    path = str(tmp_path / "attempts")
    future = dt.task(process=True, retries=9, retry_on=OSError)(_in_other_process)(path)
    with pytest.raises(dt.TaskFailed, match="enough"):
        future.result()
    assert os.stat(path).st_size == 3
    flaky = Flaky(OSError(), LookupError())

    async def body():
        return flaky()

    with pytest.raises(dt.TaskFailed, match="LookupError"):
        dt.task(retries=9, retry_on=OSError)(body)().result()
    assert len(flaky.times) == 2


def _spin():
    while True:
        pass


def _limit_exceeded(future):
    with pytest.raises(dt.TaskFailed, match="longer than its time limit of 0.05 s") as failure:
        future.result(timeout=60)
    assert isinstance(failure.value.__cause__, dt.TimeLimitExceeded)


@pytest.mark.parametrize("kind", [dt.task, dt.io])
def test_a_body_that_computes_too_long(kind):
    _limit_exceeded(kind(time_limit=0.05)(_spin)())
    # What comes next on the thread is not told.
    assert dt.wait([kind(time_limit=60)(lambda n=n: n)() for n in range(50)]) == list(range(50))


def test_a_body_that_goes_on_all_the_same():
    @dt.task(time_limit=0.05)
    def stubborn():
        try:
            _spin()
        except TimeoutError:
            return "done"

    _limit_exceeded(stubborn())


def test_an_exception_that_comes_at_the_very_end_is_taken_back():
    watch, bodies = time_limit._Watch(), []
    end = time_limit._Watch.end
    source, first = inspect.getsourcelines(end)
    line = first + next(number for number, text in enumerate(source) if "with self._lock" in text)

    def waits_for_the_lock():
        frame = sys._current_frames().get(bodies[0].number)
        return frame is not None and frame.f_code is end.__code__ and frame.f_lineno == line

    gate = threading.Event()

    @dt.io
    def late():
        running = watch.begin(1000)
        bodies.append(running)
        gate.wait()
        watch.end(running)
        return sum(range(1000))

    future = late()
    while not bodies:
        time.sleep(0)
    with watch._lock:
        gate.set()
        while not waits_for_the_lock():
            time.sleep(0)
        bodies[0].exceeded = True
        dt._core.raise_in_body(bodies[0].number, dt.TimeLimitExceeded)
    assert future.result() == 499500


def test_a_body_that_waits_too_long():
    gate = threading.Event()
    held = dt.io(gate.wait)()

    @dt.task(time_limit=0.05)
    def slow():
        while True:  # on a busy machine it is told later
            held.wait(0.2)

    _limit_exceeded(slow())
    gate.set()


def test_limits_and_ends_at_the_same_time():
    """A body gets the exception or ends, never later than that: no other body sees it."""

    @dt.task(time_limit=0.001)
    def about_as_long(stop):
        while time.monotonic() < stop:
            pass
        return "done"

    @dt.task
    def innocent():
        return sum(range(100))

    with dt.Runtime(workers=1):
        for _ in range(100):
            limited = about_as_long(time.monotonic() + 0.001)
            others = [innocent() for _ in range(5)]
            assert dt.wait(others) == [4950] * 5
            error = limited.exception()
            assert error is None or isinstance(error.__cause__, dt.TimeLimitExceeded)


def test_a_coroutine_that_waits_too_long():
    @dt.task(time_limit=0.05)
    async def slow():
        await asyncio.sleep(60)

    @dt.task(time_limit=60)
    async def own():
        raise TimeoutError("of the program")

    _limit_exceeded(slow())
    assert "of the program" in str(own().exception())


def _sleep_in_the_kernel():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    time.sleep(60)


def test_a_process_task_is_killed_and_others_go_on():
    limited = dt.task(process=True, time_limit=0.05)
    quick = dt.task(process=True)(abs)
    slow = [limited(_sleep_in_the_kernel)() for _ in range(2)]
    assert dt.wait([quick(-n) for n in range(20)]) == list(range(20))
    for future in slow:
        _limit_exceeded(future)
    assert limited(abs)(-3).result() == 3


def test_wrong_options():
    for alone in ({"retry_delay": 1}, {"retry_on": OSError}):
        with pytest.raises(ValueError, match="give retries="):
            dt.task(**alone)(abs)
    for wrong in ({"time_limit": 0}, {"time_limit": -1}, {"time_limit": "1"}, {"retry_delay": float("nan")}):
        with pytest.raises(ValueError, match="s"):
            dt.task(**wrong)(abs)
    with pytest.raises(TypeError, match="limit must be"):
        dt.task(limit="3")(abs)
