"""Whole programs: interrupts, forks, event loops, the command line."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import dovetail as dt
import numpy as np
import pytest


@dt.task
def increment(x):
    return x + 1


# Each line is one write: what threads print may be mixed within a line.
INTERRUPTED = """
import os, subprocess, sys
import dovetail as dt

@dt.task(path=dt.FILE_OUT)
def write(path):
    with open(path, "w") as file:
        file.write("half")
    os.write(1, b"begun\\n")
    while True:
        pass

@dt.io(label="command")
def command():
    child = subprocess.Popen(["sleep", "1000"])
    os.write(1, b"begun %d\\n" % child.pid)
    child.wait()

@dt.task(process=True)
def forever():
    import os
    os.write(1, b"begun %d\\n" % os.getpid())
    while True:
        pass

@dt.io
def whole(path):
    with dt.open(path, "w") as file:
        file.pwrite(b"all of it")
    os.write(1, b"begun\\n")

dt.wait(whole(sys.argv[2]))
{start}
"""


@pytest.mark.parametrize("block", [False, True])
def test_ctrl_c_ends_children_names_incomplete_files_and_ends_with_130(tmp_path, block):
    start = "tasks = [write(sys.argv[1]), command(), forever()]"
    start += (
        "\nwith dt.Runtime():\n    dt.wait([write(sys.argv[1]), command(), forever()])" if block else "\ndt.wait(tasks)"
    )
    if block:
        start = start.partition("\n")[2]
    program = tmp_path / "program.py"
    program.write_text(INTERRUPTED.format(start=start))
    with subprocess.Popen(
        [sys.executable, str(program), str(tmp_path / "part.txt"), str(tmp_path / "whole.txt")],
        env={**os.environ, "DOVETAIL_WORKERS": "4"},  # more bodies wait at once than a machine may have cores
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            begun = [process.stdout.readline().split() for _ in range(4)]
            children = [int(words[1]) for words in begun if len(words) > 1]
            assert len(children) == 2, begun
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate()
        except BaseException:
            process.kill()  # it would go on for ever, and be waited for
            raise
    assert process.returncode == 130, errors
    assert "part.txt (written by task 'write')" in errors
    assert "whole.txt" not in errors
    assert "KeyboardInterrupt" in errors
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


def test_an_interrupt_may_be_caught_and_the_program_goes_on(run_program):
    result = run_program(
        """
import os, signal, threading
import dovetail as dt

gate = threading.Event()

@dt.io
def late():
    gate.wait()
    return 5

future = late()
main = threading.main_thread()

def interrupt():
    signal.pthread_kill(main.ident, signal.SIGINT)

try:
    threading.Timer(0.05, interrupt).start()
    dt.wait(future)
except KeyboardInterrupt:
    print("interrupted")
