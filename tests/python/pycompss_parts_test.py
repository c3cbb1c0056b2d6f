"""What PyCOMPSs programs use beside tasks: units of workers, implementations, transformations, failures."""

from __future__ import annotations

HEADER = """
import os
import sys
import threading
from pycompss.api.api import *
from pycompss.api.constraint import constraint
from pycompss.api.exceptions import COMPSsException
from pycompss.api.implement import implement
from pycompss.api.multinode import multinode
from pycompss.api.parameter import *
from pycompss.api.task import task

"""


def test_a_task_with_units_holds_so_many_workers(lines_of):
    """The units of all tasks that run are never more than there are workers, and a task with too many runs alone."""
    assert lines_of(
        """
        import random, time

        seed = random.randrange(1 << 32)
        print("seed", seed, file=sys.stderr)
        numbers = random.Random(seed)
        lock = threading.Lock()
        now = most = 0

        def use(units):
            global now, most
            with lock:
                now += units
                most = max(most, now)
            for _ in range(3):
                os.sched_yield()
            with lock:
                now -= units

        @constraint(computing_units="2 * half")
        @task(returns=1)
        def even(half):
            use(2 * half)
            return 2 * half

        @constraint(computing_units=3)
        @task(returns=1)
        def three():
            use(3)
            return 3

        @task(returns=1)
        def one():
            use(1)
            return 1

        @constraint(computing_units="100")
        @task(returns=1)
        def too_many():
            use(4)
            return 4

        makers = [one, three, lambda: even(1), lambda: even(2), too_many]
        total = sum(compss_wait_on([numbers.choice(makers)() for _ in range(80)]))
        print(most, total > 80)
        """,
        DOVETAIL_WORKERS="4",
    ) == ["4 True"]


def test_a_task_in_a_task_takes_no_units_of_its_own(lines_of):
    """Those of the outer task would never be given back."""
    assert lines_of(
        """
        @constraint(computing_units=2)
        @task(returns=1)
        def inner(value):
            return value + 1

        @constraint(computing_units=2)
        @task(returns=1)
        def outer(value):
            return compss_wait_on(inner(value)) + 1

        print(compss_wait_on([outer(0), outer(10)]))
        """,
        DOVETAIL_WORKERS="2",
        DOVETAIL_PYCOMPSS_NESTED="1",
    ) == ["[2, 12]"]


def test_a_task_in_a_task_without_a_constraint_takes_no_units_either(lines_of):
    """Both parents have a unit each, and wait for children of one unit."""
    assert lines_of(
        """
        both = threading.Barrier(2)

        @constraint(computing_units=2)
        @task(returns=1)
        def large(value):
            return value

        @task(returns=1)
        def child(value):
            return value + 1

        @task(returns=1)
        def parent(value):
            both.wait()
            return compss_wait_on(child(value))

        print(compss_wait_on(large(1)), compss_wait_on([parent(0), parent(10)]))
        """,
        DOVETAIL_WORKERS="2",
        DOVETAIL_PYCOMPSS_NESTED="1",
    ) == ["1 [1, 11]"]


# A task that waits for its units has begun for the runtime. Some of the many are in that state when they are cancelled.
WAITING_FOR_UNITS = """
        import dovetail

        begun, go = threading.Event(), threading.Event()
        count = 8

        @constraint(computing_units=4)
        @task(on_failure="FAIL")
        def holds(fails):
            begun.set()
            go.wait()
            if fails:
                raise ValueError("the first")

        futures = []
        plain = dovetail.pycompss.tracking.tracker.add
        dovetail.pycompss.tracking.tracker.add = lambda future, written: (futures.append(future), plain(future, written))

        @constraint(computing_units=4)
        @task()
        def never(number):
            print("ran", number)

        def until_one_waits():
            while not any(future.running() for future in futures[1:]):
                os.sched_yield()
"""


def test_tasks_that_wait_for_units_do_not_run_after_a_failure(lines_of):
    lines = lines_of(
        WAITING_FOR_UNITS
        + """
        holds(True)
        begun.wait()
        for number in range(count):
            never(number)
        until_one_waits()
        go.set()
        compss_barrier()
        """,
        status=1,
        DOVETAIL_WORKERS="4",
    )
    assert lines == []
    assert "task 'holds' failed: ValueError: the first" in lines_of.errors


