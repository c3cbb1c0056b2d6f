"""Modules of PyCOMPSs beside its decorators: streams, collections in parts, pickled objects; and functions that Numba compiles."""

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


def test_objects_and_files_are_handed_over_while_tasks_run(lines_of, tmp_path):
    script = tmp_path / "writer"
    script.write_text('#!/bin/sh\nfor i in 1 2 3; do echo "$2" > "$1/$i"; done\n')
    script.chmod(0o755)
    (tmp_path / "files").mkdir()
    assert lines_of(
        """
        from pycompss.api.binary import binary
        from pycompss.streams.distro_stream import FileDistroStream, ObjectDistroStream

        answer = threading.Event()

        @task(stream=STREAM_OUT)
        def produce(stream, numbers):
            for number in numbers:
                stream.publish(number)
            answer.wait()
            stream.publish_list(["answered", "last"])
            stream.close()

        @task(stream=STREAM_IN, returns=1)
        def consume(stream):
            got = []
            while not stream.is_closed():
                got += stream.poll(timeout=10)
                if len(got) >= 4:
                    answer.set()
            return got + stream.poll()

        @binary(binary="${WRITER}")
        @task(stream=STREAM_OUT)
        def write(stream, text):
            pass

        @task(stream=STREAM_IN, returns=1)
        def read(stream):
            got = []
            while not stream.is_closed():
                got += stream.poll()
            return got + stream.poll()

        stream = ObjectDistroStream(alias="one")
        produce(stream, [1, 2])
        produce(stream, [3, 4])
        print(sorted(map(str, compss_wait_on(consume(ObjectDistroStream(alias="one"))))))
        files = FileDistroStream(base_dir=sys.argv[1])
        write(files, "text")
        print([os.path.basename(path) for path in compss_wait_on(read(files))])

        @task(stream=STREAM_OUT, on_failure="IGNORE")
        def dies(stream):
            raise OSError("no more")

        other = ObjectDistroStream()
        dies(other)
        print(compss_wait_on(read(other)))
        """,
        tmp_path / "files",
        WRITER=str(script),
        DOVETAIL_WORKERS="4",
    ) == ["['1', '2', '3', '4', 'answered', 'answered', 'last', 'last']", "['1', '2', '3']", "[]"]


STREAMS = """
        from pycompss.streams.distro_stream import FileDistroStream, ObjectDistroStream

        @task(returns=1, on_failure="CANCEL_SUCCESSORS")
        def fails():
            raise ValueError("no input")

        @task(s=STREAM_OUT)
        def produce(x, s):
            s.publish(x)
            s.close()

        # Their programs' loop, which looks no further when the stream is closed.
        @task(s=STREAM_IN, returns=1)
        def consume(s):
            got = []
            while not s.is_closed():
                got += s.poll()
            return got
"""


def test_a_consumer_does_not_wait_for_a_producer_that_never_begins(lines_of):
    """It is cancelled, or refused."""
    assert lines_of(
        STREAMS
        + """
        from pycompss.api.container import container

        @container(engine="DOCKER", image="debian")
        @task(s=STREAM_OUT)
        def cannot(s):
            pass

        @task(s=STREAM_OUT, path=FILE_IN)
        def reads(s, path):
            pass

        s = ObjectDistroStream()
        produce(fails(), s)
        print(compss_wait_on(consume(s)))

        s = ObjectDistroStream()
        for call in (lambda: cannot(s), lambda: reads(s, 5)):
            try:
                call()
            except Exception as error:
                print(type(error).__name__)
        produce(1, s)
        print(compss_wait_on(consume(s)))
        """,
        DOVETAIL_WORKERS="4",
    ) == ["[]", "ValueError", "TypeError", "[1]"]


