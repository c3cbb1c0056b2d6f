"""`dovetail top`: what programs tell of their tasks and devices, whom they tell it, and whom the command believes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import dovetail as dt
import pytest
from dovetail import live_state, top

WAITS = """
import os, sys
import dovetail as dt

@dt.task(label="[bold]made\\x1b[2J")
def wait_for_a_line(_=None):
    return os.read(0, 1)

@dt.io
def after(line):
    return line

@dt.task
def fails():
    raise ValueError("on purpose")

@dt.task(process=True)
def elsewhere():
    return 1

runtime = dt.Runtime(workers=1).start()
dt.wait([elsewhere() for _ in range(3)])
for _ in range(2):
    try:
        dt.wait(fails())
    except dt.TaskFailed:
        pass
first = wait_for_a_line()
last = [after(wait_for_a_line(first)) for _ in range(4)]
"""


@contextlib.contextmanager
def program(text: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Runs it up to its line "ready". Its tasks go on when its standard input is closed."""
    command = [sys.executable, "-c", text, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def waiting() -> Iterator[subprocess.Popen[str]]:
    text = """
while not any(running for _, _, _, running, _, _ in _core.task_types()):
    pass
print("ready", flush=True)
dt.wait(last)
"""
    with program(WAITS + "from dovetail import _core\n" + text) as process:
        yield process


def command(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dovetail.cli", "top", *map(str, words)], capture_output=True, text=True, check=False
    )


def of(process: subprocess.Popen[str]) -> dict:
    done = command("--json", "--every", "0.1", process.pid)
    assert done.returncode == 0, done.stderr
    (seen,) = json.loads(done.stdout)
    return seen


def rows(seen: dict) -> dict[str, tuple[str, int, int, int, int]]:
    return {
        row["label"]: (row["kind"], row["waiting"], row["running"], row["completed"], row["failed"])
        for row in seen["types"]
    }


def test_types_of_tasks_with_those_that_wait_run_and_have_ended():
    with waiting() as process:
        seen = of(process)
        assert (seen["process"], seen["answers"], seen["workers"]) == (process.pid, True, 1)
        assert seen["program"][1] == "-c"
        assert rows(seen) == {
            "[bold]made\x1b[2J": ("compute", 4, 1, 0, 0),
            "after": ("I/O", 4, 0, 0, 0),
            "fails": ("compute", 0, 0, 2, 2),
            "elsewhere": ("process", 0, 0, 3, 0),
        }
        # The interpreter here, and the one of the worker processes at least.
        assert seen["memory"] > 10e6


def test_the_table_says_it_and_a_terminal_obeys_no_label():
    with waiting() as process:
        done = command("--once", "--every", "0.1", process.pid)
        assert done.returncode == 0, done.stderr
        (line,) = [line for line in done.stdout.splitlines() if "made" in line]
        assert "\x1b" not in done.stdout
        assert line.split()[-6:] == ["compute", "4", "1", "0", "0", "0.0"]
        assert "[bold]made" in line


def test_it_is_among_all_and_gone_when_it_is_killed():
    with waiting() as process:
        everyone = json.loads(command("--json", "--every", "0.1").stdout)
        assert process.pid in [each["process"] for each in everyone]
        process.kill()
        process.wait()
        assert process.pid not in top.processes()
        done = command(process.pid)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert str(process.pid) in done.stderr


def test_a_program_that_is_stopped_is_said_not_to_answer(monkeypatch):
    monkeypatch.setattr(top, "_SECONDS", 0.2)
    with waiting() as process:
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        look = top.look(process.pid)
        assert look is not None
        seen = top.shown(look, None)
        assert (seen.answers, seen.process) == (False, process.pid)
        assert seen.program[1] == "-c"
        process.send_signal(signal.SIGCONT)


def test_rates_are_what_changed_between_two_looks():
    def state(completed: int, moved: int) -> dict:
        types = [{"label": "a", "kind": "I/O", "made": 100, "running": 2, "completed": completed, "failed": 0}]
        share = {
            "label": "a",
            "constraint": "adaptive",
            "learning": True,
            "current_mb_per_second": 12.5,
            "at_once": 8,
        }
        device = {
            "name": "disk",
            "running": 2,
            "waiting": 3,
            "bytes": moved,
            "read_mb_per_second": 100,
            "write_mb_per_second": 90,
            "types": [share],
        }
        return {"program": ["p"], "seconds": 9, "workers": 2, "types": types, "admission": {"devices": [device]}}

    before = top.Look(7, 100.0, state(10, 1_000_000), top.Use(1.0, 5, 1_000_000, 2_000_000))
    now = top.Look(7, 102.0, state(40, 51_000_000), top.Use(4.0, 6, 3_000_000, 2_000_000))
    seen = top.shown(now, before)
    assert (seen.cores, seen.memory, seen.mb_read_per_second, seen.mb_written_per_second) == (1.5, 6, 1.0, 0.0)
    assert seen.types == [top.TaskType("a", "I/O", 58, 2, 40, 0, 15.0)]
    share = top.Share("a", "adaptive", True, 12.5, 8)
    assert seen.devices == [top.Device("disk", 2, 3, 25.0, 100, 90, [share])]


def test_a_child_of_a_fork_is_seen_as_itself():
    text = """
import os, sys
import dovetail as dt

@dt.task
def one():
    return 1

dt.wait(one())
child = os.fork()
if child == 0:
    dt.wait([one(), one()])
    print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)
os.waitpid(child, 0)
"""
    with program(text) as process:
        everyone = {each.process: each for each in (top.look(number) for number in top.processes()) if each}
        parent = everyone[process.pid]
        (child,) = [
            look
            for number, look in everyone.items()
            if os.path.exists(f"/proc/{number}") and _parent(number) == process.pid
        ]
        assert parent.state is not None
        assert child.state is not None
        assert child.state["process"] == child.process
        (one,) = [row for row in child.state["types"] if row["label"] == "one"]
        assert one["completed"] == 3  # one before the fork
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0


def _parent(process: int) -> int:
    with open(f"/proc/{process}/stat", errors="replace") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_gets_no_answer():
    with waiting() as process:
        asks = f"""
import os, socket
os.setuid(65534)
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect("\\0" + {live_state.name_of(0, process.pid)!r})
    print(connection.recv(1000))
"""
        done = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "b''\n"), done.stderr
        assert of(process)["answers"]