def test_tasks_that_wait_for_units_do_not_run_when_their_group_is_cancelled(lines_of):
    lines = lines_of(
        WAITING_FOR_UNITS
        + """
        holds(False)
        begun.wait()
        with TaskGroup("group", False):
            for number in range(count):
                never(number)
        until_one_waits()
        compss_cancel_group("group")
        go.set()
        compss_barrier()
        print("went on")
        """,
        DOVETAIL_WORKERS="4",
    )
    assert lines == ["went on"]
    assert "failed" not in lines_of.errors


def test_units_without_a_value_for_a_call_are_told(lines_of):
    lines_of(
        """
        @constraint(computing_units="count")
        @task()
        def f(count):
            pass

        f("many")
        """,
        status=1,
    )
    assert "@constraint of 'f': computing_units='count' has no value for this call" in lines_of.errors


def test_a_task_that_cannot_run_is_performed_by_the_first_that_implements_it(lines_of):
    assert lines_of(
        """
        from pycompss.api.mpi import mpi

        class Kinds:
            @constraint(computing_units=100)
            @task(returns=1)
            def method(self):
                return "method"

        @constraint(computing_units=100)
        @task(returns=1)
        def large(value):
            return "large"

        @implement(source_class="program", method="large")
        @constraint(computing_units=50)
        @task(returns=1)
        def medium(value):
            return "medium"

        @implement(source_class="program", method="large")
        @task(returns=1)
        def small(value):
            return f"small {value}"

        @implement(source_class="program", method="small")
        @task(returns=1)
        def another(value):
            return "another"

        @implement(source_class="elsewhere", method="another")
        @constraint(computing_units=100)
        @task(returns=1)
        def alone(value):
            return "alone"

        print(compss_wait_on([large(1), medium(1), small(2), another(3), alone(4), Kinds().method()]))
        """,
        DOVETAIL_WORKERS="2",
    ) == ["['small 1', 'medium', 'small 2', 'another', 'alone', 'method']"]


def test_a_task_of_several_machines_is_told_of_this_one(lines_of):
    assert lines_of(
        """
        import socket

        @constraint(computing_units=2)
        @multinode(computing_nodes="$NODES")
        @task(returns=1)
        def told(prefix):
            names = ("COMPSS_NUM_NODES", "COMPSS_NUM_THREADS", "OMP_NUM_THREADS")
            return prefix, [os.environ[name] for name in names], os.environ["COMPSS_HOSTNAMES"], os.getpid()

        prefix, numbers, hosts, process = compss_wait_on(told("x"))
        print(prefix, numbers, hosts == ",".join([socket.gethostname()] * 3), process != os.getpid())
        print(any(name.startswith("COMPSS_") for name in os.environ))

        @multinode(computing_nodes=1)
        @task()
        def stops():
            raise COMPSsException("enough")

        try:
            with TaskGroup("group"):
                stops()
        except COMPSsException as error:
            print("stopped by", error)
        """,
        NODES="3",
    ) == ["x ['3', '2', '2'] True True", "False", "stopped by enough"]


def test_a_number_that_is_to_be_changed_is_passed_and_the_change_is_lost(lines_of):
    assert lines_of("""
        @task(value=INOUT, other=OUT, returns=1)
        def grow(value, other="text"):
            value += 1
            return value, other

        # In a process of its own, where directions are looked at again.
        @task(numbers=INOUT, other=INOUT, key=INOUT, time_out=200, returns=1)
        def apart(values, numbers, other, *, key=1):
            numbers += key
            values.append(1)
            other.append(numbers)
            return numbers

        @task(varargs_type=INOUT, key=INOUT, returns=1)
        def several(*args, **kwargs):
            args[1].append(args[0])
            return args, kwargs

        value = 1
        print(compss_wait_on(grow(value)), compss_wait_on(grow(value)), value)
        changed = []
        print(compss_wait_on(apart([], value, changed)), compss_wait_on(apart([], other=[], numbers=8, key=2)), compss_wait_on(changed), value)
        print(compss_wait_on(several(value, changed, "text", key=2, other=3)))
    """) == ["(2, 'text') (2, 'text') 1", "2 10 [2] 1", "((1, [2, 1], 'text'), {'key': 2, 'other': 3})"]
    assert (
        lines_of.errors.count("'value' is to be changed, and a value of type 'int' cannot be: the change is lost") == 1
    )