def test_a_stream_is_not_closed_while_there_is_something_to_get(lines_of, tmp_path):
    assert lines_of(
        STREAMS
        + """
        @task(s=STREAM_OUT)
        def write(s):
            for name in "ab":
                open(os.path.join(s.base_dir, name), "w").close()
            s.close()

        s = ObjectDistroStream(alias="items")
        produce(1, s)
        produce(2, s)
        compss_barrier()
        print(sorted(compss_wait_on(consume(ObjectDistroStream(alias="items")))), s.is_closed())
        s = FileDistroStream(base_dir=sys.argv[1])
        write(s)
        compss_barrier()
        print([os.path.basename(path) for path in compss_wait_on(consume(s))], s.is_closed())
        """,
        tmp_path,
    ) == ["[1, 2] True", "['a', 'b', 'program.py'] True"]


def test_poll_waits_while_one_of_several_producers_may_still_write(lines_of):
    """And no longer: the times are far more than the test may take."""
    assert lines_of(
        STREAMS
        + """
        go = threading.Event()

        @task(s=STREAM_OUT)
        def quick(s):
            s.close()
            s.close()

        @task(s=STREAM_OUT)
        def slow(s):
            go.wait()
            s.publish("late")
            s.close()

        @task(s=STREAM_OUT, on_failure="IGNORE")
        def dies(s):
            raise OSError("no more")

        s = ObjectDistroStream()
        slow(s)
        quick(s)
        dies(s)
        while len(s._content.producers) > 1:
            os.sched_yield()
        timer = threading.Timer(0.3, go.set)
        timer.start()
        print(s.poll(timeout=3600_000), s.poll(timeout=3600_000), s.is_closed())
        """,
        DOVETAIL_WORKERS="4",
    ) == ["['late'] [] True"]


