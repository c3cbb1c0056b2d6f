"""`with dt.group():`"""

from __future__ import annotations

import threading

import dovetail as dt
import pytest


@dt.task
def square(x):
    return x * x


@dt.task
def fail(x):
    raise LookupError(x)


def test_a_group_waits_for_its_tasks():
    gate = threading.Event()
    ran = []

    @dt.io
    def note(number):
        gate.wait()
        ran.append(number)

    outside = dt.io(gate.wait)()
    with dt.group():
        for number in range(10):
            note(number)
        with dt.group():
            assert square(3).result() == 9
        assert ran == []
        gate.set()
    assert sorted(ran) == list(range(10))
    dt.wait(outside)


def test_the_first_failure_cancels_the_others_and_is_raised():
    begun, ran, asked = threading.Event(), [], []

    @dt.io
    def hold():
        begun.set()
        while not dt.cancelled():
            pass
        asked.append(1)

    @dt.task
    def never(after):
        ran.append(1)

    with pytest.raises(dt.TaskFailed, match="LookupError: 1") as failure, dt.group():
        held = hold()
        waiting = [never(held) for _ in range(10)]
        failing = [fail(1)]
        failing[0].wait()
        failing.append(fail(2))
        failing[1].wait()
        begun.wait()
    assert (ran, asked) == ([], [1])
    assert all(future.cancelled() for future in waiting)
    assert any("1 other" in note for note in failure.value.__notes__)
    dt.barrier()  # nothing is left to be told


def test_an_exception_in_the_block_cancels_and_waits():
    gate = threading.Event()

    @dt.io
    def hold():
        gate.wait()

    with pytest.raises(ZeroDivisionError), dt.group() as group:
        held = hold()
        waiting = square(held)
        threading.Timer(0.01, gate.set).start()
        1 / 0  # noqa: B018
    assert held.done()
    assert waiting.cancelled()
    with pytest.raises(RuntimeError, match="once"), group:
        pass


def test_a_group_belongs_to_the_code_that_enters_it():
    """Tasks of other threads, and those that its tasks make, are not its own."""
    gate, made = threading.Event(), []

    @dt.task
    def makes():
        made.append(dt.io(gate.wait)())
        return None

    def other():
        made.append(dt.io(gate.wait)())

    with dt.group() as group:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        square(1)
        assert len(group._futures) == 1
    gate.set()
    dt.barrier()


def test_a_group_in_a_task_on_one_worker():
    @dt.task
    def body():
        with dt.group() as group:
            futures = [square(n) for n in range(3000)]
            assert len(group._futures) <= 3000
        return sum(future.result() for future in futures)

    with dt.Runtime(workers=1):
        assert dt.gather(body(), body()) == [sum(n * n for n in range(3000))] * 2


def test_cancelling_a_group():
    gate = threading.Event()
    with dt.group() as group:
        held = dt.io(gate.wait)()
        waiting = square(held)
        group.cancel()
        late = square(held)
        gate.set()
    assert waiting.cancelled()
    assert late.cancelled()
