"""The threads of BLAS are shared out among bodies that compute at the same time, and only among these."""

from __future__ import annotations

import os

import pytest
from dovetail.blas_threads import VARIABLES

HEADER = """
import sys, threading
import dovetail as dt
import numpy as np
from threadpoolctl import ThreadpoolController, threadpool_limits

blas = ThreadpoolController().select(user_api="blas").lib_controllers[0]
def limit(threads):
    blas.set_num_threads(threads)
    getattr(blas, "clear_controlling_thread", lambda: None)()

limit(64)
most = blas.get_num_threads()  # as many as it can have
runtime = dt.Runtime(workers=2).start()

@dt.task
def threads():
    return blas.get_num_threads()

def both(task):
    return dt.wait([task(), task()])

meeting = threading.Barrier(2)

@dt.task
def together():
    meeting.wait()
    seen = blas.get_num_threads()
    meeting.wait()
    return seen

@dt.io
def io_together():
    return together.function()
"""


@pytest.fixture
def lines(run_program):
    def run(text: str, **environment: str) -> list[str]:
        kept = dict.fromkeys(VARIABLES, "")
        clean = (
            f"import os\nfor name in {VARIABLES}:\n    os.environ.pop(name, None)\nos.environ.update({environment})\n"
        )
        done = run_program(clean + HEADER + text, **kept)
        if "IndexError" in done.stderr:
            pytest.skip("NumPy has a BLAS without threads here")
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


SHARE = "max(1, len(os.sched_getaffinity(0)) // 2)"


def test_two_bodies_have_their_share_and_one_has_all(lines):
    assert lines(f"""
print(dt.wait(threads()) == most, both(together) == [min(most, {SHARE})] * 2, blas.get_num_threads() == most, dt.wait(threads()) == most)
""") == ["True True True True"]


def test_bodies_of_io_tasks_do_not_count(lines):
    assert lines("print(both(io_together) == [most] * 2)") == ["True"]


def test_a_body_that_waits_for_others_does_not_count(lines):
    assert lines("""
@dt.task
def outer():
    return dt.wait(threads()), blas.get_num_threads()

print(dt.wait(outer()) == (most, most))
""") == ["True"]


def test_bodies_that_fail_and_bodies_that_fork_leave_nothing_behind(lines):
    assert lines(f"""
@dt.task
def fails():
    meeting.wait()
    raise ValueError

for _ in range(3):
    for future in [fails(), fails()]:
        try:
            dt.wait(future)
        except dt.TaskFailed:
            pass

@dt.task
def forks():
    child = os.fork()
    if child == 0:
        os._exit(0)
    return os.waitpid(child, 0)[1]

print(dt.wait(forks()), blas.get_num_threads() == most, both(together) == [min(most, {SHARE})] * 2, blas.num_threads == most)
""") == ["0 True True True"]


def test_another_runtime_that_starts_meanwhile_does_not_keep_the_limit(lines):
    assert lines("""
gate = threading.Barrier(3)

@dt.task
def holds():
    gate.wait()
    gate.wait()

held = [holds(), holds()]
gate.wait()
with dt.Runtime(workers=1):
    limited = blas.get_num_threads() < most
gate.wait()
dt.wait(held)
print(limited, blas.get_num_threads() == most)
""") == ["True True"]


def test_what_the_program_sets_itself_stays(lines):
    assert lines("""
@dt.task
def sets():
    meeting.wait()
    limit(3)
    meeting.wait()

both(sets)
print(blas.get_num_threads())
limit(most)
with threadpool_limits(5):
    print(both(together), blas.get_num_threads())
print(blas.get_num_threads() == most)
""") == ["3", "[5, 5] 5", "True"]


def test_who_has_set_a_variable_has_decided(lines):
    assert lines("print(both(together) == [most] * 2)", OMP_NUM_THREADS="2") == ["True"]


def test_the_logger_is_told_once(lines):
    told = lines(f"""
import logging
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
both(together)
both(together)
print({SHARE})
""")
    assert told[:-1] in ([], [f"BLAS computes with {told[-1]} of its threads while several tasks compute"])
    if os.cpu_count() == 2:
        assert len(told) == 2
