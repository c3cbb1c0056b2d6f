"""Workers and drivers that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import dovetail as dt
import numpy as np
import pytest
from conftest import cluster_of

LONG = "DOVETAIL_TEST_LONG" in os.environ
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


KINDS = {"computing": ({}, 0), "io": ({"io": True}, 0), "limit": ({"limit": 1}, 0), "large": ({}, 400_000)}
"""Options of the task, and how many numbers it gets besides. Two kinds in one test must not want the slot of one process: neither body would end."""


@pytest.mark.usefixtures("connected")
@pytest.mark.parametrize("kinds", [[kind] for kind in KINDS] if LONG else [["io", "limit"], ["large"]])
def test_tasks_of_a_killed_worker_run_again_and_objects_go_on_from_the_last_version(tmp_path, until, kinds):
    def append(values, i, folder, name, numbers):
        values.append(i + int(numbers.sum()))
        if i == 2 and begin(folder, name):
            stay()

    lists = {}
    others = []
    for kind in kinds:
        options, count = KINDS[kind]
        values = lists[kind] = []
        for i in range(5):
            dt.task(append, values=dt.INOUT, **options)(values, i, str(tmp_path), kind, np.zeros(count))
        others += [dt.task(abs, **options)(-i) for i in range(50)]
    for kind in kinds:
        until((tmp_path / kind).exists)
    for process in {int((tmp_path / kind).read_text()) for kind in kinds}:
        os.kill(process, signal.SIGKILL)
    for kind, values in lists.items():
        assert (kind, dt.wait(values)) == (kind, [0, 1, 2, 3, 4])
    assert dt.wait(others) == [*range(50)] * len(kinds)


@pytest.mark.usefixtures("connected")
@pytest.mark.parametrize("io", [False, True] if LONG else [False])
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


@pytest.mark.skipif(not LONG, reason="workers start many times: make test-cluster")
@pytest.mark.parametrize("options", [{}, {"io": True}, {"limit": 1}], ids=["computing", "io", "limit"])
def test_a_task_that_kills_its_worker_fails_alone(tmp_path, options):
    """With one worker all others die with it, as often as it does."""

    def killer(folder):
        deaths = len(os.listdir(folder))
        # As long as Dask gives this worker the next task as well.
        (worker,) = Worker._instances
        while not options and deaths < 3 and sum(key.startswith("dovetail-") for key in worker.state.tasks) < 2:
            time.sleep(0.001)
        open(os.path.join(folder, str(deaths)), "w").close()
        os.kill(os.getpid(), signal.SIGKILL)

    from distributed.worker import Worker

    folder = tmp_path / "deaths"
    folder.mkdir()
    with cluster_of(tmp_path, 1, 1) as cluster, dt.Cluster(cluster):
        dies = dt.task(killer, **options)(str(folder))
        futures = [dt.task(abs, **options)(-i) for i in range(6)]
        assert dt.wait(futures) == list(range(6))
        with pytest.raises(dt.TaskFailed, match="killed, 3 in all|was lost") as failure:
            dies.result()
        assert failure.value.label == "killer" and not failure.value.cancelled


class GivesUp(distributed.SchedulerPlugin):
    """Has Dask give a task up with the first worker that dies under it."""

    def start(self, scheduler):
        self.scheduler = scheduler

    def transition(self, key, start, finish, *_, **__):
        if finish == "processing":
            self.scheduler.tasks[key].suspicious = self.scheduler.allowed_failures


def test_a_call_that_dask_gives_up_is_tried_once_more(local, tmp_path):
    def die_once(folder):
        if begin(folder, "process"):
            os.kill(os.getpid(), signal.SIGKILL)
        return "the second time"

    with distributed.Client(local, set_as_default=False) as client:
        client.register_plugin(GivesUp(), name="gives up")
        try:
            with dt.Cluster(local):
                assert dt.task(die_once)(str(tmp_path)).result() == "the second time"
        finally:
            client.unregister_scheduler_plugin("gives up")


def scheduler_at(port, folder):
    """A scheduler in a process of its own. Its address is in a file."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)),
            *("--no-dashboard", "--scheduler-file", str(folder / "scheduler.json")),
        ],
        stderr=subprocess.DEVNULL,
    )


def test_tasks_fail_when_the_scheduler_starts_again(tmp_path, until):
    """It has no ledger, and its workers have no agents. Dask connects with it as if nothing had been."""
    first = scheduler_at(0, tmp_path)
    second = None
    try:
        address = until(
            lambda: (tmp_path / "scheduler.json").exists()
            and json.loads((tmp_path / "scheduler.json").read_text())["address"]
        )
        with pytest.raises(dt.TaskFailed, match="connection to the scheduler was lost"), dt.Cluster(address):
            waits = dt.io(abs)(-1)
            first.kill()
            second = scheduler_at(address.rpartition(":")[2], tmp_path)
            waits.result()
    finally:
        for process in (first, second):
            if process is not None:
                process.kill()
                process.wait()


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
