"""Tasks, futures and waiting."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import weakref
from collections import namedtuple

import dovetail as dt
import numpy as np
import pytest


@dt.task
def increment(x):
    return x + 1


@dt.task
def add(*values):
    return sum(values)


def test_a_call_returns_a_future_and_its_result_is_waited_for():
    future = increment(41)
    assert isinstance(future, dt.Future)
    assert dt.wait(future) == 42
    assert future.done()
    assert future.result() == 42
    assert future.label == "increment"


def test_futures_are_dependencies_at_any_depth():
    Pair = namedtuple("Pair", "first second")

    @dt.task
    def look(values, *, key):
        return values["list"][0], values["tuple"][1], values["pair"].second, values["deep"][0]["x"][0], key

    one = increment(0)
    values = {
        "list": [one],
        "tuple": (0, increment(1)),
        "pair": Pair(0, increment(2)),
        "deep": [{"x": (increment(3),)}],
    }
    assert dt.wait(look(values, key=increment(4))) == (1, 2, 3, 4, 5)
    # What the caller handed over is as it was.
    assert values["list"][0] is one


def test_wait_takes_any_nesting_and_keeps_its_shape():
    Pair = namedtuple("Pair", "first second")
    values = dt.wait({"a": [increment(0), (increment(1), "text")], "b": Pair(increment(2), None), "c": 7})
    assert values == {"a": [1, (2, "text")], "b": Pair(3, None), "c": 7}
    assert type(values["b"]) is Pair
    assert dt.wait(None) is None
    assert dt.wait([]) == []


def test_a_chain_and_a_fan_in_of_a_thousand():
    future = 0
    for _ in range(1000):
        future = increment(future)
    assert dt.wait(future) == 1000
    assert dt.wait(add(*[increment(i) for i in range(1000)])) == 500500


def test_ten_thousand_tasks_and_memory_is_given_back():
    class Thing:
        pass

    @dt.task
    def make(_):
        return Thing()

    meet = threading.Barrier(2)

    @dt.task
    def run_on_every_worker():
        meet.wait()

    with dt.Runtime(workers=2):
        things = dt.wait([make(Thing()) for _ in range(10_000)])
        refs = [weakref.ref(thing) for thing in things[:100]]
        del things
        gc.collect()
        # A reference may rest with a worker until it runs its next body.
        dt.wait([run_on_every_worker() for _ in range(2)])
        assert sum(ref() is not None for ref in refs) == 0


def test_tasks_make_tasks_and_wait_for_them():
    @dt.task
    def fibonacci(n):
        if n < 2:
            return n
        return sum(dt.wait([fibonacci(n - 1), fibonacci(n - 2)]))

    assert dt.wait(fibonacci(12)) == 144


def test_a_task_may_return_the_future_of_another():
    @dt.task
    def outer(x):
        return [increment(x), increment(x + 1)]

    assert dt.wait(outer(1)) == [2, 3]
    assert dt.wait(add(0, increment(dt.wait(outer(1))[0]))) == 3


def test_a_task_waits_for_a_future_of_another_family():
    release = threading.Event()

    @dt.io
    def late():
        release.wait()
        return 5

    outside = late()

    @dt.task
    def parent():
        child = increment(outside)  # captured, not handed over: no sibling of the child
        release.set()
        return dt.wait(child)

    assert dt.wait(parent()) == 6


def test_barrier_waits_for_everything():
    done = []

    @dt.io
    def note(i):
        done.append(i)

    for i in range(50):
        note(i)
    dt.barrier()
    assert sorted(done) == list(range(50))


def test_several_results_are_several_futures():
    @dt.task(returns=2)
    def divide(a, b):
        return divmod(a, b)

    quotient, remainder = divide(17, 5)
    assert dt.wait(add(quotient, remainder)) == 5
    assert (dt.wait(quotient), dt.wait(remainder)) == (3, 2)


def test_methods_and_options_of_decorators():
    class Counter:
        def __init__(self):
            self.value = 0

        @dt.task(self=dt.INOUT, label="count")
        def count(self, by=1):
            self.value += by

    counter = Counter()
    for _ in range(100):
        counter.count(by=2)
    assert dt.wait(counter) is counter
    assert counter.value == 200


def test_priority_decides_among_ready_tasks(run_program):
    result = run_program(
        """
import threading
import dovetail as dt

order, gate = [], threading.Event()

@dt.task
def hold():
    gate.wait()

@dt.task
def plain(i):
    order.append(i)

@dt.task(priority=5)
def urgent(i):
    order.append(i)

with dt.Runtime(workers=1):
    hold()
    for i in range(5):
        plain(i)
    for i in range(5):
        urgent(100 + i)
    gate.set()
    dt.barrier()
