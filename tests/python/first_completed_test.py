"""Callbacks of futures, and waiting for the first of several."""

from __future__ import annotations

import threading

import dovetail as dt
import pytest


def test_a_callback_is_called_once_with_its_future():
    gate = threading.Event()

    @dt.io
    def wait_for_gate(x):
        gate.wait()
        return x

    called = []
    future = wait_for_gate(5)
    for number in range(3):
        future.add_done_callback(lambda done, number=number: called.append((number, done is future, done.result())))
    assert called == []
    gate.set()
    dt.wait(future)
    dt.barrier()
    expected = [(number, True, 5) for number in range(3)]
    assert called == expected
    future.add_done_callback(lambda done: called.append("at once"))
    assert called == [*expected, "at once"]
    with pytest.raises(TypeError):
        future.add_done_callback(7)


def test_a_callback_of_a_task_that_failed_and_of_one_that_never_ran():
    gate = threading.Event()

    @dt.io
    def fail():
        gate.wait()
        raise LookupError

    @dt.task
    def after(x):
        return x

    seen = []
    first = fail()
    second = after(first)
    first.add_done_callback(lambda future: seen.append(("first", future.done())))
    second.add_done_callback(lambda future: seen.append(("second", future.done())))
    gate.set()
    for future in (first, second):
        with pytest.raises(dt.TaskFailed):
            dt.wait(future)
    dt.barrier()
    assert sorted(seen) == [("first", True), ("second", True)]


def test_what_a_callback_raises_is_logged_and_changes_nothing(caplog):
    gate = threading.Event()
    future = dt.io(gate.wait)()
    reached = []

    def broken(_future):
        raise ValueError("in the callback")

    future.add_done_callback(broken)
    future.add_done_callback(reached.append)
    gate.set()
    dt.wait(future)
    dt.barrier()
    assert reached == [future]
    (record,) = caplog.records
    assert record.name == "dovetail"
    assert record.levelname == "ERROR"
    assert "broken" in record.getMessage()
    assert repr(record.exc_info[1]) == "ValueError('in the callback')"


def test_a_wait_in_a_callback_is_refused():
    refused = []
    gate, held = threading.Event(), threading.Event()
    future, waits = dt.io(gate.wait)(), dt.io(held.wait)()

    def wait(_future):
        try:
            dt.wait(waits)
        except Exception as error:
            refused.append(str(error))
        held.set()

    future.add_done_callback(wait)
    gate.set()
    dt.wait(waits)
    dt.barrier()
    assert len(refused) == 1
    assert "a callback or an onready would wait for task 'wait'" in refused[0]


def test_callbacks_from_many_threads():
    calls = []
    lock = threading.Lock()

    def note(future):
        with lock:
            calls.append(future)

    @dt.task
    def compute(number):
        return number

    def make(first):
        for number in range(first, first + 100):
            compute(number).add_done_callback(note)

    threads = [threading.Thread(target=make, args=(100 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    dt.barrier()
    assert sorted(future.result() for future in calls) == list(range(400))


def test_waiting_for_the_first_of_several():
    gates = [threading.Event(), threading.Event()]

    @dt.io
    def wait_for(number):
        gates[number].wait()
        return number

    futures = [wait_for(0), wait_for(1)]
    assert dt.wait_for_any(futures, timeout=0.001) is None
    assert futures[0].wait(timeout=0.001) is False

    @dt.task
    def in_a_task():
        return dt.wait_for_any(futures[1:])

    in_task = in_a_task()
    gates[1].set()
    assert dt.wait_for_any(iter(futures)) == 1
    assert futures[1].wait(timeout=3600) is True
    assert dt.wait(in_task) == 0
    gates[0].set()
    assert dt.wait(futures) == [0, 1]
    assert dt.wait_for_any(futures, timeout=0) == 0
    with pytest.raises(ValueError, match="nothing to wait for"):
        dt.wait_for_any([])
    with pytest.raises(TypeError, match="not for a value of type 'int'"):
        dt.wait_for_any([1])


def test_ctrl_c_ends_a_wait_for_any(run_program):
    result = run_program(
        """
        import os, signal, threading
        import dovetail as dt

        gate = threading.Event()
        future = dt.io(gate.wait)()
        try:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            dt.wait_for_any([future])
        except KeyboardInterrupt:
            print("interrupted")
        gate.set()
        """.replace("\n        ", "\n")
    )
    assert "interrupted" in result.stdout, result.stderr