gate.set()
print(dt.wait(future))
"""
    )
    assert (result.returncode, result.stdout) == (0, "interrupted\n5\n"), result.stderr


def test_the_child_of_a_fork_has_a_runtime_of_its_own():
    assert dt.wait(increment(1)) == 2
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writer, b"%d" % dt.wait(increment(41)))
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    assert os.read(reader, 100) == b"42"
    os.close(reader)
    assert os.waitpid(child, 0)[1] == 0
    assert dt.wait(increment(2)) == 3


def _in_child(x):
    return dt.wait([increment(i) for i in range(x)])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_under_multiprocessing(method):
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply(_in_child, (5,)) == [1, 2, 3, 4, 5]


def test_in_a_running_event_loop_as_notebooks_have_one():
    async def cell():
        waited = dt.wait(increment(1))  # blocks the loop, as any call does
        future = increment(waited)
        return await future, await asyncio.gather(*[increment(i) for i in range(5)]), future.done()

    assert asyncio.run(cell()) == (3, [1, 2, 3, 4, 5], True)


def test_the_event_loop_goes_on_while_a_future_is_awaited():
    gate = threading.Event()

    @dt.io
    def late():
        gate.wait()
        raise ValueError("late")

    async def main():
        future = late()

        async def open_gate():
            gate.set()

        task = asyncio.create_task(open_gate())
        with pytest.raises(dt.TaskFailed, match="late"):
            await future
        await task

    asyncio.run(main())


def test_coroutine_functions_are_tasks():
    running = 0
    all_here = asyncio.Event()

    @dt.io
    async def meet(i):
        # All of them wait at once: they take no threads.
        nonlocal running
        running += 1
        if running == 200:
            all_here.set()
        await all_here.wait()
        return await increment(i)

    assert dt.wait([meet(i) for i in range(200)]) == list(range(1, 201))

    @dt.io(retries=1, label="fails")
    async def fail():
        nonlocal running
        running += 1
        raise KeyError("async")

    running = 0
    with pytest.raises(dt.TaskFailed, match="fails") as failure:
        dt.wait(increment(fail()))
    assert isinstance(failure.value.__cause__, KeyError)
    assert running == 2


def test_io_tasks_take_no_worker():
    meet = threading.Barrier(10)

    @dt.io
    def together():
        meet.wait()
        return 1

    with dt.Runtime(workers=1):
        assert sum(dt.wait([together() for _ in range(10)])) == 10


def test_a_constraint_limits_how_many_io_tasks_run_at_once(tmp_path):
    (tmp_path / "dovetail.toml").write_text(
        f'[[device]]\nname = "disk"\npaths = ["{tmp_path}"]\nread = 100\nwrite = 100\n'
    )
    running, most = 0, 0
    lock = threading.Lock()

    @dt.constraint(storage_bw=40)
    @dt.io(device="disk")
    def body(i):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        for _ in range(1000):
            pass
        with lock:
            running -= 1
        return i

    with dt.Runtime(config=tmp_path / "dovetail.toml"):
        assert dt.wait([body(i) for i in range(60)]) == list(range(60))
    assert most <= 2

    @dt.io(storage_bw=5, device="nosuch")
    def nowhere():
        pass

    with dt.Runtime(config=tmp_path / "dovetail.toml"), pytest.raises((ValueError, dt.TaskFailed), match="nosuch"):
        dt.wait(nowhere())


def test_a_constraint_limits_ordinary_tasks_too_which_need_no_thread(tmp_path):
    (tmp_path / "dovetail.toml").write_text(
        f'[[device]]\nname = "ordinary"\npaths = ["{tmp_path}"]\nread = 100\nwrite = 100\n'
    )
    running, most, threads = 0, 0, set()
    data = np.arange(100_000)

    @dt.constraint(storage_bw=25, device="ordinary")
    @dt.task(f=dt.UNORDERED)
    def body(f, i):
        nonlocal running, most
        running += 1  # bodies hold the interpreter except in a transfer
        most = max(most, running)
        threads.add(threading.current_thread().name)
        f.pwrite(data, i * data.nbytes)
        running -= 1
        return i

    with dt.Runtime(workers=2, config=tmp_path / "dovetail.toml"):
        file = dt.open(tmp_path / "file", "w", direct="automatic")
        assert dt.wait([body(file, i) for i in range(40)]) == list(range(40))
        file.close()
    assert 1 <= most <= 4
    assert len(threads) <= 2
    assert (np.fromfile(tmp_path / "file", dtype=data.dtype).reshape(40, -1) == data).all()


@pytest.mark.parametrize("constraint", ["none", 40, "40", 1000, "auto", "auto(25,100,2)", "adaptive"])
def test_every_kind_of_constraint_runs_all_tasks(tmp_path, capfd, constraint):
    name = f"disk-{tmp_path.name}"  # a device keeps what it learned for all of the process
    (tmp_path / "dovetail.toml").write_text(
        f'[[device]]\nname = "{name}"\npaths = ["{tmp_path}"]\nread = 100\nwrite = 100\n'
    )

    @dt.constraint(storage_bw=constraint)
    @dt.io(device=tmp_path)
    def write(i):
        (tmp_path / str(i)).write_bytes(bytes(8192))
        return i

    with dt.Runtime(config=tmp_path / "dovetail.toml", io_executors=8):
        assert dt.wait([write(i) for i in range(60)]) == list(range(60))
    assert len(list(tmp_path.glob("[0-9]*"))) == 60
    said = capfd.readouterr().err
    assert ("asks for 1000 MB/s of device" in said) == (constraint == 1000)
    assert said.count("\n") <= 1


def test_what_was_handed_over_may_be_handed_on_and_is_final_after_waiting():
    gate = threading.Event()

    @dt.task(values=dt.INOUT)
    def extend(values):
        gate.wait()
        values.append(1)

    @dt.task
    def length(values):
        return len(values)

    values = []
    extend(values)
    seen = length(values)
    extend(values)
    assert values == [], "the program itself is not held back: it sees what is there"
    gate.set()
    assert dt.wait(seen) == 1
    assert dt.wait(values) is values
    assert values == [1, 1]


def test_progress_shows_computing_and_io_apart(run_program):
    result = run_program(
        """