def test_collections_in_parts(lines_of, tmp_path):
    (tmp_path / "texts").mkdir()
    for name, text in (("a", "x y x"), ("b", "y z")):
        (tmp_path / "texts" / name).write_text(text)
    assert lines_of(
        """
        import random
        from pycompss.dds import DDS

        folder = sys.argv[1]
        ten = DDS().load(range(10), 3)
        print(ten.num_of_partitions(), ten.collect(True), ten.map(lambda x, y: x + y, 1).filter(lambda x: x % 2).collect())
        print(ten.sum(), ten.count(), ten.reduce(max), ten.reduce(lambda a, b: a + b, 100, arity=2), ten.take(4), DDS().load([], 2).collect())

        texts = DDS().load_files_from_dir(os.path.join(folder, "texts"))
        words = texts.flat_map(lambda pair: pair[1].split())
        print(sorted(words.count_by_value().items()), sorted(words.distinct().collect()))
        pairs = words.key_by(len).map_values(lambda word: word + "!")
        print(sorted(pairs.group_by_key().collect_as_dict()[1]), pairs.count_by_key(as_dict=True), set(pairs.keys().collect()))

        numbers = random.Random(5)
        keys = [(numbers.randrange(1000), place) for place in range(500)]
        ordered = DDS().load(keys, 7).sort_by_key()
        print([key for key, _ in ordered.collect()] == sorted(key for key, _ in keys), ordered.num_of_partitions())
        down = DDS().load(keys, 7).sort_by_key(ascending=False, num_of_parts=3)
        print([key for key, _ in down.collect()] == sorted((key for key, _ in keys), reverse=True), down.num_of_partitions())

        left, right = DDS().load([("a", 1), ("b", 2), ("a", 3)], 2), DDS().load([("a", 4), ("c", 5)], 2)
        print(sorted(left.join(right).collect()), sorted(left.union(right).reduce_by_key(lambda a, b: a + b).collect()))
        print(left.flatten_by_key(range).collect(), left.partition_by(lambda key: ord(key), 2).collect(True))

        ten.save_as_pickle(os.path.join(folder, "pickles"))
        ten.save_as_text_file(os.path.join(folder, "lines"))
        compss_barrier()
        print(DDS().load_pickle_files(os.path.join(folder, "pickles")).collect() == list(range(10)), sorted(os.listdir(os.path.join(folder, "lines"))))
        first = os.path.join(folder, "lines", "00000.txt")
        print(DDS().load_text_file(first, 2, in_bytes=False).collect(True), DDS().load_file(first, 4).collect())

        @task(returns=list)
        def part(number):
            return [number, number + 1]

        print(DDS().load([part(0), part(5)], -1).map(lambda x: -x).collect())

        mine = DDS()
        mine.load([1, 2, 1], 2)
        with open(first, "w") as file:
            file.write("  a \\n\\tb\\n")
        print(mine.load_text_file(first) is mine, mine.collect(True), DDS().load_text_file(first, strip=False).collect())
        mine.load([[1, 2, 1]], -1)
        mine.load_pickle_files(os.path.join(folder, "pickles"))
        print(mine.collect(), [DDS().load_file(first).num_of_partitions(), DDS().load_files_from_dir(folder).num_of_partitions()])
        future = mine.count_by_value(arity=3, as_fo=True)
        print(type(future).__name__, compss_wait_on(future) == mine.count_by_value(), future.result()[1])
        counted = mine.count_by_value(as_dict=False)
        print(counted.map(lambda pair: pair[0] * pair[1]).sum(), counted.num_of_partitions())
        print(sorted(pairs.count_by_key().collect()), DDS().load([7], 1).count_by_value(as_dict=False).collect(), DDS().count_by_value())
        """,
        tmp_path,
        PYTHONHASHSEED="0",
    ) == [
        "3 [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]] [1, 3, 5, 7, 9]",
        "45 10 9 145 [0, 1, 2, 3] []",
        "[('x', 2), ('y', 2), ('z', 1)] ['x', 'y', 'z']",
        "['x!', 'x!', 'y!', 'y!', 'z!'] {1: 5} {1}",
        "True 7",
        "True 3",
        "[('a', (1, 4)), ('a', (3, 4))] [('a', 8), ('b', 2), ('c', 5)]",
        "[('a', 0), ('b', 0), ('b', 1), ('a', 0), ('a', 1), ('a', 2)] [[('b', 2)], [('a', 1), ('a', 3)]]",
        "True ['00000.txt', '00001.txt', '00002.txt']",
        "[['0', '1'], ['2']] ['0\\n1\\n', '2\\n']",
        "[0, -1, -5, -6]",
        "True [[1], [2, 1], ['  a ', '\\tb']] ['  a \\n', '\\tb\\n']",
        "[1, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9] [1, 1]",
        "Future True 3",
        "49 4",
        "[(1, 5)] [(7, 1)] {}",
    ]


def test_modules_that_programs_import(lines_of, tmp_path):
    assert lines_of(
        """
        import pycompss.interactive as ipycompss
        from pycompss.tests.outlog import create_logger
        from pycompss.util.serialization.serializer import deserialize_from_file, serialize_to_file

        logger = create_logger()
        logger.warning("heard")
        serialize_to_file({"a": lambda x: x + 1}, sys.argv[1], logger)
        print(deserialize_from_file(sys.argv[1], logger)["a"](1))

        done = []

        @task()
        def f():
            done.append(1)

        f()
        compss_snapshot()
        compss_snapshot()
        print(done)
        try:
            import pycompss.nosuch
        except ImportError as error:
            print(error)
        """,
        tmp_path / "pickle",
    ) == [
        "2",
        "[1]",
        "the module 'pycompss.nosuch' of PyCOMPSs is not covered by Dovetail (docs/pycompss.md says what is)",
    ]
    assert "heard" in lines_of.errors
    assert lines_of.errors.count("stores nothing") == 1


NUMBA = """
    @task(returns=1, numba=True)
    def plain(value):
        return value + 1

    @task(returns=1, numba={"nopython": True}, numba_flags={"nogil": True})
    def with_flags(value):
        return value * 2

    @task(returns=1, numba="vectorize", numba_signature=["float64(float64, float64)"])
    def each(x, y):
        return x + y

    @task(returns=1, numba="guvectorize", numba_signature=["(int64[:], int64, int64[:])"], numba_declaration="(n),()->(n)")
    def along(x, y, result):
        for place in range(x.shape[0]):
            result[place] = x[place] + y

    @task(returns=1, numba="stencil")
    def around(a):
        return a[-1] + a[1]

    @task(returns=1, numba="cfunc", numba_signature="float64(float64)")
    def for_c(t):
        return t / 2
"""


