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
from dataclasses import asdict

import pytest
from dovetail import top

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


def name_of(process: subprocess.Popen[str]) -> str:
    return f"dovetail-program-{os.getuid()}-{process.pid}"


@contextlib.contextmanager
def waiting(first: str = "") -> Iterator[subprocess.Popen[str]]:
    text = """
while not any(running for _, _, _, running, _, _ in _core.task_types()):
    pass
print("ready", flush=True)
dt.wait(last)
"""
    with program(first + WAITS + "from dovetail import _core\n" + text) as process:
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
        assert (seen["process"], seen["problem"], seen["workers"]) == (process.pid, "", 1)
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
        assert process.pid in top.look()
        process.kill()
        process.wait()
        assert top.look(process.pid) == {}
        done = command("--every", "0.1", process.pid)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert str(process.pid) in done.stderr


def test_a_program_that_is_stopped_is_said_not_to_answer_however_often_it_is_asked(monkeypatch):
    monkeypatch.setattr(top, "_ANSWER_SECONDS", 0.05)
    with waiting() as process:
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        for _ in range(10):  # more than wait at its socket
            seen = top.shown(top.look(process.pid)[process.pid], None)
            assert (seen.problem, seen.process) == (top._SILENT, process.pid)
            assert seen.program[1] == "-c"
        process.send_signal(signal.SIGCONT)


def test_who_asked_and_has_gone_does_no_harm():
    """A program whose SIGPIPE is the system's own is not ended by an answer that nobody takes."""
    default = "import signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
    with waiting(default) as process:
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        with socket.socket(socket.AF_UNIX) as asks:
            asks.connect("\0" + name_of(process))
        process.send_signal(signal.SIGCONT)
        assert of(process)["problem"] == ""
        assert process.poll() is None


def state(completed: int, moved: int, seconds: float) -> dict:
    types = [{"label": "a", "kind": "I/O", "made": 100, "running": 2, "completed": completed, "failed": 0}]
    share = {"label": "a", "constraint": "adaptive", "learning": True, "current_mb_per_second": 12.5, "at_once": 8}
    device = {
        "name": "disk",
        "running": 2,
        "waiting": 3,
        "bytes": moved,
        "read_mb_per_second": 100,
        "write_mb_per_second": 90,
        "types": [share],
    }
    return {"seconds": seconds, "workers": 2, "types": types, "admission": {"devices": [device]}}


def look(at: float, said: object, uses: dict[int, top.Use]) -> top.Look:
    return top.Look(os.getpid(), at, json.dumps(said).encode(), uses)


def test_rates_are_what_changed_between_two_looks():
    gone, stays, new = top.Use(50.0, 5), top.Use(1.0, 5, 1_000_000, 2_000_000), top.Use(7.0, 4)
    before = look(100.0, state(10, 1_000_000, 9), {1: gone, 2: stays})
    now = look(102.0, state(40, 51_000_000, 11), {2: top.Use(4.0, 6, 3_000_000, 2_000_000), 3: new})
    seen = top.shown(now, before)
    assert seen.problem == ""
    # What has ended or begun meanwhile has no rate.
    assert (seen.cores, seen.memory, seen.mb_read_per_second, seen.mb_written_per_second) == (1.5, 10, 1.0, 0.0)
    assert seen.types == [top.TaskType("a", "I/O", 58, 2, 40, 0, 15.0)]
    share = top.Share("a", "adaptive", True, 12.5, 8)
    assert seen.devices == [top.Device("disk", 2, 3, 25.0, 100, 90, [share])]


@pytest.mark.parametrize("before", [None, top.Look(1, 100.0, b"", {}), look(100.0, state(90, 90_000_000, 50), {})])
def test_there_are_no_rates_after_silence_or_of_another_program_with_that_number(before):
    seen = top.shown(look(102.0, state(40, 51_000_000, 11), {}), before)
    assert (seen.types[0].completed_per_second, seen.devices[0].mb_per_second) == (0.0, 0.0)


@pytest.mark.parametrize("said", [{}, [], None, "x", {"seconds": 1, "workers": 2, "types": [3], "admission": {}}])
def test_what_is_not_understood_is_said_and_no_error(said):
    assert top.shown(look(1.0, said, {}), None).problem == top._FOREIGN


