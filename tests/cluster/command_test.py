"""Whole programs that name their cluster outside."""

from __future__ import annotations

import os
import subprocess
import sys

import hangs
import pytest

pytest.importorskip("distributed", reason="Dask distributed is not installed")

PROGRAM = """
import os, sys
import dovetail as dt

@dt.task
def process():
    return os.getpid()

@dt.task(path=dt.FILE_OUT)
def last(path):
    with open(path, "w") as file:
        file.write("written")

future = process()
last(sys.argv[1])
assert future.result() != os.getpid()
if len(sys.argv) > 2:
    dt.task(lambda: 1 / 0)()
"""


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return hangs.run(list(command), timeout=200, env={**os.environ, **environment})


BOTH = [(True, True), (False, False)]


@pytest.mark.parametrize(
    ("by_option", "fails"), [*BOTH, (True, False), (False, True)] if "DOVETAIL_TEST_LONG" in os.environ else BOTH
)
def test_a_program_runs_unchanged_and_its_last_tasks_are_waited_for(local, tmp_path, by_option, fails):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    arguments = [str(program), str(tmp_path / "file"), *(["fails"] if fails else [])]
    if by_option:
        command = ["-m", "dovetail.cli", "run", "--cluster", local.scheduler_address]
        done = run(sys.executable, *command, *arguments)
    else:
        done = run(sys.executable, *arguments, DOVETAIL_CLUSTER=local.scheduler_address)
    assert done.returncode == int(fails), done.stderr
    assert (tmp_path / "file").read_text() == "written"
    assert ("ZeroDivisionError" in done.stderr) == fails, done.stderr


def test_a_scheduler_that_does_not_answer_is_bad_usage(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("print('not run')")
    done = run(sys.executable, "-m", "dovetail.cli", "run", "--cluster", "tls://localhost:no", str(program))
    assert done.returncode == 2 and "--cluster tls://localhost:no" in done.stderr and not done.stdout


def test_without_a_cluster_nothing_of_dask_is_imported():
    code = "import sys, dovetail as dt; dt.wait(dt.task(lambda: 1)()); print('distributed' in sys.modules)"
    done = run(sys.executable, "-c", code)
    assert done.stdout == "False\n", done.stderr
