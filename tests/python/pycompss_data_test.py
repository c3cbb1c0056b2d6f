"""What PyCOMPSs programs find in results, files and what a group was to change."""

from __future__ import annotations

import pytest

HEADER = """
import os
import sys
import threading
from pycompss.api.api import *
from pycompss.api.parameter import *
from pycompss.api.task import task

"""


def test_what_a_task_returns_is_a_value_of_its_own(lines_of):
    """Later tasks may change it: the arguments that it came from remain."""
    assert lines_of("""
        import numpy as np

        @task(returns=1)
        def same(value):
            return value

        @task(returns=2)
        def parts(array):
            return array[:2], array[2:]

        @task(returns=1)
        def among(values):
            return {"first": values[0], "all": [values]}

        @task(returns=1)
        def chain(self):
            self.append(1)
            return self

        @task(value=INOUT)
        def add(value):
            value += type(value)([1]) if isinstance(value, list) else 1

        array, values, nested = np.zeros(4), [5], [[7]]
        whole, listed, part = same(array), same(values), parts(array)[1]
        inner = among(nested)
        for made in (whole, listed, part):
            for _ in range(2):
                add(made)
        print(compss_wait_on(whole), compss_wait_on(listed), compss_wait_on(part), array, values)
        found = compss_wait_on(inner)
        found["first"].append(8)
        print(found, nested)
        print(same is not compss_wait_on(same(print)), compss_wait_on(same(int)) is int)

        @task(returns=1)
        def knot(value):
            value = [value, {}]
            value.append(value)
            return value

        knotted = compss_wait_on(knot([1]))
        print(knotted[2] is knotted, compss_wait_on(same(knotted))[0])
        gate = threading.Lock()
        print(compss_wait_on(same([gate]))[0] is gate)
    """) == [
        "[2. 2. 2. 2.] [5, 1, 1] [2. 2.] [0. 0. 0. 0.] [5]",
        "{'first': [7, 8], 'all': [[[7]]]} [[7]]",
        "True True",
        "True [1]",
        "True",
    ]


def test_names_of_files_come_back_as_they_were_given(lines_of, tmp_path):
    assert lines_of(
        """
        os.chdir(sys.argv[1])

        @task(path=FILE_OUT)
        def write(path):
            open(path, "w").close()

        write("a")
        write("b")
        names = ["a", ("b", "c")]
        print(compss_wait_on_file(names), compss_wait_on_file("a", "b"), compss_wait_on_file("a"))
        print(compss_file_exists(names), compss_file_exists("c"), compss_file_exists("a", "c"))
        print(compss_delete_file(names), compss_file_exists(names), compss_wait_on_directory(["d"]))
        """,
        tmp_path,
    ) == [
        "['a', ('b', 'c')] ['a', 'b'] a",
        "[True, (True, False)] False [True, False]",
        "[True, (True, True)] [False, (False, False)] ['d']",
    ]


def test_after_the_exception_of_a_group_tasks_go_on_with_what_is_there(lines_of, tmp_path):
    assert lines_of(
        """
        from pycompss.api.exceptions import COMPSsException

        os.chdir(sys.argv[1])

        @task(path=FILE_INOUT, paths=COLLECTION_FILE_INOUT, values=INOUT)
        def fail(path, paths, values):
            raise COMPSsException("no")

        @task(path=FILE_INOUT, paths=COLLECTION_FILE_INOUT, values=INOUT)
        def change(path, paths, values):
            for name in (path, *paths):
                with open(name, "a") as file:
                    file.write("x")
            values.append(1)

        for name in "abc":
            open(name, "w").close()
        values = []
        for implicit in (True, False):
            try:
                with TaskGroup("group", implicit):
                    fail("a", ["b", "c"], values)
                    change("a", ["b", "c"], values)
                compss_barrier_group("group")
            except COMPSsException as error:
                print(error)
            change("a", ["b", "c"], values)
        print(compss_wait_on(values), [compss_open(name).read() for name in "abc"])
        """,
        tmp_path,
    ) == ["no", "no", "[1, 1] ['xx', 'xx', 'xx']"]


def test_after_a_group_is_cancelled_tasks_go_on_with_what_is_there(lines_of, tmp_path):
    assert lines_of(
        """
        os.chdir(sys.argv[1])
        gate, begun = threading.Event(), threading.Event()

        @task(path=FILE_INOUT, values=INOUT, gate=IN)
        def change(path, values, gate):
            begun.set()
            gate.wait()
            with open(path, "a") as file:
                file.write("x")
            values.append(1)

        open("a", "w").close()
        values = []
        with TaskGroup("group", False):
            for _ in range(5):
                change("a", values, gate)
        begun.wait()
        compss_cancel_group("group")
        for _ in range(2):
            change("a", values, gate)
        gate.set()
        print(compss_wait_on(values), compss_open("a").read())
        """,
        tmp_path,
    ) == ["[1, 1, 1] xxx"]


