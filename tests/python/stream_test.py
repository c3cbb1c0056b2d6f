"""Generators as tasks: `@dt.task(stream=...)`."""

from __future__ import annotations

import gc
import threading

import dovetail as dt
import pytest


@dt.task(stream=4)
def numbers(count, first=0):
    for number in range(count):
        yield first + number


@dt.task
def double(x):
    return 2 * x


@pytest.mark.parametrize("kind", [dt.task, dt.io])
def test_items_come_in_order_while_the_body_runs(kind):
    reached = []

    @kind(stream=3)
    def body(count):
        for number in range(count):
            reached.append(number)
            yield number

    stream = body(100)
    assert isinstance(stream, dt.Stream)
    assert next(stream) == 0
    assert max(reached, default=0) <= 5  # no further ahead than the buffer
    assert list(stream) == list(range(1, 100))
    assert list(stream) == []
    assert stream.future.result() is None


def test_arguments_are_waited_for_and_the_end_can_be():
    stream = numbers(3, double(5))
    assert list(stream) == [10, 11, 12]
    assert dt.wait(dt.task(lambda end: end)(stream.future)) is None


def test_bodies_and_takers_on_one_worker():
    @dt.task
    def total(count):
        return sum(numbers(count, double(0)))

    with dt.Runtime(workers=1):
        assert dt.gather(total(50), total(20)) == [sum(range(50)), sum(range(20))]
        assert list(numbers(1000)) == list(range(1000))


def test_a_failure_comes_behind_the_items():
    @dt.task(stream=10)
    def fails():
        yield 1
        yield 2
        raise LookupError("three")

    stream = fails()
    assert (next(stream), next(stream)) == (1, 2)
    for _ in range(2):
        with pytest.raises(dt.TaskFailed, match="LookupError: three"):
            next(stream)

    @dt.task
    def predecessor():
        raise LookupError("before")

    with pytest.raises(dt.TaskFailed, match="before"):
        list(numbers(3, predecessor()))


@pytest.mark.parametrize("drop", [lambda streams: streams[0].close(), lambda streams: streams.clear()])
def test_nobody_wants_more(drop):
    ended, begun = threading.Event(), threading.Event()

    @dt.task(stream=1)
    def endless():
        try:
            number = 0
            while True:
                begun.set()
                yield number
                number += 1
        finally:
            ended.set()

    streams = [endless()]
    assert next(streams[0]) == 0
    begun.wait()
    drop(streams)
    gc.collect()
    assert ended.wait(60)
    dt.barrier()


def test_several_take():
    stream = numbers(300)
    taken = [[], [], []]
    threads = [threading.Thread(target=mine.extend, args=(stream,)) for mine in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sum(taken, [])) == list(range(300))


def test_wrong_options():
    with pytest.raises(ValueError, match="stream must be a number of items"):
        dt.task(stream=0)(lambda: iter(()))
    with pytest.raises(ValueError, match="stream is for generator functions"):
        dt.task(stream=2)(abs)
    with pytest.raises(ValueError, match="stream is for generator functions"):
        dt.task(stream=2, process=True)(numbers.function)
