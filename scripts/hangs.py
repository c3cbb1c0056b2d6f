"""Handles a process that does not end. The stacks of it and all its descendants are shown, then all of them are killed.

`run` is for tests that start a program and wait for it, `finish` and `wait` for those that have it started already. They are as those of
`subprocess`, save that a test that hangs fails with the stacks in its message. An `Alarm` is for a test that hangs itself. `show` is what
scripts/watchdog.py prints of a test that ctest is about to end.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import os
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

# All that a process may take to be read. A stack of one that is stopped for longer is of no use to a test that has ended.
GDB_SECONDS = 60
# All that a process may take to print its stacks and end.
ABORT_SECONDS = 5
# All that a process may take to show itself and its descendants, where its interpreter is held so that it cannot even begin.
SHOW_SECONDS = 60
# Seconds to wait until the pipes of killed processes are closed: a process that is no longer a descendant may hold them open.
CLOSE_SECONDS = 10


class Hung(AssertionError):
    """A program has not ended within its time. The message has its stacks and what it printed."""


def status_fields(process: int) -> list[str]:
    """The fields of /proc/<process>/stat behind the name of the program, which may have blanks."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def parents() -> dict[int, int]:
    """The parent of each process."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found[int(folder.name)] = int(status_fields(int(folder.name))[1])
        except OSError:  # it has ended
            continue
    return found


def descendants(process: int) -> list[int]:
    """The processes below one, with it; parents before children."""
    above = parents()
    found = [process]
    for one in found:
        found += [child for child, parent in above.items() if parent == one]
    return found


def command(process: int) -> tuple[str, ...]:
    return tuple(Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1])


def stacks(process: int) -> str:
    """The stacks of all threads of a process, or why they cannot be had."""
    gdb = shutil.which("gdb")
    if gdb is None:
        return "gdb is not installed"
    options = ["-batch", "-nx", "-ex", "set pagination off", "-ex", "thread apply all backtrace 40"]
    # What is preloaded into a program under test is not for gdb.
    environment = {name: text for name, text in os.environ.items() if name != "LD_PRELOAD"}
    try:
        ended = subprocess.run(
            [gdb, *options, "-p", str(process)],
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=GDB_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"gdb did not end within {GDB_SECONDS} s"
    lines = [line for line in ended.stdout.splitlines() if line.startswith(("Thread ", "#"))]
    return "\n".join(lines) or ended.stderr.strip()


def show(processes: Iterable[int]) -> str:
    """The stacks of these processes, each behind its command."""
    shown = []
    for process in processes:
        try:
            shown.append(f"process {process}: {' '.join(command(process))}\n{stacks(process)}")
        except OSError:
            shown.append(f"process {process} has ended meanwhile")
    return "\n".join(shown)


def abort(process: int) -> None:
    """Has a Python program print its stacks and end. Returns when it has, so that the next one's do not come in between."""
    ended = os.pidfd_open(process)
    try:
        os.kill(process, signal.SIGABRT)
        select.select([ended], [], [], ABORT_SECONDS)
    finally:
        os.close(ended)


def abort_python(processes: Iterable[int]) -> None:
    """Parents first: one whose child has ended goes on, and may have ended before its turn comes."""
    for process in processes:
        with contextlib.suppress(OSError):
            if Path((command(process) or ("",))[0]).name.startswith("python"):
                abort(process)


def kill(processes: Iterable[int]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def text_of(output: str | bytes | None) -> str:
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""


def show_and_kill(process: int) -> str:
    """Kills a process and all its descendants, and returns their stacks."""
    processes = descendants(process)
    # The test fails now; what would end it meanwhile must not keep it from saying why.
    for alarm in Alarm.all:
        alarm.set((len(processes) + 1) * SHOW_SECONDS)
    shown = show(processes)
    abort_python(processes)
    # What has begun since is a descendant of one of them, unless its parent has ended.
    kill(sorted({*processes, *(late for one in processes for late in descendants(one))}))
    return shown


def end(process: subprocess.Popen[Any]) -> str:
    """Kills a process and all its descendants, and returns their stacks and what they had printed."""
    shown = show_and_kill(process.pid)
    try:
        output, errors = process.communicate(timeout=CLOSE_SECONDS)
    except subprocess.TimeoutExpired as held:
        output, errors = held.stdout, held.stderr
    except ValueError:  # the test has closed what it reads from
        output = errors = None
    return f"{shown}\nIt printed:\n{text_of(output)}{text_of(errors)}"


def stacks_unless_ended(child: int, timeout: float) -> str:
    """Waits for a child that `os.fork` has made, and does not reap it. One that has not ended after `timeout` seconds is killed, with all below it.
    Empty: it has ended."""
    ended = os.pidfd_open(child)
    try:
        if select.select([ended], [], [], timeout)[0]:
            return ""
    finally:
        os.close(ended)
    return f"no end after {timeout:g} s\n{show_and_kill(child)}"


def finish(process: subprocess.Popen[Any], timeout: float, input: Any = None) -> tuple[Any, Any]:
    """`process.communicate`; one that has not ended after `timeout` seconds is shown and killed. @raises Hung."""
    try:
        return process.communicate(input, timeout=timeout)
    except subprocess.TimeoutExpired:
        words = process.args if isinstance(process.args, str | bytes) else " ".join(map(str, process.args))  # type: ignore[arg-type]
        raise Hung(f"no end after {timeout:g} s: {text_of(words)[:1000]}\n{end(process)}") from None


def wait(process: subprocess.Popen[Any], timeout: float) -> int:
    """`process.wait` likewise, for a process whose output is read elsewhere. @raises Hung."""
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        raise Hung(f"no end after {timeout:g} s\n{end(process)}") from None


def run(
    words: Iterable[object],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    capture_output: bool = True,
    text: bool = True,
    check: bool = False,
    input: Any = None,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """`subprocess.run` of a program that may hang. @raises Hung."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with subprocess.Popen([os.fspath(w) if isinstance(w, os.PathLike) else str(w) for w in words],
                          env=env, text=text, **options) as process:  # fmt: skip
        try:
            output, errors = finish(process, timeout, input)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done


class Alarm:
    """Ends this process, and all below it, if it is not set again within the seconds that it was last set to. Stacks go to `descriptor`."""

    all: ClassVar[list[Alarm]] = []

    def __init__(self, descriptor: int) -> None:
        self.all.append(self)
        self._descriptor = descriptor
        self._deadline: float | None = None
        self._stopped = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def set(self, seconds: float) -> None:
        # One that holds the interpreter keeps our thread from running, too.
        faulthandler.dump_traceback_later(seconds + SHOW_SECONDS, exit=True, file=self._descriptor)
        with self._changed:
            self._deadline = time.monotonic() + seconds
            self._changed.notify()

    def stop(self) -> None:
        self.all.remove(self)
        faulthandler.cancel_dump_traceback_later()
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def _watch(self) -> None:
        with self._changed:
            while not self._stopped:
                left = None if self._deadline is None else self._deadline - time.monotonic()
                if left is not None and left <= 0:
                    self._end()
                self._changed.wait(left)

    def _end(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        processes = descendants(os.getpid())
        os.write(
            self._descriptor, f"\na test does not end; its {len(processes)} processes:\n{show(processes)}\n".encode()
        )
        faulthandler.dump_traceback(self._descriptor)
        atexit.register(os._exit, 1)  # the test may have waited for one of them, and go on to its end
        abort_python(processes[1:])
        kill(processes[1:])
        os._exit(1)
