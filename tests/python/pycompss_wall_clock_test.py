"""How long a PyCOMPSs program may take: `dovetail run --pycompss --wall-clock-limit SECONDS`."""

from __future__ import annotations

import os
import select

from conftest import script

HEADER = """
import os
import sys
import threading
from pycompss.api.api import *
from pycompss.api.binary import binary
from pycompss.api.parameter import *
from pycompss.api.task import task

"""


def test_a_program_ends_when_its_time_is_over(lines_of):
    lines_of("threading.Event().wait()", status=124, before=["--wall_clock_limit=0.2"])
    assert "the wall-clock limit of 0.2 s is over, and the program ends" in lines_of.errors


def test_what_a_program_does_ends_with_its_time(lines_of, tmp_path):
    """Tasks that have not begun do not run, bodies are interrupted, and what a task has started ends: its pipe has no writer any more.

    The program sets the timer to a shorter time, when all have begun.
    """
    os.mkfifo(tmp_path / "pipe")
    pipe = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    script(tmp_path / "endless", '#!/bin/sh\nexec 3>"$1"\necho begun >&3\nsleep 600\n')
    assert lines_of(
        """
        import select, signal

        pipe = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
        begun = threading.Event()

        @binary(binary=os.path.join(os.path.dirname(sys.argv[1]), "endless"))
        @task()
        def program(path):
            pass

        @task(path=FILE_OUT)
        def endless(path):
            begun.set()
            try:
                while True:
                    threading.Event().wait(0.01)
            finally:
                print("interrupted", flush=True)

        @task(path=FILE_INOUT)
        def behind(path):
            print("has run", flush=True)

        program(sys.argv[1])
        endless("file")
        behind("file")
        begun.wait()
        select.select([pipe], [], [])
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.1)
        try:
            compss_barrier()
        finally:
            print("barrier", flush=True)
        """,
        tmp_path / "pipe",
        status=124,
        before=["--wall-clock-limit", "1000"],
        DOVETAIL_WORKERS="2",
    ) == ["barrier", "interrupted"]
    assert "the wall-clock limit of 1000 s is over, and the program ends" in lines_of.errors
    hung_up = select.poll()
    hung_up.register(pipe, 0)
    assert hung_up.poll(60_000), "the program that the task has started has not ended"
    os.close(pipe)


def test_a_program_that_loses_the_exception_ends(lines_of):
    """Also what it has started. Its limit begins where it can lose the exception."""
    printed = lines_of(
        """
        import subprocess
        from dovetail import interruption

        interruption._GRACE_SECONDS = 0.1
        subprocess.Popen(["sleep", "600"])  # holds the standard output, which the test reads to its end
        print("begun", flush=True)
        limits = [interruption.Limit(0.1)]
        while True:
            try:
                if limits:
                    limits.pop().start()
                threading.Event().wait()
            except BaseException:
                print("lost", flush=True)
        """,
        status=124,
        before=["--wall-clock-limit", "1000"],
    )
    assert printed in (["begun"], ["begun", "lost"])
    assert "the program has not ended within 0.1 s after its wall-clock limit, and is ended" in lines_of.errors


def test_a_limit_that_comes_while_the_program_is_interrupted_changes_nothing(lines_of):
    lines_of(
        """
        import signal
        from dovetail import interruption

        interruption._GRACE_SECONDS = 0.5
        begun = threading.Event()

        @task()
        def stubborn():
            begun.set()
            while True:
                try:
                    threading.Event().wait(0.01)
                except BaseException:  # the program is being ended
                    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.1)

        stubborn()
        begun.wait()
        signal.raise_signal(signal.SIGINT)
        """,
        status=130,
        before=["--wall-clock-limit", "1000"],
    )
    assert "interrupted while these tasks did not end: stubborn" in lines_of.errors
    assert "wall-clock" not in lines_of.errors


def test_a_program_that_ends_in_time_is_not_touched(lines_of):
    assert lines_of(
        """
        import signal

        print(signal.getitimer(signal.ITIMER_REAL)[0] > 0)
        sys.exit(3)
        """,
        status=3,
        before=["--wall-clock-limit", "100"],
    ) == ["True"]
    assert "wall-clock" not in lines_of.errors


def test_a_time_that_is_none_is_bad_usage(lines_of):
    lines_of("", status=2, before=["--wall-clock-limit", "nan"])
    assert "--wall-clock-limit: seconds from 0 (no limit) to 100000000, not nan" in lines_of.errors
