"""What PyCOMPSs' programming model promises about objects that are deleted, replaced, or not made because their task failed."""

from __future__ import annotations

import collections

HEADER = """
import collections
import os
import sys
import threading
from pycompss.api.api import *
from pycompss.api.on_failure import on_failure
from pycompss.api.parameter import *
from pycompss.api.task import task

class Box:
    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return f"Box({self.n})"

"""


def test_deleting_an_object_drops_nothing_that_pending_tasks_need(lines_of):
    assert lines_of("""
        gate = threading.Event()

        @task(values=COLLECTION_INOUT)
        def replace(values):
            for place, value in enumerate(values):
                values[place] = Box(value.n + 10)

        @task(gate=IN, returns=1)
        def held(gate):
            gate.wait()
            return 0

        @task(values=COLLECTION_IN, returns=1)
        def total(values, _):
            return sum(value.n for value in values)

        first, second = Box(1), Box(2)
        replace([first, second])
        replace([first, second])
        compss_barrier()
        pending = total([first, second], held(gate))
        print(compss_delete_object(first), compss_delete_object(second, 7))
        gate.set()
        print(compss_wait_on(pending))
        compss_barrier()
        from dovetail.pycompss import items
        print(len(items._replaced))
    """) == ["True [True, True]", "43", "0"]


def test_a_list_that_a_task_changes_stays_the_programs_own(lines_of):
    """Also when tasks have put others in the place of its items before."""
    assert lines_of("""
        @task(values=COLLECTION_INOUT)
        def replace(values):
            for place, value in enumerate(values):
                values[place] = Box(value.n + 10)

        @task(values=INOUT)
        def grow(values):
            values[0].n += 100
            values.append("new")

        values = [Box(1), Box(2)]
        replace(values)
        grow(values)
        print(compss_wait_on(values))
    """) == ["[Box(111), Box(12), 'new']"]


def test_items_that_tasks_replaced_are_found_in_containers_of_all_types(lines_of):
    assert lines_of("""
        Pair = collections.namedtuple("Pair", "a b")

        @task(values=COLLECTION_INOUT)
        def replace(values):
            values[0] = Box("new")

        @task(returns=1)
        def look(value):
            return value

        old = Box("old")
        replace([old])
        table = collections.defaultdict(list, k=old)
        print(compss_wait_on(look(table)), compss_wait_on(look(Pair(old, 1))))
        print(compss_wait_on(look(collections.deque([old], maxlen=3))), compss_wait_on(table)["k"])
    """) == [
        "defaultdict(<class 'list'>, {'k': Box(new)}) Pair(a=Box(new), b=1)",
        "deque([Box(new)], maxlen=3) Box(new)",
    ]


def test_waiting_for_containers_with_failed_tasks_keeps_their_types(lines_of):
    assert lines_of("""
        Pair = collections.namedtuple("Pair", "a b")

        @task(returns=1, on_failure="CANCEL_SUCCESSORS")
        def doomed():
            raise KeyError("gone")

        @task(returns=1)
        def one():
            return 1

        print(compss_wait_on(Pair(doomed(), one())))
        print(compss_wait_on(collections.OrderedDict(a=one(), b=doomed())))
        print(compss_wait_on(collections.defaultdict(list, a=[doomed(), one()])))
    """) == [
        "Pair(a=None, b=1)",
        str(collections.OrderedDict(a=1, b=None)),
        "defaultdict(<class 'list'>, {'a': [None, 1]})",
    ]


FILES = """
    os.chdir(sys.argv[1])

    def write(path, text):
        with open(path, "w") as file:
            file.write(text)

    def text_of(path):
        with compss_open(path) as file:
            return file.read()

    write("default", "the default")
    os.mkdir("folder")
    write("folder/inside", "inner")
"""


def test_the_default_of_a_file_is_its_content_when_the_task_failed(lines_of, tmp_path):
    assert lines_of(
        FILES
        + """
    @on_failure(management="IGNORE", returns=5, path="default")
    @task(path=FILE_OUT, returns=1)
    def fail(path):
        write(path, "half of")
        raise OSError("no")

    @on_failure(management="IGNORE", paths=["default"])
    @task(paths=COLLECTION_FILE_OUT)
    def fail_all(paths):
        raise OSError("no")

    @on_failure(management="IGNORE", target="folder")
    @task(target=DIRECTORY_OUT)
    def fail_folder(target):
        os.mkdir(target)
        write(os.path.join(target, "part"), "part")
        raise OSError("no")

    @on_failure(management="IGNORE", changed="default")
    @task(changed=FILE_INOUT)
    def fail_change(changed):
        write(changed, "half of")
        raise OSError("no")

    print(compss_wait_on(fail("out")), text_of("out"))
    fail_all(["a", "b"])
    print(text_of("a"), repr(text_of("b")))
    fail_folder("target")
    compss_wait_on_directory("target")
    print(os.listdir("target"), text_of("target/inside"))
    write("changed", "before")
    fail_change("changed")
    print(text_of("changed"))
    fail_change("default")
    print(text_of("default"))
    """,
        tmp_path,
    ) == ["5 the default", "the default ''", "['inside'] inner", "the default", "half of"]


def test_a_default_file_that_is_not_there_is_a_failure(lines_of, tmp_path):
    assert (
        lines_of(
            FILES
            + """
    @on_failure(management="IGNORE", path="nosuch")
    @task(path=FILE_OUT)
    def fail(path):
        raise OSError("no")

    fail("out")
    text_of("out")
    print("not reached")
    """,
            tmp_path,
            status=1,
        )
        == []
    )
    assert "the default of 'path' cannot be put in place" in lines_of.errors and "nosuch" in lines_of.errors