def test_who_answers_in_the_name_of_another_process_is_not_believed():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("\0" + live_state.name_of(os.getuid(), other.pid))
            listener.listen()
            assert other.pid in top.processes()
            assert top.look(other.pid) is None
        other.communicate(b"\n")


def test_labels_without_end_share_a_row(run_program):
    done = run_program(
        """
import dovetail as dt
from dovetail import _core

for number in range(1500):
    dt.wait(dt.task(lambda: 1, label=f"label {number}")())
rows = _core.task_types()
others = sum(row[4] for row in rows if row[0] == "(others)")
print(len(rows), sum(row[4] for row in rows), 500 <= others < 600)
"""
    )
    assert done.stdout.split("\n")[0] == "1001 1500 True", done.stderr


def test_a_program_that_gets_no_socket_runs_unseen(run_program):
    done = run_program(
        """
import _socket
import dovetail as dt
from dovetail import live_state

def refuse(*_):
    raise OSError(24, "no descriptor is left")

_socket.socket = refuse

@dt.task
def one():
    return 1

print(dt.wait(one()), live_state._listener)
"""
    )
    assert done.stdout == "1 None\n", done.stderr


def test_progress_counts_what_it_counted_before():
    from dovetail.progress import _counts

    before = _counts()
    dt.wait([dt.task(lambda: 1)() for _ in range(3)] + [dt.io(lambda: 1)() for _ in range(2)])
    after = _counts()
    assert [after[kind][2] - before[kind][2] for kind in ("compute", "I/O")] == [3, 2]
