"""What PyCOMPSs programs may say of a call: how many values it returns, what it needs, parts of a collection, tasks within tasks."""

from __future__ import annotations

import pytest

HEADER = """
import os
import sys
import threading
from pycompss.api.api import *
from pycompss.api.constraint import constraint
from pycompss.api.parameter import *
from pycompss.api.reduction import reduction
from pycompss.api.task import task

"""


IN_TASK = """
    @task(returns=1)
    def inner(value):
        return value * 2

    class Sum:
        def __init__(self):
            self.total = 0

        @task()
        def add(self, value):
            self.total += value

    @task(returns=1{options})
    def outer(value):
        made = Sum()
        made.add(inner(value) + 1)
        compss_barrier()
        return compss_wait_on(made).total

    print(compss_wait_on([outer(1), outer(2)]))
"""


@pytest.mark.parametrize("options", ["", ", time_out=60"])
def test_a_task_that_is_called_in_a_task_is_a_plain_call(lines_of, options):
    assert lines_of(IN_TASK.format(options=options)) == ["[3, 5]"]


def test_a_time_out_is_heard_although_its_signal_came_before_the_call_that_blocks(lines_of):
    assert lines_of(
        """
        import os, signal

        @task(returns=1, time_out=60, on_failure="IGNORE")
        def deaf():
            # Takes the first signal without its handler, as where it comes between Python's last look and the system call.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            _, interval = signal.getitimer(signal.ITIMER_REAL)
            signal.setitimer(signal.ITIMER_REAL, 0.001, interval)  # from now on, so that none comes before it is blocked
            signal.sigwait([signal.SIGALRM])
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
            reader, writer = os.pipe()
            try:
                os.read(reader, 1)
            finally:  # which is not interrupted, too
                print(signal.getitimer(signal.ITIMER_REAL), flush=True)

        print(compss_wait_on(deaf()))
        """
    ) == ["(0.0, 0.0)", "None"]
    assert "task 'deaf' took longer than its time_out of 60 s" in lines_of.errors


def test_that_it_is_a_plain_call_is_said_once(lines_of):
    lines_of(IN_TASK.format(options=""))
    assert lines_of.errors.count("is called in a task, and performed there") == 1


def test_with_nesting_it_is_a_task_of_its_own_and_a_barrier_waits_for_it(lines_of):
    assert lines_of(
        """
        import dovetail

        there = []

        @task(returns=1)
        def inner(value):
            there.append(value)
            return value * 2

        @task(returns=1)
        def outer(value):
            made = [inner(value + place) for place in range(3)]
            assert all(isinstance(future, dovetail.Future) for future in made)
            compss_barrier()
            assert len(there) == 3
            return sum(compss_wait_on(made))

        print(compss_wait_on(outer(1)))
        """,
        DOVETAIL_PYCOMPSS_NESTED="1",
    ) == ["12"]


def test_an_argument_or_the_call_says_how_many_values_are_returned(lines_of):
    assert lines_of("""
        class Parts:
            def __init__(self, count):
                self.inside = self
                self.count = count

            @task(target_direction=IN, returns="value_of(self.inside.count)")
            def numbers(self):
                return list(range(self.count))

            @task(target_direction=IN, returns="value_of(count)")
            def first(self, count=2):
                return list(range(count))

        @task(returns=1)
        def of_call(count):
            return list(range(count))

        @task(returns=1, on_failure="IGNORE")
        def fails(count):
            raise KeyError(count)

        @task(returns=1)
        def own(returns):
            return returns

        for made in (Parts(3).numbers(), Parts(3).first(), of_call(4, returns=4), fails(2, returns="2")):
            print(len(made), compss_wait_on(made))
        print(compss_wait_on(of_call(2)), compss_wait_on(own(returns=7)))
    """) == ["3 [0, 1, 2]", "2 [0, 1]", "4 [0, 1, 2, 3]", "2 [None, None]", "[0, 1] 7"]


def test_a_hint_says_how_many_values_are_returned(lines_of):
    assert lines_of("""
        @task()
        def two(value) -> (int, int):
            return value, value + 1

        @task()
        def also_two(value) -> "(int, int)":
            return value, value + 1

        @task()
        def one(value) -> tuple[int, int]:
            return value, value + 1

        @task(returns=FILE)
        def path(name):
            return name

        first, second = two(1)
        third, fourth = also_two(3)
        print(compss_wait_on([first, second, third, fourth]), compss_wait_on(two(5)), compss_wait_on(one(7)), compss_wait_on(path("a")))
    """) == ["[1, 2, 3, 4] [5, 6] (7, 8) a"]


