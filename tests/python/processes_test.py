"""Tasks in worker processes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
from contextlib import suppress

import dovetail as dt
import numpy as np
import pytest
from dovetail import processes


@pytest.fixture(scope="module", autouse=True)
def pool():
    yield
    started = processes.worker_processes()
    processes.kill_all()
    for process in started:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@dt.task(process=True)
def where(*_):
    return os.getpid()


@dt.task(process=True)
def total(array):
    return float(array.sum())


@dt.task(process=True)
def make(n):
    return np.arange(n, dtype=float)


def test_bodies_run_elsewhere_and_their_results_are_dependencies():
    offset = 10

    @dt.task(process=True)
    def shifted(x):
        return x + offset

    assert os.getpid() not in dt.wait([where() for _ in range(4)])
    future = 0
    for _ in range(20):
        future = shifted(future)
    assert dt.wait(future) == 200
    assert dt.wait(shifted(x=dt.wait(shifted(1)))) == 21


def test_arrays_are_shared_and_results_come_back_without_a_copy():
    assert dt.wait(total(np.ones(100_000))) == 100_000
    assert dt.wait(total(np.ones((300, 300), order="F")[::2])) == 150 * 300
    made = dt.wait(make(100_000))
    assert made[-1] == 99_999
    # It lies where the worker put it, and is not copied to be handed over again, unless it is changed here.
    from dovetail.shared_memory import file_with

    assert file_with(made) is not None
    made[0] = 5
    assert dt.wait(total(made)) == 5 + sum(range(100_000))
    assert dt.wait(total(make(200_000))) == sum(range(200_000))


def test_what_a_task_changes_is_changed_here():
    class Thing:
        pass

    @dt.task(process=True, a=dt.INOUT, small=dt.OUT, values=dt.INOUT, table=dt.INOUT, thing=dt.INOUT)
    def change(a, small, values, table, thing):
        a += 1
        small[...] = 7
        values.append(len(values))
        values[0] += 1
        table["x"] = table.get("x", 0) + 1
        thing.n += 1
        return a[0]

    big, small, values, table, thing = np.zeros(50_000), np.zeros(3), [np.zeros(2)], {"gone": 1}, Thing()
    thing.n = 0
    alias, inner = big, values[0]
    for _ in range(5):
        last = change(big, small, values, table=table, thing=thing)
    assert dt.wait(last) == 5
    dt.wait([big, small, values, table, thing])
    assert alias is big and big.sum() == 250_000 and small.tolist() == [7, 7, 7]
    assert values[0] is inner and inner.tolist() == [5, 5] and values[1:] == [1, 2, 3, 4, 5]
    assert table == {"gone": 1, "x": 5} and thing.n == 5


def test_objects_dates_and_large_messages():
    @dt.task(process=True)
    def same(x):
        return x

    dates = np.array(["2020-01-01"] * 20_000, "datetime64[D]")
    objects = np.array([{"a": 1}, None], object)
    assert (dt.wait(same(dates)) == dates).all()
    assert dt.wait(same(objects)).tolist() == objects.tolist()
    text = "x" * 5_000_000
    assert dt.wait(same(text)) == text
    assert len(dt.wait(same([np.zeros(10_000) for _ in range(20)]))) == 20
    assert dt.wait(same({"a": (1, [2.5, "b"], {3})})) == {"a": (1, [2.5, "b"], {3})}


def test_an_argument_that_cannot_travel_is_named():
    @dt.task(process=True)
    def body(x, lock, *rest, key=None):
        return x

    for call in (lambda: body(1, threading.Lock()), lambda: body(1, lock=threading.Lock())):
        with pytest.raises(dt.TaskFailed, match=r"argument 'lock' \(a 'lock'\) of task 'body'") as failure:
            dt.wait(call())
        assert isinstance(failure.value.__cause__, TypeError)
    with pytest.raises(dt.TaskFailed, match=r"argument '\*args\[0\]'"):
        dt.wait(body(1, 2, threading.Lock()))


def test_a_result_or_an_exception_that_cannot_travel_is_told():
    @dt.task(process=True)
    def body():
        return threading.Lock()

    class Odd(Exception):
        def __init__(self, a, b):
            super().__init__(a)
            self.lock = threading.Lock()

    @dt.task(process=True)
    def odd():
        raise Odd(1, 2)

    with pytest.raises(dt.TaskFailed, match="pickle"):
        dt.wait(body())
    with pytest.raises(dt.TaskFailed, match="Odd"):
        dt.wait(odd())


def test_an_exception_brings_its_traceback():
    @dt.task(process=True)
    def divide(a, b):
        return a / b

    with pytest.raises(dt.TaskFailed, match="divide") as failure:
        dt.wait(divide(1, 0))
    cause = failure.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert "return a / b" in str(cause.__cause__) and "processes_test.py" in str(cause.__cause__)


def test_bodies_use_the_globals_of_now(run_program):
    result = run_program(
        """
