"""Workers and drivers that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import dovetail as dt
import pytest

distributed = pytest.importorskip("distributed", reason="Dask distributed is not installed")


def begin(folder: str, name: str) -> bool:
    """Of a body: tells its process. Returns whether this is the first time; that one does not go on."""
    path = os.path.join(folder, name)
    first = not os.path.exists(path)
    with open(path + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(path + ".new", path)
    return first


def stay() -> None:
    while True:
        time.sleep(0.01)


def kill(folder, name, until):
    until((folder / name).exists)
    os.kill(int((folder / name).read_text()), signal.SIGKILL)


@pytest.mark.usefixtures("connected")
@pytest.mark.parametrize("io", [False, True])
def test_tasks_of_a_killed_worker_run_again_and_objects_go_on_from_the_last_version(tmp_path, until, io):
    @dt.task(values=dt.INOUT, io=io)
    def append(values, i, folder):
        values.append(i)
        if i == 2 and begin(folder, "append"):
            stay()

    values = []
    for i in range(5):
        append(values, i, str(tmp_path))
    others = [dt.task(abs, io=io)(-i) for i in range(50)]
    kill(tmp_path, "append", until)
    assert dt.wait(values) == [0, 1, 2, 3, 4]
    assert dt.wait(others) == list(range(50))


@pytest.mark.usefixtures("connected")
@pytest.mark.parametrize("io", [False, True] if "DOVETAIL_TEST_LONG" in os.environ else [False])
def test_what_changes_a_file_in_place_runs_again_only_if_it_may(tmp_path, until, io):
    @dt.task(path=dt.FILE_INOUT, io=io)
    def append(path, folder, name):
        with open(path, "a") as file:
            file.write(name)
        if begin(folder, name):
            stay()

    file = tmp_path / "file"
    once = append(str(file), str(tmp_path), "a")
    kill(tmp_path, "a", until)
    with pytest.raises(dt.TaskFailed, match="changes a file in place") as failure:
        dt.wait(once)
    assert failure.value.label == "append"
    assert file.read_text() == "a"
    file.unlink()
    # The same file is free again for a task that makes it anew.
    dt.wait(dt.task(lambda path: open(path, "w").close(), path=dt.FILE_OUT)(str(file)))
    again = append.replaced(retries=1)(str(file), str(tmp_path), "b")
    kill(tmp_path, "b", until)
    dt.wait(again)
    assert file.read_text() == "bb"


@pytest.mark.skipif("DOVETAIL_TEST_LONG" not in os.environ, reason="workers start three times: make test-cluster")
@pytest.mark.usefixtures("connected")
def test_a_task_that_kills_its_worker_fails_alone():
    @dt.task
    def body(i):
        if i == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    futures = [body(i) for i in range(40)]
    for i, future in enumerate(futures):
        if i != 3:
            assert future.result() == i
    with pytest.raises(dt.TaskFailed, match="each worker process that ran it was killed, 3 in all"):
        futures[3].result()


DRIVER = """
import os, sys, time
import dovetail as dt

def transfer(folder, name):
    open(os.path.join(folder, name), "w").close()
    while not os.path.exists(os.path.join(folder, "open")):
        time.sleep(0.05)

def compute(folder, name):
    open(os.path.join(folder, name), "w").close()
    while not dt.cancelled():
        time.sleep(0.01)
    open(os.path.join(folder, "told " + name), "w").close()

with dt.Cluster(sys.argv[1]):
    [dt.io(transfer)(sys.argv[2], f"io{i}") for i in range(100)]
    [dt.task(compute)(sys.argv[2], f"compute{i}") for i in range(20)]
"""


def _ours(dask_scheduler):
    return [key for key in dask_scheduler.tasks if key.startswith("dovetail-")]


def _left():
    from dovetail.cluster import agent

    return agent.the_agent()._runtime._core.pending


def test_a_driver_that_is_killed_leaves_nothing(local, tmp_path, until):
    marks = tmp_path / "marks"
    marks.mkdir()
    program = tmp_path / "program.py"
    program.write_text(DRIVER)
    with distributed.Client(local, set_as_default=False) as client:
        workers = until(lambda: len(client.nthreads()) == 2 and list(client.nthreads()))
        with subprocess.Popen([sys.executable, str(program), local.scheduler_address, str(marks)]) as driver:
            try:
                # As many as run at once: the executors of one agent and two slots.
                until(lambda: len(list(marks.glob("io*"))) >= 64 and len(list(marks.glob("compute*"))) == 2)
            finally:
                driver.kill()
        until(lambda: not client.run_on_scheduler(_ours))
        until(lambda: len(list(marks.glob("told compute*"))) == 2)  # `dt.cancelled()`
        begun = {path.name for path in marks.iterdir()}
        (marks / "open").touch()
        until(lambda: sum(client.run(_left, workers=workers).values()) == 0)
        assert {path.name for path in marks.iterdir()} == begun | {"open"}
        assert len([name for name in begun if name.startswith("io")]) < 100
