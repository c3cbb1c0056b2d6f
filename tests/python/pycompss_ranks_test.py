"""Tasks of PyCOMPSs programs that are ranks of MPI: of programs, and of the task's own function."""

from __future__ import annotations

import shutil

import pytest
from conftest import script

HEADER = """
import os
import sys
from pycompss.api.api import *
from pycompss.api.constraint import constraint
from pycompss.api.mpi import mpi
from pycompss.api.mpmd_mpi import mpmd_mpi
from pycompss.api.parameter import *
from pycompss.api.task import task

def text_of(path):
    with compss_open(path) as file:
        return file.read()

"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


MPI = pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun")
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@MPI
def test_ranks_of_programs(lines_of, folder):
    script(folder / "rank", '#!/bin/sh\necho rank >> "$1"\necho "threads $OMP_NUM_THREADS" >> "$1"\nexit "$2"\n')
    assert lines_of(
        """
        count = 3

        @constraint(computing_units=2)
        @mpi(runner="mpirun", binary="./rank", processes="count", fail_by_exit_value=False)
        @task(path=FILE_INOUT, returns=int)
        def same(path, value):
            pass

        # A single one: the starter may end the others when one fails.
        @mpi(runner="mpirun", binary="sh", args="-c 'exit {{value}}'", fail_by_exit_value=False)
        @task(returns=int)
        def ends_with(value):
            pass

        @constraint(computing_units=2)
        @mpi(runner="mpirun", binary="./rank", args="{{path}} 0", processes="$NUMBER", scale_by_cu=True)
        @task(path=FILE_INOUT)
        def scaled(path):
            pass

        @mpmd_mpi(runner="mpirun", programs=[dict(binary="./rank", processes=1, args="{{path}} 0"), dict(binary="sh", processes=2, args="-c 'echo other >> {{path}}'")])
        @task(path=FILE_INOUT)
        def several(path):
            pass

        @mpi(runner="nosuchrunner", binary="date")
        @task(on_failure="IGNORE")
        def nowhere():
            pass

        for path in "a", "b", "c":
            open(path, "w").close()
        print(compss_wait_on(same("a", 0), ends_with(7)), sorted(text_of("a").split("\\n")))
        scaled("b")
        several("c")
        nowhere()
        print(sorted(text_of("b").split()).count("rank"), "threads 1" in text_of("b"), sorted(text_of("c").split()))
        """,
        NUMBER="2",
        **AS_ROOT,
    )[-2:] == [
        "[0, 7] ['', 'rank', 'rank', 'rank', 'threads 2', 'threads 2', 'threads 2']",
        "4 True ['1', 'other', 'other', 'rank', 'threads']",
    ]
    assert "@mpi needs 'nosuchrunner', which is not installed here" in lines_of.errors


@MPI
def test_ranks_of_a_function_share_out_lists_and_return_one_list(lines_of, folder):
    assert lines_of(
        """
        @mpi(runner="mpirun", processes=2, one_layout={block_count: 2}, more_layout={block_count: 3, block_length: 2, stride: 1})
        @task(one=COLLECTION_IN, more=COLLECTION_IN, returns=2, on_failure="FAIL")
        def f(factor, one, more):
            rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK")))
            if factor < 0 and rank == 1:
                raise KeyError("of rank 1")
            return rank, factor * one, more

        print(compss_wait_on(f(10, [1, 2], [1, 2, 3, 4])))
        try:
            @mpi(runner="mpirun")
            @task(values=INOUT)
            def changes(values):
                pass
        except TypeError as error:
            print("'values' is to be changed" in str(error))
        f(-1, [1, 2], [1, 2, 3, 4])
        """,
        status=1,
        **AS_ROOT,
    ) == ["[(0, 10, [1, 2, 3, 4]), (1, 20, [2, 3])]", "True"]
    assert "task 'f' failed: KeyError: 'of rank 1'" in lines_of.errors


@MPI
def test_ranks_that_fail_or_leave_no_result_fail_the_task(lines_of, folder):
    """The others may wait for such a rank; the one here waits until it is ended."""
    assert (
        lines_of(
            """
        def number():
            return int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK")))

        class Odd(Exception):
            def __reduce__(self):
                raise TypeError("stays where it is")

        # As mpi4py: the process waits for the others when it ends by itself.
        @mpi(runner="mpirun", processes=2)
        @task(kind=IN, returns=1, on_failure="CANCEL_SUCCESSORS")
        def f(kind):
            import atexit, threading
            if kind in ("exit at once", "exit"):
                if number() == 1:
                    os._exit(0) if kind == "exit at once" else sys.exit(0)
                return number()
            if number() == 1:
                threading.Event().wait()
            atexit.register(threading.Event().wait)
            raise KeyError("first") if kind == "key" else Odd("second")

        for kind in "exit at once", "exit", "key", "odd":
            print(compss_wait_on(f(kind)))
        """,
            **AS_ROOT,
        )
        == ["None"] * 4
    )
    assert "of 2 ranks, these ended without a result: 1;" in lines_of.errors
    assert "RuntimeError: rank 1 ended by SystemExit: 0;" in lines_of.errors
    assert "KeyError: 'first';" in lines_of.errors
    assert "RuntimeError: rank 0 ended by Odd: second;" in lines_of.errors