import functools

import dovetail as dt

factor = 6

def helper(x):
    return x * factor

def partly(a, b):
    return helper(a) + b

calls_partly = functools.partial(partly, 1)

@dt.task(process=True)
def g(x):
    return helper(x), later(x) if "later" in globals() else None, calls_partly(1)

def counter():
    count = 0

    @dt.task(process=True)
    def step():
        return count

    def up():
        nonlocal count
        count += 1

    return step, up

with dt.Runtime(workers=2):
    print([dt.wait(g(1)) for _ in range(3)])
    factor = 7
    print([dt.wait(g(1)) for _ in range(3)])
    def helper(x):
        return -x
    print(dt.wait([g(1) for _ in range(20)]) == [(-1, None, 0)] * 20)
    def later(x):
        return "later"
    print(dt.wait(g(1)))
    step, up = counter()
    print(dt.wait(step()))
    up()
    print(dt.wait(step()))
"""
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "[(6, None, 7), (6, None, 7), (6, None, 7)]",
        "[(7, None, 8), (7, None, 8), (7, None, 8)]",
        "True",
        "(-1, 'later', 0)",
        "0",
        "1",
    ]


def test_a_function_is_sent_again_only_when_it_has_changed():
    from dovetail.used_names import UsedNames

    names = {"__name__": "__main__", "value": (first := object())}
    exec("def uses():\n    return [value for _ in range(3)]", names)
    used = UsedNames(names["uses"])
    assert not used.have_changed()
    names["value"] = object()
    assert used.have_changed()
    names["value"] = first
    assert not used.have_changed()
    # What the receiver imports is not looked into.
    assert not UsedNames(subprocess.run)._globals


def test_a_process_that_is_killed_is_reported_and_the_next_task_has_another():
    @dt.task(process=True)
    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    @dt.task(process=True)
    def leave():
        os._exit(7)

    others = [where() for _ in range(20)]
    with pytest.raises(dt.TaskFailed, match="killed by SIGKILL.*task 'die'") as failure:
        dt.wait(die())
    assert isinstance(failure.value.__cause__, processes.WorkerProcessDied)
    with pytest.raises(dt.TaskFailed, match="ended with status 7"):
        dt.wait(leave())
    assert len(dt.wait(others)) == 20
    assert dt.wait(where()) != os.getpid()


def test_a_killed_task_is_retried(tmp_path):
    @dt.task(process=True, retries=1)
    def die_once(mark):
        if not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return "survived"

    # The tasks behind it in the same process are run again without having failed.
    behind = [where() for _ in range(50)]
    future = die_once(str(tmp_path / "mark"))
    behind += [where() for _ in range(50)]
    assert dt.wait(future) == "survived"
    assert len(dt.wait(behind)) == 100


def test_many_processes_hand_arrays_on():
    @dt.task(process=True)
    def step(a, b):
        return a + b

    arrays = [make(10_000) for _ in range(8)]
    for _ in range(3):
        arrays = [step(arrays[i], arrays[i - 1]) for i in range(8)]
    assert all(array[-1] == 8 * 9999 for array in dt.wait(arrays))


def test_workers_end_with_a_program_that_is_killed(run_program):
    result = run_program(
        """
import os, signal, time
import dovetail as dt
from dovetail import processes

@dt.task(process=True)
def forever():
    while True:
        pass

@dt.task(process=True)
def pid():
    return os.getpid()

print(dt.wait(pid()), flush=True)
forever()
while not processes._pool._workers or not any(w.jobs for w in processes._pool._workers):
    time.sleep(0.001)
os.kill(os.getpid(), signal.SIGKILL)
"""
    )
    process = int(result.stdout.split()[0])
    # It is no child of this process, and may be gone already. The alarm ends a wait for one that goes on.
    with suppress(ProcessLookupError):
        descriptor = os.pidfd_open(process)
        select.select([descriptor], [], [])
        os.close(descriptor)