print(sorted(order[:5]))
"""
    )
    assert result.stdout == "[100, 101, 102, 103, 104]\n", result.stderr


def test_deep_recursion_is_a_recursion_error_and_no_crash():
    @dt.task
    def down(n):
        def go(k):
            return 0 if k == 0 else 1 + go(k - 1)

        return go(n)

    @dt.task
    def endless():
        def go():
            return go()

        return go()

    @dt.task
    def endless_in_c():
        class Loop:
            def __repr__(self):
                return repr([self])

        return repr(Loop())

    @dt.task
    def nested_list(depth):
        value = []
        for _ in range(depth):
            value = [value]
        return len(repr(value))

    assert dt.wait(down(sys.getrecursionlimit() // 2)) == sys.getrecursionlimit() // 2
    for task in (endless, endless_in_c, lambda: nested_list(100_000)):
        with pytest.raises(dt.TaskFailed) as failure:
            dt.wait(task())
        assert isinstance(failure.value.__cause__, RecursionError)


def test_callbacks_from_c_find_the_right_thread_state(tmp_path):
    """ctypes enters the interpreter as foreign code does, also after a pause in which another task ran on the thread."""
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    libc = ctypes.CDLL(None)
    path = tmp_path / "data"
    path.write_bytes(bytes(100_000))

    def sort():
        values = (ctypes.c_int * 50)(*reversed(range(50)))
        libc.qsort(values, 50, ctypes.sizeof(ctypes.c_int), compare(lambda a, b: a[0] - b[0]))
        return list(values) == list(range(50))

    with dt.open(path, direct="automatic") as file:

        @dt.task
        def body(i):
            buffer = np.empty(1000 + i, np.uint8)
            good = sort()
            for k in range(5):
                good &= file.pread(buffer, k * 997) == buffer.size
                good &= sort()
            return good

        assert all(dt.wait([body(i) for i in range(60)]))


def test_thread_locals_and_contexts_of_tasks_do_not_leak_into_the_program():
    import decimal

    before = decimal.getcontext().prec

    @dt.task
    def change():
        decimal.getcontext().prec = 3
        return threading.current_thread() is not threading.main_thread()

    assert dt.wait(change())
    assert decimal.getcontext().prec == before


def test_threads_of_the_program_may_spawn_and_wait():
    results = []

    def work(i):
        results.append(dt.wait(add(increment(i), increment(i))))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [2 * i + 2 for i in range(8)]


def test_computing_outside_of_the_interpreter_runs_beside_other_tasks():
    """Two bodies that both give up the interpreter and wait for each other: neither would end if one kept the other out."""
    meet = threading.Barrier(2)

    @dt.task
    def both():
        meet.wait()
        return True

    with dt.Runtime(workers=2):
        assert all(dt.wait([both(), both()]))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"on_failure": "shrug"}, "on_failure must be one of"),
        ({"retries": -1}, "retries must be"),
        ({"priority": "high"}, "priority must be"),
        ({"returns": 0}, "returns must be"),
        ({"y": dt.IN}, "no parameter and no option 'y'"),
        ({"x": 3}, "'x' must be given a direction"),
        ({"storage_bw": "auto(9,1,2)", "io": True}, "auto"),
        ({"storage_bw": "fast", "io": True}, "fast"),
        ({"storage_bw": 5, "process": True}, "in this process"),
    ],
)
def test_bad_options_are_told_at_the_decorator(options, text):
    with pytest.raises((ValueError, TypeError), match=text.replace("(", r"\(")):

        @dt.task(**options)
        def body(x):
            return x


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"workers": 0}, "workers"),
        ({"workers": "two"}, "workers"),
        ({"engine": "floppy"}, "engine"),
        ({"config": "there/is/no.toml"}, "no.toml"),
        ({"stuck_after": -1}, "stuck_after"),
    ],
)
def test_bad_settings_of_a_runtime_are_named(options, text):
    with pytest.raises((ValueError, OSError), match=text):
        dt.Runtime(**options).start()


def test_no_task_is_ended_because_others_take_long_unless_asked():
    """What goes into the runtime, since 0 stands for never there; and what waits for what is said after 5 s."""
    fields = []

    class Recorded(dt._core.Runtime):
        def __init__(self, given):
            fields.append(dict(given))
            super().__init__(given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dt._core, "Runtime", Recorded)
        with dt.Runtime(workers=1):
            pass
    assert [(each["stuck_after"], each["report_after"]) for each in fields] == [(0, 5)]


def test_a_runtime_is_a_context_and_the_one_before_comes_back():
    with dt.Runtime(workers=3) as outer:
        assert outer.workers == 3
        with dt.Runtime(workers=1) as inner:
            assert inner.workers == 1
            assert dt.wait(increment(1)) == 2
        assert dt.wait(increment(2)) == 3
        with pytest.raises(RuntimeError):
            outer.start()
    assert dt.wait(increment(3)) == 4
