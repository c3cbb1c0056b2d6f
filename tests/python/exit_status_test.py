"""How a program ends whose tasks failed, and which call its messages name."""

from __future__ import annotations

import sys
import textwrap

import dovetail as dt
import hangs
import pytest

FAILING = """\
import asyncio
import atexit
import sys
import dovetail as dt

@dt.task(label="lost")
def body():
    raise ValueError("nobody looks")

@dt.task
def after(x):
    return x

@atexit.register
def last():
    print("handlers run")

def main():
    {call}

main()
{end}
"""
LINE = 19


@pytest.mark.parametrize("call", ["body()", "body(); body()", "after(after(body()))", "dt.io(body.function)()"])
@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("", 1),
        ("print('the end')", 1),
        ("sys.exit()", 0),
        ("sys.exit(0)", 0),
        ("raise SystemExit", 0),
        ("sys.exit(5)", 5),
        ("raise KeyError", 1),
        ("from sys import exit as leave; leave(0)", 0),
    ],
)
def test_a_failure_that_nobody_asked_for_is_the_exit_status(run_program, call, end, status):
    result = run_program(FAILING.format(call=call, end=end))
    assert result.returncode == status, result.stderr
    assert "ValueError: nobody looks" in result.stderr
    label = "body" if "function" in call else "lost"
    assert f"task '{label}' was made by the call at" in result.stderr
    assert f'program.py", line {LINE}, in main' in result.stderr
    assert result.stdout.endswith("handlers run\n")


@pytest.mark.parametrize(
    "call",
    [
        "dt.wait(after(1))",
        "try: dt.wait(body())\n    except dt.TaskFailed: pass",
        "body()\n    try: dt.barrier()\n    except dt.TaskFailed: pass",
        "dt.task(on_failure='ignore')(body.function)()",
    ],
)
def test_what_was_asked_for_or_is_ignored_is_no_failure_of_the_program(run_program, call):
    result = run_program(FAILING.format(call=call, end=""))
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("command", [["-c", "{text}"], ["-"], ["-m", "module"]])
@pytest.mark.parametrize(("end", "status"), [("", 1), ("sys.exit(0)", 0), ("raise SystemExit(main())", 0)])
def test_however_the_program_is_started(tmp_path, command, end, status):
    text = FAILING.format(call="body()", end=end)
    (tmp_path / "module.py").write_text(text)
    done = hangs.run(
        [sys.executable, *(word.format(text=text) for word in command)],
        input=text,
        cwd=tmp_path,
        timeout=100,
    )
    assert done.returncode == status, done.stderr
    assert f"line {LINE}, in main" in done.stderr


def test_a_runtime_that_is_stopped_tells_all_failures(run_program):
    text = """
import dovetail as dt

@dt.task
def body(i):
    raise ValueError(f"failure {i}")

runtime = dt.Runtime(workers=1).start()
body(1)
body(2)
runtime.stop()
print("after")
"""
    result = run_program(text)
    assert (result.returncode, result.stdout) == (1, "after\n"), result.stderr
    for number in (1, 2):
        assert f"ValueError: failure {number}" in result.stderr
        assert f"line {8 + number}, in <module>" in result.stderr


@pytest.mark.parametrize("end", ["", "runtime.stop()"])
def test_failures_of_one_kind_are_told_twice_and_counted(run_program, end):
    text = f"""
import dovetail as dt

@dt.task
def write(number, error=28):
    raise OSError(error, f"no room for {{number}}")

@dt.task
def read(number):
    raise ValueError(number)

runtime = dt.Runtime(workers=1).start()
for number in range(30):
    write(number)
write(30, 5)
write(31, 5)
write(32, 5)
read(1)
{end}
"""
    result = run_program(text)
    assert result.returncode == 1
    assert result.stderr.count("nobody had asked for this failure") == 5, result.stderr
    assert result.stderr.count("OSError: [Errno 28] no room for") == 4  # each traceback has it twice
    assert "dovetail: task 'write' failed 28 more times with OSError (errno 28)\n" in result.stderr
    assert result.stderr.count("OSError: [Errno 5]") == 4
    assert "dovetail: task 'write' failed once more with OSError (errno 5)\n" in result.stderr
    assert "task 'read' failed once more" not in result.stderr and "ValueError: 1" in result.stderr