import dovetail as dt

@dt.task
def compute():
    pass

@dt.io
def transfer():
    pass

for _ in range(3):
    compute()
transfer()
dt.barrier()
""",
        DOVETAIL_PROGRESS="1",
    )
    lines = [line.split() for line in result.stderr.splitlines() if line.strip()]
    assert [line[0] for line in lines[-2:]] == ["compute", "I/O"], result.stderr
    assert "3/3" in lines[-2] and "1/1" in lines[-1]


def test_a_misspelt_variable_is_told_once_and_the_program_runs(run_program):
    result = run_program(
        """
import dovetail as dt

for _ in range(2):
    with dt.Runtime(workers=1):
        print(dt.wait(dt.task(lambda: 7)()))
""",
        DOVETAIL_WORKRES="3",
        DOVETAIL_TEST_ALARM="60",
    )
    assert result.returncode == 0 and result.stdout.split() == ["7", "7"]
    assert result.stderr.splitlines() == [
        "dovetail: the environment variable DOVETAIL_WORKRES is none of Dovetail's and has no effect; "
        "is DOVETAIL_WORKERS meant?"
    ]


def test_import_brings_nothing_that_takes_long(run_program):
    result = run_program(
        """
import sys
import dovetail as dt

@dt.task
def f():
    pass

dt.wait(f())
print([name for name in ("numpy", "rich", "cloudpickle", "asyncio", "inspect", "typer") if name in sys.modules])
"""
    )
    assert result.stdout == "[]\n"


def test_the_command_reaches_the_programs():
    build = os.environ.get("DOVETAIL_BUILD_DIR")
    if build is None or not (Path(build) / "bin" / "dovetail-doctor").is_file():
        pytest.skip("needs DOVETAIL_BUILD_DIR with the programs built")
    command = [sys.executable, "-m", "dovetail.cli"]
    doctor = subprocess.run([*command, "doctor", "--help"], capture_output=True, text=True, check=False)
    assert doctor.returncode == 0 and "doctor" in doctor.stdout
    tiom = subprocess.run([*command, "tiom", "--nonsense"], capture_output=True, text=True, check=False)
    assert tiom.returncode != 0 and "nonsense" in tiom.stderr
    version = subprocess.run([*command, "version"], capture_output=True, text=True, check=True)
    assert version.stdout.strip() == dt.__version__
    assert subprocess.run([*command, "nothing"], capture_output=True, check=False).returncode == 2


def test_the_trace_has_the_labels(run_program, tmp_path):
    result = run_program(
        """
import sys
import dovetail as dt

@dt.task(label="my label")
def body():
    pass

with dt.Runtime(trace=sys.argv[1]):
    body()
""",
        str(tmp_path / "trace.json"),
    )
    assert result.returncode == 0, result.stderr
    events = json.loads((tmp_path / "trace.json").read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    assert any(event.get("name") == "my label" for event in events)
