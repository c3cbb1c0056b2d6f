"""`dt.Executor` by the interface of PEP 3148, and what goes over many futures: `gather`, `as_completed`, `map`, `limit`."""

from __future__ import annotations

import asyncio
import concurrent.futures as futures
import threading
import time
import weakref

import dovetail as dt
import pytest


class Counter:
    """How many callers are inside at once."""

    def __init__(self):
        self._lock, self._now, self.most = threading.Lock(), 0, 0

    def __enter__(self):
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)

    def __exit__(self, *_):
        with self._lock:
            self._now -= 1


def divide(a, b=1):
    return a / b


@pytest.mark.parametrize("options", [{}, {"io": False}, {"process": True}, {"max_workers": 2}])
def test_submit_and_map(options):
    with dt.Executor(**options) as executor:
        assert isinstance(executor, futures.Executor)
        future = executor.submit(divide, 6, b=3)
        assert isinstance(future, dt.Future)
        assert future.label == "divide"
        assert future.result() == 2
        failing = executor.submit(divide, 1, 0)
        assert isinstance(failing.exception(), ZeroDivisionError)
        with pytest.raises(ZeroDivisionError):
            failing.result()
        assert list(executor.map(divide, [2, 4], [1, 2])) == [2, 2]
        assert list(executor.map(divide, range(10), chunksize=3)) == list(range(10))
        results = executor.map(divide, [1, 2, 3], [1, 0, 1])
        assert next(results) == 1
        with pytest.raises(ZeroDivisionError):
            next(results)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(divide, 1)


def test_arguments_arrive_as_they_are():
    with dt.Executor() as executor:
        inner = executor.submit(divide, 1)
        box = [inner]
        assert executor.submit(lambda x, y: (x is inner, y is box, y[0].result()), inner, box).result() == (
            True,
            True,
            1,
        )


def test_a_failure_that_nobody_asks_for_is_not_told(run_program):
    result = run_program(
        """
import dovetail as dt
executor = dt.Executor()
executor.submit(lambda: 1 / 0)
"""
    )
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("io", [True, False])
def test_no_more_than_max_workers_at_once(io):
    inside, gate = Counter(), threading.Event()

    def enter():
        with inside:
            return gate.wait(60)

    with dt.Runtime(workers=2), dt.Executor(2, io=io) as executor:
        made = [executor.submit(enter) for _ in range(8)]
        while inside.most < 2:
            time.sleep(0)
        assert sum(future.running() for future in made) == 2
        gate.set()
        assert all(future.result() for future in made)
    assert inside.most == 2


def test_shutdown_waits_or_cancels():
    gate, begun = threading.Event(), threading.Event()

    def hold():
        begun.set()
        gate.wait()

    executor = dt.Executor(1)
    first, *others = [executor.submit(hold) for _ in range(5)]
    begun.wait()
    executor.shutdown(wait=False, cancel_futures=True)
    assert first.running()
    assert all(future.cancelled() for future in others)
    gate.set()
    executor.shutdown()
    assert first.done()


def test_what_is_submitted_in_a_task_belongs_to_no_task():
    gate = threading.Event()
    executor = dt.Executor()

    @dt.task
    def submits():
        return [executor.submit(gate.wait)]  # in a list: the future itself, not yet its value

    task = submits()
    assert task.wait(timeout=60)  # though what it submitted runs
    gate.set()
    executor.shutdown()


def test_results_are_not_kept():
    class Result:
        pass

    with dt.Executor() as executor:
        for result in executor.map(lambda _: Result(), range(5)):
            seen = weakref.ref(result)
            del result
            assert seen() is None


def test_the_end_of_the_program(run_program):
    result = run_program(
        """
import atexit

@atexit.register
def last():
    try:
        executor.submit(id, 1)
    except RuntimeError as error:
        print(error)

import time
import dovetail as dt

def say(word):
    time.sleep(0.1)
    print(word, flush=True)

executor = dt.Executor(1)
executor.submit(say, "first")
executor.submit(say, "second")
executor.shutdown(wait=False)
executor = dt.Executor()
"""
    )
    assert result.stdout.splitlines() == ["first", "second", "cannot schedule new futures after interpreter shutdown"]
    assert result.stderr == ""


def test_run_in_executor():
    async def main():
        loop = asyncio.get_running_loop()
        with dt.Executor(3) as executor:
            calls = [loop.run_in_executor(executor, divide, n) for n in range(10)]
            assert await asyncio.gather(*calls) == list(range(10))
            with pytest.raises(ZeroDivisionError):
                await loop.run_in_executor(executor, divide, 1, 0)

    asyncio.run(main())