def test_a_collection_may_be_what_is_returned(lines_of):
    assert lines_of("""
        @task(returns=COLLECTION_OUT, tracing_hook=False)
        def numbers():
            return [1, 2, [3, 4]]

        @task(returns={Type: DICTIONARY_OUT, Depth: 2})
        def named():
            return {"a": [1]}

        @task(values={Type: COLLECTION_IN, Depth: 2}, returns=int)
        def total(values):
            return sum(values[:2]) + sum(values[2])

        print(compss_wait_on(numbers()), compss_wait_on(named()), compss_wait_on(total(numbers())))
    """) == ["[1, 2, [3, 4]] {'a': [1]} 10"]
    lines_of("@task(returns=COLLECTION_IN)\ndef f():\n    return []\n", status=1)
    assert "returns=COLLECTION_IN is not covered" in lines_of.errors


@pytest.mark.parametrize(
    "name", ["weight", "priority", "on_failure", "timeOut", "is_replicated", "tracing_hook", "chunk_size"]
)
def test_a_parameter_called_as_an_option_has_its_direction(lines_of, name):
    assert lines_of(f"""
        @task({name}={{Type: INOUT}})
        def appends({name}):
            {name}.append(1)

        values = []
        appends(values)
        print(compss_wait_on(values))
    """) == ["[1]"]


def test_what_is_returned_may_take_the_place_of_an_argument(lines_of):
    assert lines_of("""
        @task(returns="{{values}}")
        def twice(values, what):
            return values + values

        values = [1]
        for _ in range(3):
            assert twice(values, "x") is values
        print(len(compss_wait_on(values)))
    """) == ["8"]
    lines_of("@task(returns='{{a}}')\ndef f(a):\n    return 'other'\nf([1])\ncompss_barrier()", status=1)
    assert "what task 'f' returned cannot take the place of its argument 'a'" in lines_of.errors
    lines_of("@task(returns='{{b}}')\ndef f(a):\n    return a\n", status=1)
    assert "names no parameter" in lines_of.errors


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("@task(returns='value_of(nothing)')\ndef f(a):\n    return a\nf(1)", "'value_of(nothing)' names no parameter"),
        ("@task(returns='value_of(a)')\ndef f(a):\n    return a\nf('x')", "must be a number when the task is called"),
    ],
)
def test_a_number_of_values_that_cannot_be_known_is_an_error(lines_of, text, says):
    lines_of(text, status=1)
    assert says in lines_of.errors


def test_a_constraint_may_be_an_expression_of_the_call(lines_of):
    assert lines_of("""
        UNITS = 2

        @constraint(computing_units="units + units * 2", memory_size="size")
        @task(returns=1)
        def of_parameters(units, size):
            return units

        @constraint(computing_units="UNITS")
        @task(returns=1)
        def of_globals():
            return UNITS

        print(compss_wait_on([of_parameters(1, 2), of_globals()]))
    """) == ["[1, 2]"]


@pytest.mark.parametrize("value", ['"nothing"', '"1 +"', '"${"', "-1"])
def test_a_constraint_of_what_is_not_there_is_an_error(lines_of, value):
    lines_of(f"@constraint(computing_units={value})\n@task()\ndef f():\n    pass\n", status=1)
    assert "@constraint of 'f': computing_units must be a whole number" in lines_of.errors


def test_a_constraint_by_a_variable_that_is_not_set_is_an_error_of_the_call(lines_of):
    text = "@constraint(computing_units='${DOVETAIL_NO_SUCH_NAME}')\n@task()\ndef f():\n    pass\nprint('defined')\n"
    assert lines_of(text) == ["defined"]
    assert lines_of(text + "f()\n", status=1) == ["defined"]
    assert "@constraint of 'f': the environment has no DOVETAIL_NO_SUCH_NAME" in lines_of.errors


def test_kinds_of_processors_are_accepted(lines_of):
    assert lines_of(
        """
        @constraint(processors=[
            {"processorType": "CPU", "computingUnits": "${UNITS_OF_THE_TEST}"},
            {"ProcessorType": "GPU", "computing_units": 1},
        ])
        @task(returns=1)
        def f():
            return 1

        print(compss_wait_on(f()))
        """,
        UNITS_OF_THE_TEST="1",
    ) == ["1"]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ('[{"processorType": "CPU", "speciality": 1}]', "'speciality' in processors is not covered"),
        ('[{"computingUnits": "many"}]', "computing_units must be a whole number"),
        ('"CPU"', "processors must be a list of dictionaries"),
    ],
)
def test_kinds_of_processors_that_nobody_knows_are_an_error(lines_of, value, says):
    lines_of(f"@constraint(processors={value})\n@task()\ndef f():\n    pass\n", status=1)
    assert says in lines_of.errors


def test_hints_about_copies_are_accepted(lines_of, tmp_path):
    assert lines_of(
        """
        @task(path={Type: FILE_OUT, Keep_rename: True}, value={Cache: False})
        def write(path, value):
            with open(path, "w") as file:
                file.write(value)

        @task(paths={Type: COLLECTION_FILE_IN, Weight: "3.0"}, returns=1)
        def read(paths):
            return [open(path).read() for path in paths]

        os.chdir(sys.argv[1])
        write("a", "text")
        print(compss_wait_on(read(["a"])))
        """,
        tmp_path,
    ) == ["['text']"]