@pytest.mark.parametrize("sync", ["compss_barrier()", 'compss_open("a").close(), compss_wait_on(values)'])
def test_after_a_failure_that_cancels_successors_and_a_wait_tasks_go_on_with_what_is_there(lines_of, tmp_path, sync):
    assert lines_of(
        """
        os.chdir(sys.argv[1])

        @task(path=FILE_INOUT, values=INOUT, on_failure="CANCEL_SUCCESSORS")
        def fail(path, values):
            raise KeyError("no")

        @task(path=FILE_INOUT, values=INOUT)
        def change(path, values):
            with open(path, "a") as file:
                file.write("x")
            values.append(1)

        open("a", "w").close()
        values = []
        fail("a", values)
        change("a", values)
        SYNC
        print(values, os.path.getsize("a"))
        change("a", values)
        print(compss_wait_on(values), compss_open("a").read())
        """.replace("SYNC", sync),
        tmp_path,
    ) == ["[] 0", "[1] x"]


def test_a_task_may_be_importing_numpy(lines_of):
    """The first that uses `numpy.random` imports it, and the program calls others meanwhile."""
    assert lines_of(
        """
        import sys
        import types
        from importlib.machinery import ModuleSpec

        for name in ("numpy", "numpy.random"):
            module = types.ModuleType(name)
            module.__spec__ = ModuleSpec(name, None)
            module.__spec__._initializing = True
            sys.modules[name] = module

        @task(returns=1, values=COLLECTION_IN)
        def first(values, value):
            return values[0] + value

        print(compss_wait_on(first([1, 2], 3)))
        """
    ) == ["4"]


def test_each_task_has_random_numbers_of_its_own(lines_of):
    """Tasks that seed what all of a process shares, and draw while others do the same."""
    assert lines_of(
        """
        import random
        import time
        from random import random as drawn
        import numpy as np

        @task(returns=1)
        def draw(seed):
            random.seed(seed)
            np.random.seed(seed)
            found = []
            for _ in range(20):
                found.append((drawn(), random.gauss(0, 1), np.random.random_sample(), np.random.mtrand._rand.randint(1000)))
                time.sleep(0)
            return found

        def expected(seed):
            one, other = random.Random(seed), np.random.RandomState(seed)
            return [(one.random(), one.gauss(0, 1), other.random_sample(), other.randint(1000)) for _ in range(20)]

        random.seed(7)
        np.random.seed(7)
        found = compss_wait_on([draw(seed) for seed in range(200)])
        print(found == [expected(seed) for seed in range(200)])
        print(drawn() == random.Random(7).random(), np.random.rand() == np.random.RandomState(7).rand())
        print(isinstance(np.random.mtrand._rand, np.random.RandomState), np.random.mtrand._rand.rand() < 1)
        """,
        DOVETAIL_WORKERS="4",
    ) == ["True", "True True", "True True"]


def test_generators_are_copied_when_the_task_is_called(lines_of):
    """Tasks that draw from one that they only read would get what order makes of it, and so would the program."""
    assert (
        lines_of(
            """
        import copy
        import random
        import time
        import numpy as np

        def draw_some(generator):
            found = []
            for _ in range(20):
                found.append(generator.random())
                time.sleep(0)
            return found

        draw = task(generator=IN, returns=1)(draw_some)
        advance = task(generator=INOUT)(lambda generator: generator.random())

        for make in random.Random, np.random.default_rng, np.random.RandomState:
            generator, reference = make(5), make(5)
            drawn, expected = [], []
            for _ in range(50):
                drawn.append(draw(generator))
                expected.append(draw_some(copy.deepcopy(reference)))
                generator.random(), reference.random()
            print(compss_wait_on(drawn) == expected)
            advance(generator)
            later = draw(generator)
            reference.random()
            print(compss_wait_on(later) == draw_some(reference))
        """,
            DOVETAIL_WORKERS="4",
        )
        == ["True"] * 6
    )


def test_collections_of_any_depth_and_in_themselves(lines_of):
    """In what tasks change, in what is waited for behind a failure, and in what is gone on with."""
    assert lines_of("""
        class Box:
            value = 0

        @task(boxes=COLLECTION_INOUT)
        def replace(boxes):
            boxes[0] = Box()
            boxes[0].value = 7

        @task(values=INOUT, on_failure="CANCEL_SUCCESSORS")
        def fail(values):
            raise ValueError("no")

        @task(returns=1, on_failure="CANCEL_SUCCESSORS")
        def fail_to_make():
            raise ValueError("no")

        @task(values=INOUT)
        def append(values):
            values.append(8)

        def nested(value):
            for _ in range(50_000):
                value = [value]
            return value

        def innermost(value):
            while isinstance(value, list):
                value = value[0]
            return value

        boxes = [Box()]
        deep = nested(boxes)
        replace(boxes)
        compss_barrier()
        print(innermost(compss_wait_on(deep)).value, boxes[0].value)
        print(innermost(compss_wait_on(nested(fail_to_make()))))
        around = [fail_to_make(), 3]
        around.append(around)
        try:
            compss_wait_on(around)
        except ValueError as error:
            print(error)
        values = [nested(1)]
        values.append(values)
        fail(values)
        compss_barrier()
        append(values)
        print(compss_wait_on(values) is values, values[2:])
        """) == ["7 0", "None", "a 'list' contains itself and what tasks replace: it has no value", "True [8]"]
