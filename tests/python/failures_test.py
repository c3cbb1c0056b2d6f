"""What a program is told when tasks fail."""

from __future__ import annotations

import threading
import traceback

import dovetail as dt
import numpy as np
import pytest


class Mistake(Exception):
    pass


@dt.task(label="the bad one")
def bad(text="boom"):
    deep = text
    raise Mistake(deep)


@dt.task
def increment(x):
    return x + 1


def test_the_users_exception_is_the_cause_and_the_label_is_in_the_text():
    with pytest.raises(dt.TaskFailed, match="the bad one.*Mistake: boom") as failure:
        dt.wait(bad())
    assert type(failure.value.__cause__) is Mistake
    assert failure.value.label == "the bad one"
    assert not failure.value.cancelled
    text = "".join(traceback.format_exception(failure.value))
    assert "raise Mistake(deep)" in text and "failures_test.py" in text


@pytest.mark.parametrize("output_first", [True, False])
def test_what_was_never_produced_is_not_read_where_it_is_written_too(output_first):
    """One object in two parameters: the order of the parameters means nothing, for failures neither."""
    values = np.zeros(8)
    ran = []

    @dt.task(out=dt.OUT)
    def produce(out):
        raise Mistake("not produced")

    @dt.task(out=dt.OUT, a=dt.IN)
    def add(out, a):
        ran.append("add")
        out += a

    @dt.task(out=dt.OUT, a=dt.IN)
    def add_to(a, out):
        ran.append("add_to")
        out += a

    produce(values)
    (add if output_first else add_to)(values, values)
    with pytest.raises(dt.TaskFailed, match="not produced"):
        dt.barrier()
    assert ran == []


def test_successors_are_cancelled_with_the_first_cause():
    ran = []

    @dt.task
    def after(x):
        ran.append(x)

    with pytest.raises(dt.TaskFailed, match="'after' was cancelled because task 'the bad one'") as failure:
        dt.wait(after(increment(bad())))
    assert failure.value.cancelled
    assert isinstance(failure.value.__cause__, Mistake)
    assert ran == []


def test_a_failed_writer_poisons_what_it_should_have_written_until_that_is_written_anew():
    array = np.zeros(3)

    @dt.task(a=dt.INOUT)
    def break_it(a):
        raise Mistake("half")

    @dt.task(a=dt.OUT)
    def fill(a):
        a[...] = 7

    @dt.task
    def total(a):
        return a.sum()

    break_it(array)
    with pytest.raises(dt.TaskFailed, match="break_it"):
        dt.wait(total(array))
    with pytest.raises(dt.TaskFailed, match="break_it") as failure:
        dt.wait(array)
    assert isinstance(failure.value.__cause__, Mistake)
    fill(array)
    assert dt.wait(total(array)) == 21


def test_retries_run_the_body_again_with_its_arguments():
    tries = []

    @dt.task(retries=3)
    def flaky(x, *, key):
        tries.append((x, key))
        if len(tries) < 3:
            raise Mistake("not yet")
        return x

    assert dt.wait(flaky(increment(1), key=["a"])) == 2
    assert tries == [(2, ["a"])] * 3

    @dt.task(on_failure="retry")
    def never():
        tries.append(None)
        raise Mistake("never")

    tries.clear()
    with pytest.raises(dt.TaskFailed, match="never"):
        dt.wait(never())
    assert len(tries) == 3


def test_an_ignored_failure_is_told_to_who_asks_and_to_nobody_else():
    array = np.zeros(2)

    @dt.task(a=dt.INOUT, on_failure="ignore")
    def shrug(a):
        raise Mistake("whatever")

    @dt.task(a=dt.INOUT)
    def go_on(a):
        a += 1

    future = shrug(array)
    go_on(array)
    assert dt.wait(array)[0] == 1
    dt.barrier()
    with pytest.raises(dt.TaskFailed):
        dt.wait(future)


def test_barrier_raises_what_nobody_asked_for_once():
    bad("first")
    with pytest.raises(dt.TaskFailed, match="first"):
        dt.barrier()
    dt.barrier()
    future = bad("second")
    with pytest.raises(dt.TaskFailed, match="second"):
        dt.wait(future)
    dt.barrier()


def test_a_child_that_fails_fails_its_parent_unless_the_parent_takes_it():
    @dt.task
    def careless():
        bad("child")

    @dt.task
    def careful():
        try:
            dt.wait(bad("child"))
        except dt.TaskFailed as failure:
            return str(failure.__cause__)

    assert dt.wait(careful()) == "child"
    with pytest.raises(dt.TaskFailed, match="child") as failure:
        dt.wait(careless())
    assert isinstance(failure.value.__cause__, Mistake)


def test_what_is_not_an_exception_of_the_user_fails_the_task_too():
    @dt.task
    def leave():
        raise SystemExit(3)

    @dt.task
    def interrupted():
        raise KeyboardInterrupt

    for task, kind in ((leave, SystemExit), (interrupted, KeyboardInterrupt)):
        with pytest.raises(dt.TaskFailed) as failure:
            dt.wait(task())
        assert isinstance(failure.value.__cause__, kind)


def test_wrong_arguments_of_a_call_fail_the_task():
    with pytest.raises(dt.TaskFailed, match="increment.*missing 1 required positional argument"):
        dt.wait(increment())


def test_cancelling_what_has_not_begun_and_asking_what_runs():
    gate, seen = threading.Event(), threading.Event()

    @dt.io(x=dt.INOUT)
    def first(x):
        seen.set()
        gate.wait()
        return dt.cancelled()

    @dt.io(x=dt.INOUT)
    def second(x):
        return "ran"

    thing = [0]
    one, two = first(thing), second(thing)
    seen.wait()
    one.cancel()
    two.cancel()
    gate.set()
    assert dt.wait(one) is True
    with pytest.raises(dt.TaskFailed, match="cancelled") as failure:
        dt.wait(two)
    assert failure.value.cancelled


def test_tasks_that_wait_for_each_other_are_reported_and_do_not_hang(run_program):
    result = run_program(
        """
import dovetail as dt

box = []

@dt.task
def wait_for_other(i):
    while len(box) < 2:
        pass
    return dt.wait(box[1 - i])

with dt.Runtime(workers=2, stuck_after=0.1):
    box += [wait_for_other(0), wait_for_other(1)]
    try:
        dt.wait(box[0])
    except (dt.Stuck, dt.TaskFailed) as error:
        print(type(error).__name__, "wait_for_other" in str(error))
"""
    )
    assert result.stdout.endswith("True\n"), result.stderr


def test_a_failure_that_nobody_asked_for_is_printed_at_the_end(run_program):
    result = run_program(
        """
import dovetail as dt

@dt.task(label="lost")
def body():
    raise ValueError("nobody looks")

body()
"""
    )
    assert "ValueError: nobody looks" in result.stderr
    assert "task 'lost' failed" in result.stderr
    assert "raise ValueError" in result.stderr


def test_an_exception_of_the_program_cancels_what_has_not_begun(run_program):
    result = run_program(
        """
import dovetail as dt

@dt.task(x=dt.INOUT)
def body(x):
    x.append(1)

x = []
try:
    with dt.Runtime(workers=1):
        raise RuntimeError("mine")
except RuntimeError as error:
    print(error)
"""
    )
    assert result.stdout == "mine\n", result.stderr
