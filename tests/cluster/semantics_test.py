"""The rules of one machine, on a cluster."""

from __future__ import annotations

import os
import threading

import dovetail as dt
import numpy as np
import pytest
from dovetail import elsewhere

pytest.importorskip("distributed", reason="Dask distributed is not installed")
pytestmark = pytest.mark.usefixtures("connected")


@dt.task
def square(x):
    return x * x


@dt.task
def process(_=None):
    return os.getpid()


def test_bodies_run_in_the_workers_and_futures_in_containers_are_waited_for():
    @dt.task
    def total(values, named):
        return sum(values) + named["a"]

    assert dt.wait(process()) != os.getpid()
    assert dt.wait(total([square(1), square(2), 3], {"a": square(10)})) == 108
    assert dt.gather(*[square(i) for i in range(50)]) == [i * i for i in range(50)]
    assert sorted(future.result() for future in dt.as_completed([square(i) for i in range(5)])) == [0, 1, 4, 9, 16]
    assert list(dt.map(square, range(100), chunk=7)) == [i * i for i in range(100)]


def test_objects_are_changed_in_program_order_and_brought_up_to_date():
    @dt.task(values=dt.INOUT)
    def append(values, i):
        values.append(i)

    @dt.task
    def length(values):
        return len(values)

    values = []
    lengths = []
    for i in range(20):
        append(values, i)
        lengths.append(length(values))
    assert dt.wait(values) is values
    assert values == list(range(20))
    assert dt.wait(lengths) == list(range(1, 21))


def test_written_arguments_by_name_in_rest_and_keywords():
    @dt.task(rest=dt.INOUT, others=dt.INOUT)
    def fill(first, *rest, **others):
        for each in (*rest, *others.values()):
            each[:] = first

    a, b, c = np.zeros(3), np.zeros(3), np.zeros(3)
    fill(5.0, a, b, named=c)
    dt.wait([a, b, c])
    assert [a[0], b[0], c[0]] == [5.0, 5.0, 5.0]


def test_views_of_an_array_are_ordered_by_region():
    @dt.task(part=dt.INOUT)
    def add(part, x):
        part *= 2
        part += x

    here = np.arange(12.0)
    there = here.copy()
    for begin, end, x in ((0, 8, 1), (4, 12, 2), (2, 6, 3), (0, 12, 4), (5, 6, 5)):
        add.function(here[begin:end], x)
        add(there[begin:end], x)
    dt.wait(there)
    assert (here == there).all()


def test_files_are_ordered_and_may_have_relative_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    @dt.io(path=dt.FILE_OUT)
    def write(path, text):
        with open(path, "w") as file:
            file.write(text)

    @dt.task(path=dt.FILE_INOUT)
    def append(path, text):
        with open(path, "a") as file:
            file.write(text)

    @dt.io(path=dt.FILE_IN)
    def read(path):
        with open(path) as file:
            return file.read()

    write("a", "one")
    append(str(tmp_path / "a"), " two")
    first = read("a")
    write("a", "three")
    assert dt.wait([first, read(dt.File(tmp_path / "a"))]) == ["one two", "three"]


def test_a_failure_has_label_cause_and_the_remote_traceback():
    @dt.task(label="reads it")
    def fail(x):
        return {}[x]

    failed = fail("key")
    after = square(failed)
    with pytest.raises(dt.TaskFailed, match="reads it") as failure:
        dt.wait(failed)
    assert failure.value.label == "reads it"
    assert isinstance(failure.value.__cause__, KeyError)
    assert "return {}[x]" in str(failure.value.__cause__.__cause__)
    with pytest.raises(dt.TaskFailed) as failure:
        dt.wait(after)
    assert failure.value.cancelled