def test_a_reduction_takes_the_collection_in_parts(lines_of):
    assert lines_of("""
        sizes = []

        @reduction(chunk_size="2")
        @task(returns=1, values=COLLECTION_IN)
        def total(scale, values, name="x"):
            sizes.append(len(values))
            return sum(values)

        @task(returns=1)
        def increment(value):
            return value + 1

        print(compss_wait_on(total(1, [increment(n) for n in range(5)])), sorted(sizes))
        print(compss_wait_on(total(1, [7])), compss_wait_on(total(1, [])), compss_wait_on(total(1, values=[1, 2, 3], name="y")))
    """) == ["15 [2, 2, 2, 2]", "7 0 6"]


def test_stopping_with_a_code_cancels_what_has_not_begun(lines_of):
    assert lines_of(
        """
        gate = threading.Event()
        begun = []

        @task(values=INOUT)
        def hold(values):
            begun.append(1)
            os.write(1, b"begun\\n")
            gate.wait()

        values = []
        for _ in range(5):
            hold(values)
        while not begun:
            pass
        threading.Timer(0.1, gate.set).start()
        compss_stop(1)
        print(len(begun))
        """
    ) == ["begun", "1"]


def test_functions_over_tasks(lines_of):
    assert lines_of("""
        import random
        from pycompss.functions.data import chunks, generator
        from pycompss.functions.elapsed_time import timeit
        from pycompss.functions.map import map as each
        from pycompss.functions.reduce import merge_n_reduce, merge_reduce
        from pycompss.runtime.management.classes import Future

        @task(returns=1)
        def join(*parts):
            return "(" + "".join(parts) + ")"

        @timeit()
        @task(returns=1)
        def double(value):
            return value * 2

        letters = list("abcde")
        print(compss_wait_on(merge_reduce(join, letters)), compss_wait_on(merge_n_reduce(join, 3, letters)), letters)
        print(merge_reduce(join, []), merge_reduce(join, ["a"]))
        result, seconds = double(4)
        print(isinstance(result, Future), compss_wait_on(result), seconds >= 0)
        print(each(join, letters), each(lambda part: len(part), letters, chunksize=2))
        print(list(chunks(letters, 2)), list(chunks(letters, 2, True)))
        random.seed(3)
        expected = [[random.gauss(0.0, 1.0) for _ in range(2)] for _ in range(3)]
        print(generator((6, 2), 2, 3, "normal", True) == [expected, expected])
    """) == [
        "((cd)(e(ab))) (de(abc)) ['a', 'b', 'c', 'd', 'e']",
        "None a",
        "True 8 True",
        "['(a)', '(b)', '(c)', '(d)', '(e)'] [2, 2, 1]",
        "[['a', 'b'], ['c', 'd'], ['e']] [['a', 'b', 'c'], ['d', 'e']]",
        "True",
    ]


def test_a_direction_of_a_parameter_that_is_not_there(lines_of):
    """It is told, and decides nothing, as under PyCOMPSs."""
    assert lines_of("@task(b=INOUT, Returns=2, returns=1)\ndef f(a):\n    return a\nprint(compss_wait_on(f(1)))") == [
        "1"
    ]
    assert "WARNING: Unexpected argument: 'b' of @task of 'f' is neither a parameter" in lines_of.errors
    assert "WARNING: Unexpected argument: 'Returns' of @task of 'f'" in lines_of.errors


def test_a_collection_may_be_an_array_of_objects(lines_of):
    assert lines_of("""
        import numpy as np

        @task(values={Type: COLLECTION_OUT, Depth: 2})
        def make(values):
            for place, row in enumerate(values):
                for column in range(len(row)):
                    row[column] = [10 * place + column]

        @task(returns=1)
        def one(number):
            return [number]

        @task(values={Type: COLLECTION_IN, Depth: 2}, returns=1)
        def total(values):
            return type(values).__name__, sum(item[0] for row in values for item in row)

        rows = [[object() for _ in range(3)] for _ in range(2)]
        make(rows)
        array = np.array(rows, dtype=object)
        print(compss_wait_on(total(array)), compss_wait_on(total([array[0, 1:]])), compss_wait_on(total(values=array[:, :1])))
        futures = np.empty((1, 2), dtype=object)
        futures[0, :] = [one(5), one(6)]
        print(compss_wait_on(total(futures)))
        changed = np.array([[object(), object()]], dtype=object)
        make(changed)
        print(compss_wait_on(total(changed)))
    """) == ["('list', 36) ('list', 3) ('list', 10)", "('list', 11)", "('list', 1)"]