def test_functions_that_numba_compiles(lines_of):
    pytest.importorskip("numba")
    assert lines_of(
        NUMBA
        + """
    import numpy as np
    from numba import njit

    @task(returns=1)
    @njit
    def already(value):
        return value - 1

    results = plain(1), with_flags(4), each(np.arange(2.0), np.arange(2.0)), along(np.arange(2), 3, np.zeros(2, int)), around(np.arange(4)), for_c(3.0)
    print([np.asarray(value).tolist() for value in compss_wait_on(list(results))], compss_wait_on(already(1)))
    print(plain.program._made.signatures != [], with_flags.program._made.targetoptions["nogil"])
    """
    ) == ["[2, 8, [0.0, 2.0], [3, 4], [0, 2, 4, 0], 1.5] 0", "True True"]


# In the place of Numba, which cannot be had everywhere: it records what it is asked for, and what it "compiles" says so.
STAND_IN = """
calls = []


def _maker(mode):
    def make(*arguments, **flags):
        def decorate(function):
            def compiled(*values):
                return f"{mode} {function(*values)}"

            calls.append((mode, arguments, flags))
            compiled.ctypes = lambda *values: f"for C {compiled(*values)}"
            compiled.py_func = function
            return compiled

        return decorate

    return make


jit, njit, vectorize, guvectorize, stencil, cfunc = map(_maker, ("jit", "njit", "vectorize", "guvectorize", "stencil", "cfunc"))
"""


def test_numba_is_asked_once_for_what_the_task_says(lines_of, tmp_path):
    (tmp_path / "numba.py").write_text(STAND_IN)
    assert lines_of(
        NUMBA
        + """
    import numba

    @task(returns=1)
    @numba.njit(parallel=True)
    def already(value):
        return value - 1

    @task(returns=1, numba=False)
    def never(value):
        return value

    def results():
        return compss_wait_on([plain(1), with_flags(4), each(1, 2), around([1, 2, 3]), for_c(3.0), already(1), never(5)])

    print(len(numba.calls), results())
    results()
    for call in sorted(numba.calls, key=str):
        print(*call)
    class Row(list):
        shape = property(lambda self: (len(self),))
    print(compss_wait_on(along(Row([1, 2]), 3, Row([0, 0]))), numba.calls[-1])
    """
    ) == [
        "1 ['jit 2', 'jit 8', 'vectorize 3', 'stencil 5', 'for C cfunc 1.5', 'njit 0', 5]",
        "cfunc ('float64(float64)',) {}",
        "jit () {'nogil': True, 'nopython': True}",
        "jit () {}",
        "njit () {'parallel': True}",
        "stencil () {}",
        "vectorize (['float64(float64, float64)'],) {}",
        "guvectorize None ('guvectorize', (['(int64[:], int64, int64[:])'], '(n),()->(n)'), {})",
    ]


def test_numba_that_is_not_installed_is_named(lines_of):
    assert lines_of(
        NUMBA
        + """
    sys.modules["numba"] = None  # as where it is not installed
    try:
        task(returns=1, numba="generated_jit")(lambda value: value)
    except ValueError as error:
        print(error)
    try:
        task(returns=1, numba="cfunc")(lambda value: value)
    except TypeError as error:
        print(error)
    plain(1)
    """,
        status=1,
    ) == [
        "@task of '<lambda>': numba='generated_jit' is not covered by Dovetail: there is True, jit, njit, vectorize, guvectorize, stencil, cfunc",
        "@task of '<lambda>': numba='cfunc' must be given numba_signature",
    ]
    assert "task 'plain': numba='jit' needs Numba, which is not installed here" in lines_of.errors
