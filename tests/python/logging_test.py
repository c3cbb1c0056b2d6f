"""What the logger `dovetail` gets, and the last line of a program that fails."""

from __future__ import annotations

import logging
import os
import signal

import dovetail as dt
import pytest


def refuse():
    raise OSError("the disk is away")


def test_failures_and_attempts_with_the_line_that_made_the_task(caplog):
    with caplog.at_level(logging.INFO, logger="dovetail"), pytest.raises(dt.TaskFailed):
        dt.task(retries=1, retry_delay=0.01, label="read")(refuse)().result()
    again, failed = caplog.records
    assert (again.levelname, failed.levelname) == ("WARNING", "INFO")
    assert "task 'read' runs again after 0.01 s: attempt 1 failed: OSError: the disk is away" in again.getMessage()
    assert "task 'read' failed: OSError: the disk is away" in failed.getMessage()
    for record in caplog.records:
        assert "logging_test.py" in record.getMessage()
        assert "in test_failures_and_attempts_with_the_line_that_made_the_task" in record.getMessage()


def test_failures_are_not_said_twice_by_default(run_program):
    result = run_program(
        """
import dovetail as dt

@dt.task
def fail():
    raise LookupError

try:
    fail().result()
except dt.TaskFailed:
    print("seen")
"""
    )
    assert (result.stdout, result.stderr) == ("seen\n", "")


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_death_of_a_worker_process(caplog):
    with pytest.raises(dt.TaskFailed):
        dt.task(process=True)(_die)().result()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "was killed by SIGKILL" in caplog.text
    assert "while it ran task '_die'" in caplog.text


FAILING = """
import dovetail as dt

@dt.task{options}
def fail():
    {body}

{end}
"""


@pytest.mark.parametrize("end", ["fail()", "fail().result()", "with dt.Runtime(): fail()"])
@pytest.mark.parametrize(
    ("options", "body", "step"),
    [
        ("", "raise LookupError", "except dt.TaskFailed"),
        ("", "open('/no/such/file')", "look at that path"),
        ("", "raise OSError(28, 'no room', '/tmp/x')", "make room on the file system of '/tmp/x'"),
        ("", "raise OSError(24, 'many files')", "raise the limit of open files (ulimit -n)"),
        ("", "None + 1", "first traceback above ends: task 'fail' raised TypeError there"),
        ("", "raise OSError(5, 'a disk failed')", "task 'fail' run again: retries=2, retry_on=OSError"),
        (
            "",
            "file = dt.open(dt.__file__); file.close(); file.pread(bytearray(1))",
            "wait for it before the file is closed",
        ),
        ("(time_limit=0.05)", "while True: pass", "give task 'fail' a longer time_limit="),
    ],
)
def test_the_last_line_says_what_to_do_next(run_program, options, body, step, end):
    result = run_program(FAILING.format(options=options, body=body, end=end))
    last = result.stderr.splitlines()[-1]
    assert last.startswith("dovetail: what to do: ")
    assert step in last
    assert result.returncode == 1


@pytest.mark.parametrize(
    ("call", "step"), [("after(fail(0))", "task 'fail' run again"), ("fail()", "call that made task 'fail'")]
)
def test_the_last_line_names_the_task_that_failed_first(run_program, call, step):
    text = f"""
import dovetail as dt

@dt.task
def fail(number):
    raise OSError(5, "a disk failed")

@dt.task
def after(value):
    pass

dt.wait({call})
"""
    assert step in run_program(text).stderr.splitlines()[-1]


def test_no_last_line_for_what_is_no_failure_of_a_task(run_program):
    result = run_program("import dovetail as dt\ndt.wait(dt.task(abs)(-1))\nraise LookupError\n")
    assert result.stderr.splitlines()[-1] == "LookupError"
    result = run_program("import dovetail as dt\ndt.wait(dt.task(abs)(-1))\n")
    assert (result.returncode, result.stderr) == (0, "")


def test_what_was_learned(caplog, tmp_path):
    @dt.io(storage_bw="auto(2,10,2)", device=tmp_path)
    def writes():
        pass

    @dt.io(storage_bw=5, device=tmp_path)
    def fixed():
        pass

    def run():
        with dt.Runtime():
            dt.wait([task() for _ in range(5) for task in (writes, fixed)])

    run()
    assert caplog.records == []
    with caplog.at_level(logging.INFO, logger="dovetail"):
        run()
    said = [record.getMessage() for record in caplog.records if "storage_bw" in record.getMessage()]
    assert any("task 'writes' with storage_bw=auto(2,10,2) on device" in text for text in said)
    assert not any("fixed" in text for text in said)