def test_output_is_written_and_threads_and_forks_are_left_alone(run_program):
    result = run_program(
        """
import multiprocessing, os, sys
import dovetail as dt

@dt.task
def body():
    raise ValueError("lost")

def child():
    return 7

if __name__ == "__main__":
    sys.stdout.write("x" * 100_000)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(child) == 7
    body()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
"""
    )
    assert (result.returncode, len(result.stdout)) == (1, 100_000), result.stderr


@pytest.mark.parametrize("turn", range(5))
def test_a_daemon_thread_in_a_wait_ends_with_the_program(run_program, turn):
    """CPython ends such threads by unwinding their stack, wherever they ask for the interpreter."""
    result = run_program(
        """
import threading, time
import dovetail as dt

@dt.task
def body(x):
    return x

def wait_for_ever():
    while True:
        dt.wait(body(1))

threading.Thread(target=wait_for_ever, daemon=True).start()
dt.wait([body(x) for x in range(100)])
print("the end")
"""
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "the end\n", "")


def failure_of(future):
    with pytest.raises(dt.TaskFailed) as failure:
        dt.wait(future)
    return failure.value


def line_of(function, text):
    lines = textwrap.dedent(__import__("inspect").getsource(function)).splitlines()
    return function.__code__.co_firstlineno + next(i for i, line in enumerate(lines) if text in line)


def test_failures_name_the_call_that_made_the_task(tmp_path):
    class Thing:
        @dt.task(self=dt.INOUT)
        def method(self):
            raise ValueError

    @dt.task
    def plain(x=None):
        raise ValueError

    @dt.task(process=True)
    def elsewhere():
        raise ValueError

    @dt.io
    async def coroutine():
        raise ValueError

    @dt.task(returns=2)
    def several():
        raise ValueError

    @dt.task
    def parent():
        return dt.wait(plain())  # by the parent

    calls = [plain(), elsewhere(), coroutine(), Thing().method(), several()[1], plain(plain())]  # here
    for future in calls:
        failure = failure_of(future)
        line = line_of(test_failures_name_the_call_that_made_the_task, "# here")
        assert failure.made_at == f'File "{__file__}", line {line}, in test_failures_name_the_call_that_made_the_task'
        assert f"line {line}" in "".join(failure.__notes__)
    failure = failure_of(parent())
    assert failure.made_at.endswith(", in test_failures_name_the_call_that_made_the_task")
    line = line_of(test_failures_name_the_call_that_made_the_task, "# by the parent")
    assert f"line {line}, in " in failure.__cause__.made_at and failure.__cause__.made_at.endswith("parent")
    first = parent()
    cancelled = failure_of(plain(first))
    assert cancelled.cancelled and cancelled.made_at == failure_of(first).made_at
    assert "task 'parent' was made" in cancelled.__notes__[0]


def test_a_failure_survives_pickling_with_its_line():
    import pickle

    @dt.task
    def fail():
        raise ValueError

    failure = failure_of(fail())
    copy = pickle.loads(pickle.dumps(failure))
    assert (str(copy), copy.label, copy.made_at, copy.__notes__) == (
        str(failure),
        failure.label,
        failure.made_at,
        failure.__notes__,
    )


def test_the_caller_is_not_kept_alive():
    import gc
    import weakref

    class Large:
        pass

    @dt.task
    def fine(x):
        return x

    def caller():
        large = Large()
        return fine(1), weakref.ref(large)

    future, large = caller()
    gc.collect()
    assert large() is None and dt.wait(future) == 1


def test_a_pycompss_program_names_the_call(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        "from pycompss.api.task import task\n\n@task(on_failure='FAIL')\ndef body():\n    raise ValueError\n\nbody()\n"
    )
    command = [sys.executable, "-m", "dovetail.cli", "run", "--pycompss", path]
    done = hangs.run(list(map(str, command)), timeout=100)
    assert done.returncode == 1 and 'program.py", line 7, in <module>' in done.stderr