def test_wrong_options():
    for wrong in (0, -1, 1.5):
        with pytest.raises(ValueError, match="max_workers must be greater than 0"):
            dt.Executor(wrong)
    with pytest.raises(ValueError, match="chunksize"), dt.Executor() as executor:
        executor.map(divide, [1], chunksize=0)


@dt.task
def square(x):
    return x * x


@dt.task
def reject(x):
    raise LookupError(x)


def test_gather():
    assert dt.gather(square(2), [square(3)], 5) == [4, [9], 5]
    with pytest.raises(dt.TaskFailed):
        dt.gather(square(1), reject(1))
    one, error = dt.gather(square(1), reject(1), return_exceptions=True)
    assert one == 1
    assert isinstance(error, dt.TaskFailed)


def test_as_completed():
    gate = threading.Event()
    held = dt.io(gate.wait)()
    made = [square(n) for n in range(20)]
    order = dt.as_completed([held, *made, made[0]], timeout=60)
    assert {next(order) for _ in made} == set(made)
    with pytest.raises(TimeoutError, match="1 of 1"):
        next(dt.as_completed([held], timeout=0.001))
    cancelled = square(held)
    cancelled.cancel()
    assert next(dt.as_completed([held, cancelled])) is cancelled
    gate.set()
    assert list(order) == [held]


def test_as_completed_in_tasks_on_one_worker():
    @dt.task
    def total():
        return sum(future.result() for future in dt.as_completed([square(n) for n in range(50)]))

    with dt.Runtime(workers=1):
        assert dt.gather(*(total() for _ in range(5))) == [sum(n * n for n in range(50))] * 5


@pytest.mark.parametrize("chunk", [1, 7])
def test_map_is_lazy_and_ordered(chunk):
    taken = []

    def numbers():
        for number in range(1000):
            taken.append(number)
            yield number

    results = dt.map(lambda a, b: a + b, numbers(), range(10_000), chunk=chunk, window=50)
    assert taken == []
    assert next(results) == 0
    assert len(taken) <= 60
    assert list(results) == [2 * number for number in range(1, 1000)]


def test_map_by_a_task_and_in_processes():
    assert list(dt.map(square, range(5))) == [0, 1, 4, 9, 16]
    assert list(dt.map(dt.task(process=True)(divide), range(10), chunk=4)) == list(range(10))


def test_map_ends_with_a_failure_and_cancels_the_rest():
    gate, ran = threading.Event(), []

    @dt.io(limit=1)
    def body(number):
        ran.append(number)
        if number == 1:
            raise LookupError(number)
        if number > 1:
            gate.wait()

    results = dt.map(body, range(100))
    assert next(results) is None
    with pytest.raises(dt.TaskFailed, match="LookupError: 1"):
        next(results)
    gate.set()
    dt.barrier()
    assert len(ran) <= 3
    for wrong in ({"chunk": 0}, {"window": 0}, {"chunk": 1.5}):
        with pytest.raises(ValueError, match="above 0"):
            dt.map(square, [1], **wrong)
    with pytest.raises(TypeError):
        dt.map(square)
    with pytest.raises(ValueError, match="2 futures"):
        dt.map(dt.task(returns=2)(divmod), [1])


def test_a_limit_of_several_tasks():
    inside, limit = Counter(), dt.Limit(3)

    def body():
        with inside:
            time.sleep(0.001)

    one, two = dt.task(limit=limit)(body), dt.io(limit=limit)(body)
    dt.wait([task() for _ in range(30) for task in (one, two)])
    assert inside.most <= 3
    assert limit.most == 3
    with pytest.raises(ValueError, match="at least 1"):
        dt.task(limit=0)(body)


def test_a_place_is_given_back_however_the_task_ends():
    gate, limit = threading.Event(), dt.Limit(1)

    @dt.io(limit=limit, retries=2)
    def fail():
        raise LookupError

    @dt.io(limit=limit)
    def hold():
        gate.wait()

    held = hold()
    waiting = [hold() for _ in range(5)]
    for future in waiting:
        future.cancel()
    failing = [fail() for _ in range(5)]
    after_failure = dt.task(limit=limit)(divide)(failing[0])
    gate.set()
    dt.wait(held)
    for future in (*failing, after_failure):
        assert isinstance(future.exception(timeout=60), dt.TaskFailed)
    assert dt.task(limit=limit)(divide)(1).result(timeout=60) == 1


def test_a_task_that_waits_for_another_family_holds_no_place():
    """It would keep the other from its place for ever."""
    limit, gate = dt.Limit(1), threading.Event()
    limited = dt.task(limit=limit)(divide)
    held = dt.io(gate.wait)()
    first = limited(held)  # waits for the gate

    @dt.task
    def family():
        second = limited(first)
        gate.set()
        return second

    assert dt.wait(family(), timeout=60) == 1