def test_a_failure_while_the_program_waits_cancels_tasks_that_have_not_begun(lines_of):
    """And those that run are asked to stop."""
    program = """
        import dovetail

        waiting = threading.Event()

        @task({options})
        def fails():
            waiting.wait()
            raise {error}("enough")

        @task()
        def sees():
            waiting.set()
            while not dovetail.cancelled():
                os.sched_yield()
            print("asked to stop")

        @task(value=INOUT)
        def never(value):
            print("ran")

        {block}
            fails()
            sees()
            gate = []
            held(gate)
            never(gate)
            {end}
    """
    held = """
        @task(value=INOUT)
        def held(value):
            while not dovetail.cancelled():
                os.sched_yield()
    """
    program = program.replace("        {block}", held.strip("\n") + "\n\n        {block}")
    assert lines_of(
        program.format(
            options="", error="COMPSsException", block="try:\n          with TaskGroup('group'):", end="pass"
        ).replace(
            "            pass\n",
            "            pass\n        except COMPSsException as error:\n            print(error)\n",
        ),
        DOVETAIL_WORKERS="4",
    ) == ["asked to stop", "enough"]
    assert lines_of(
        program.format(options="on_failure='FAIL'", error="KeyError", block="if True:", end="compss_barrier()"),
        status=1,
        DOVETAIL_WORKERS="4",
    ) == ["asked to stop"]


TRANSFORMED = """
from pycompss.api.data_transformation import *

def put(text, path):
    with open(path, "w") as file:
        file.write(str(text))

def get(path):
    with open(path) as file:
        return file.read()

def add(values, more="default"):
    return [*values, more]

@task(returns=1)
def doubled(values):
    return values * 2

def workflow(values):
    return doubled(doubled(values))

"""


def test_arguments_are_transformed_before_the_call(lines_of, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words").write_text("a b c d")
    body = """
        @dt("values", add, more="first")
        @dt("values", workflow, is_workflow=True)
        @dt("other", add)
        @task(returns=1)
        def both(values, other):
            return values, other

        @dt(target="path", function=put, type=OBJECT_TO_FILE)
        @task(path=FILE_IN, returns=1)
        def of_object(path):
            return get(path), os.path.exists("chosen")

        @dt(target="path", function=put, type=COLLECTION_TO_FILE, destination="chosen")
        @task(path=FILE_IN, returns=1)
        def of_collection(path):
            return get(path), path

        @dt("items", lambda path: get(path).split(), type=FILE_TO_COLLECTION, size=3)
        @task(items=COLLECTION_IN, returns=1)
        def of_file(items):
            return items

        @dt()
        @task(returns=1)
        def by_call(values):
            return values

        print(compss_wait_on(both([1], other=[2])))
        print(compss_wait_on(of_object(5)), compss_wait_on(of_collection([1, 2])), compss_wait_on(of_file("words")))
        print(compss_wait_on(doubled([1], returns=1, dt=dto("values", add))), compss_wait_on(*both([1], other=[2], returns=2)))
        print(compss_wait_on(by_call([1], dt=[dto("values", add), dto("values", get, type=FILE_TO_OBJECT)][:1])), compss_wait_on(by_call([1])))
        try:
            @dt("nosuch", add)
            @task()
            def wrong(values):
                pass
            wrong([])
        except TypeError as error:
            print(error)
    """
    assert lines_of("\n" + "\n".join("        " + line for line in TRANSFORMED.splitlines()) + "\n" + body) == [
        "([1, 'first', 1, 'first', 1, 'first', 1, 'first'], [2, 'default'])",
        "('5', False) ('[1, 2]', 'chosen') ['a', 'b', 'c']",
        "[1, 'default', 1, 'default'] [[1, 'first', 1, 'first', 1, 'first', 1, 'first'], [2, 'default']]",
        "[1, 'default'] [1]",
        "@data_transformation of 'wrong': the task has no parameter 'nosuch'",
    ]