def test_attempts_go_on_from_the_last_version(tmp_path):
    @dt.task(values=dt.INOUT, retries=2)
    def add(values, mark):
        values.append(1)  # not seen by the next attempt
        if not os.path.exists(mark):
            open(mark, "w").close()
            raise ValueError("first")

    values = [0]
    add(values, str(tmp_path / "mark"))
    assert dt.wait(values) == [0, 1]

    @dt.task(on_failure="ignore")
    def ignored():
        raise ValueError("nobody sees it")

    ignored()
    dt.barrier()


def test_groups_returns_coroutines_and_methods():
    @dt.task(returns=2)
    def split(x):
        return x, x + 1

    @dt.task
    async def later(x):
        return x + 1

    with dt.group():
        a, b = split(4)
        c = later(a)
    assert (a.result(), b.result(), c.result()) == (4, 5, 5)

    @dt.task
    def fail():
        raise ValueError("of the group")

    with pytest.raises(dt.TaskFailed, match="of the group"), dt.group():
        fail()


def test_a_body_may_make_tasks_which_run_in_its_process():
    @dt.task
    def outer(n):
        return os.getpid(), dt.wait([process() for _ in range(n)]), dt.in_task()

    mine, theirs, in_task = dt.wait(outer(3))
    assert theirs == [mine] * 3 and in_task


@pytest.mark.parametrize("made", [dt.Lock, lambda: dt.Semaphore(1), threading.Lock, lambda: dt.Space("s")])
def test_what_is_of_this_process_is_refused_at_the_call(made):
    thing = made()
    with pytest.raises(TypeError, match="program's own process"):
        square(thing)
    with pytest.raises(TypeError, match="program's own process"):
        square({"deep": [1, [thing]]})

    @dt.task
    def closure():
        return thing

    with pytest.raises(TypeError, match="'closure' cannot be sent to the cluster"):
        closure()


def test_streams_and_open_files_are_refused_at_the_call(tmp_path):
    @dt.task(stream=4)
    def items():
        yield 1

    with pytest.raises(TypeError, match="is a stream"):
        items()
    with dt.open(tmp_path / "file", "w") as file, pytest.raises(TypeError, match="path of a file"):
        square(file)


def test_an_argument_that_cannot_be_pickled_is_named():
    class Closed:
        def __reduce__(self):
            raise ValueError("not this one")

    with pytest.raises(dt.TaskFailed, match="argument 'x' of task 'square'.*not this one"):
        dt.wait(square(Closed()))


def test_large_arguments_and_results():
    @dt.task(a=dt.INOUT)
    def turn(a, b):
        a += b[::-1]
        return a * 2

    a, b = np.ones(300_000), np.arange(300_000.0)
    doubled = turn(a, b)
    assert (dt.wait(a) == 1 + b[::-1]).all()
    assert (doubled.result() == 2 * a).all()


def test_a_function_uses_the_variables_of_now():
    factor = 2

    @dt.task
    def times(x):
        return factor * x

    assert dt.wait(times(10)) == 20
    factor = 3
    assert dt.wait(times(10)) == 30


def test_priorities_decide_which_ready_task_is_sent_first(tmp_path, until):
    @dt.task(label="gate")
    def gate(path):
        import time

        while not os.path.exists(path):
            time.sleep(0.001)

    def note(name):
        with open(tmp_path / "order", "a") as file:
            file.write(name)

    low = dt.task(note, priority=-1, limit=1)
    high = dt.task(note, priority=1, limit=1)
    dispatcher = elsewhere.current._dispatcher
    gates = [gate(str(tmp_path / "open")) for _ in range(4)]
    until(lambda: len(dispatcher._under_way) == len(gates))  # as many as Dask has at a time
    futures = [low("l") for _ in range(10)] + [high("h") for _ in range(10)]
    until(lambda: len(dispatcher._accounted) == len(futures))
    (tmp_path / "open").touch()
    dt.wait([gates, futures])
    # Later ones may be overtaken: a slow batch is given back, while the next is on its way.
    order = (tmp_path / "order").read_text()
    assert order.startswith("hhhhh") and sorted(order) == sorted("l" * 10 + "h" * 10)