def test_no_cell_is_obeyed_by_the_terminal(capsys):
    from rich.console import Console

    said = state(1, 1, 1)
    bad = "\x1b[2J[red]"
    said["types"][0].update(label=bad, kind=bad)
    said["admission"]["devices"][0].update(name=bad)
    said["admission"]["devices"][0]["types"][0].update(label=bad, constraint=bad)
    seen = top.shown(look(1.0, said, {}), None)
    seen.program = [bad]
    Console(width=300, highlight=False).print(top._view([seen], None))
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert shown.count("\\x1b[2J[red]") == 7


def test_numbers_are_whole_beside_a_long_label(capsys):
    from rich.console import Console

    said = state(1234567, 1, 1)
    said["types"][0].update(label="label" * 30, made=2000000, failed=7654321)
    Console(width=80, highlight=False).print(top._view([top.shown(look(1.0, said, {}), None)], None))
    shown = capsys.readouterr().out
    assert "1234567" in shown
    assert "7654321" in shown


def test_a_child_of_a_fork_is_seen_as_itself():
    text = """
import os, sys
import dovetail as dt

@dt.task
def one():
    return 1

@dt.task
def waits():
    os.read(wait, 1)

wait, go = os.pipe()
dt.wait(one())
left = [waits() for _ in range(4)]
child = os.fork()
if child == 0:
    dt.wait([one(), one()])
    print("ready", flush=True)
    print(os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)
os.waitpid(child, 0)
os.write(go, b"1234")
"""
    with program(text) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        seen = top.look()
        rows_of = {number: rows(asdict(top.shown(seen[number], None))) for number in (process.pid, child)}
        assert rows_of[child] == {
            "one": ("compute", 0, 0, 3, 0)
        }  # one before the fork, and none of those that wait there
        (kind, left, running, completed, _) = rows_of[process.pid]["waits"]
        assert (kind, left + running, completed) == ("compute", 4, 0)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_gets_no_answer():
    with waiting() as process:
        asks = f"""
import os, socket
os.setuid(65534)
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect("\\0" + {name_of(process)!r})
    print(connection.recv(1000))
"""
        done = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "b''\n"), done.stderr
        assert of(process)["problem"] == ""


def test_who_answers_in_the_name_of_another_process_is_not_believed():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True) as other:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("\0" + name_of(other))
            listener.listen()
            assert top._names(other.pid)
            assert top.look(other.pid) == {}
        other.communicate("\n")


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


def test_a_program_that_gets_no_descriptor_runs_unseen():
    text = """
import os, resource
import dovetail as dt
from dovetail import _core

@dt.task
def one():
    return 1

dt.Runtime(workers=1).start()
print("ready", flush=True)
print(dt.wait(one()))
os.read(0, 1)
"""
    taken = "import socket\ntaken = socket.socket(socket.AF_UNIX)\n"
    taken += f"import os\ntaken.bind('\\0dovetail-program-{os.getuid()}-' + str(os.getpid()))\n"
    with program(taken + text) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        assert top.look(process.pid) == {}


def test_the_thread_that_answers_takes_no_signals(run_program):
    done = run_program("""
import signal
import dovetail as dt

with dt.Runtime(workers=1):
    dt.wait(dt.task(lambda: 1)())
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
import os
os.kill(os.getpid(), signal.SIGTERM)
print(signal.sigtimedwait([signal.SIGTERM], 100).si_signo == signal.SIGTERM)
""")
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_finalizers_that_make_tasks_may_run_while_tasks_are_counted(run_program):
    done = run_program("""
import gc
import dovetail as dt
from dovetail import _core

class Makes:
    def __init__(self):
        self.itself = self
    def __del__(self):
        dt.task(lambda: 1, label="made by a finalizer")

dt.wait(dt.task(lambda: 1)())
gc.set_threshold(1, 1, 1)
for _ in range(200):
    Makes()
    _core.task_types()
print("ended")
""")
    assert done.stdout == "ended\n", done.stderr


def test_progress_counts_all_io_tasks_as_such(run_program):
    done = run_program("""
import dovetail as dt
from dovetail.progress import _counts

@dt.io
async def asynchronous():
    return 1

dt.wait([dt.task(lambda: 1)() for _ in range(3)] + [dt.io(lambda: 1)() for _ in range(2)] + [asynchronous()])
print([_counts()[kind][2] for kind in ("compute", "I/O")])
""")
    assert done.stdout == "[3, 3]\n", done.stderr
