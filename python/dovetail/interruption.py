"""Ctrl-C while tasks run, or the end of the time that the program has.

It cancels the tasks that have not begun, tells the bodies that run, ends the processes that tasks started, and names the incomplete files.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable

from . import _core
from .errors import Stuck, TaskFailed

# How long bodies and commands have to end by themselves, and a program whose time is over.
_GRACE_SECONDS = 3.0
STATUS = 128 + signal.SIGINT
_RING_SECONDS = 0.1  # from one signal that the time is over to the next
OUT_OF_TIME_STATUS = 124  # as of timeout(1)


class Interrupted(BaseException):
    """Raised in the bodies of tasks that run when the program is interrupted."""


class OutOfTime(KeyboardInterrupt):
    """Raised in the program when its time is over. It ends as by Ctrl-C, with another status."""


class Limit:
    """The wall-clock time of the program. It takes SIGALRM and its timer. The functions are for the main thread."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._stopped = threading.Event()

    def start(self) -> None:
        signal.signal(signal.SIGALRM, self._over)
        threading.Thread(target=self._end_at_last, name="dovetail-wall-clock", daemon=True).start()
        # Again and again until it is heard: Python runs no handler for a signal that comes just before a call that blocks.
        signal.setitimer(signal.ITIMER_REAL, self._seconds, _RING_SECONDS)

    def stop(self) -> None:
        """The program ends: nothing is raised from here on."""
        self._stopped.set()
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _over(self, *_: object) -> None:
        if self._stopped.is_set():
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        _say(f"the wall-clock limit of {self._seconds:g} s is over, and the program ends")
        raise OutOfTime

    def _end_at_last(self) -> None:
        """A program may lose the exception, in an `except` without a class or in a `__del__`, or be in a call that does not return."""
        if self._stopped.wait(self._seconds) or self._stopped.wait(_GRACE_SECONDS):
            return
        try:
            _send(_descendants(), signal.SIGKILL)
            _say(f"the program has not ended within {_GRACE_SECONDS:g} s after its wall-clock limit, and is ended")
            # Another thread may hold the file, for as long as what it prints is not read.
            flushing = threading.Thread(target=_flush, daemon=True)
            flushing.start()
            flushing.join(1.0)
        finally:
            os._exit(OUT_OF_TIME_STATUS)


def _flush() -> None:
    with contextlib.suppress(Exception):
        sys.stdout.flush()


def _say(text: str) -> None:
    """By the descriptor: the program may be in the middle of a print."""
    with contextlib.suppress(OSError):
        os.write(2, f"dovetail: {text}\n".encode())


def status_of(kind: type[BaseException]) -> int:
    """The exit status of a program that the exception has ended."""
    return OUT_OF_TIME_STATUS if issubclass(kind, OutOfTime) else STATUS


def end(runtime: _core.Runtime, kind: type[BaseException] = KeyboardInterrupt) -> None:
    """Ends everything that the runtime does, and says on standard error what it left behind."""
    _core.take_incomplete()  # failures from before have been reported as failures
    runtime.cancel()
    if "dovetail.processes" in sys.modules:
        from . import processes

        processes.kill_all()
    _core.interrupt_bodies(Interrupted)
    children = _descendants()
    _send(children, signal.SIGTERM)
    try:
        ended = _wait(runtime, _GRACE_SECONDS)
    finally:
        # One whose parent has ended meanwhile is no descendant any more.
        now = _processes()
        _send({child for child, begun in children.items() if child in now and now[child][1] == begun}, signal.SIGKILL)
    ended = ended or _wait(runtime, _GRACE_SECONDS / 3)
    _tell(_core.take_incomplete())
    if not ended:
        labels = sorted({label for label, _ in _core.running()})
        print(f"dovetail: interrupted while these tasks did not end: {', '.join(labels)}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status_of(kind))


def _wait(runtime: _core.Runtime, seconds: float) -> bool:
    """Whether all tasks end within that time. That they failed is no news."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return runtime.wait(max(deadline - time.monotonic(), 0.0))
        except TaskFailed:
            continue
        except Stuck:
            return False


def _tell(incomplete: list[tuple[str, str]]) -> None:
    if incomplete:
        print("dovetail: interrupted; these files may be incomplete:", file=sys.stderr)
        for label, path in incomplete:
            print(f"  {path} (written by task '{label}')", file=sys.stderr)


def _send(processes: Iterable[int], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


def _processes() -> dict[int, tuple[int, int]]:
    """Of each process that runs: the one that started it, and when it began, by which it is told from another one with its number."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                # The name may contain anything, so look behind its end.
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] != b"Z":
            found[int(entry)] = int(fields[1]), int(fields[19])
    return found


def _descendants() -> dict[int, int]:
    """All processes that were started by this one, and by those, and so on; and when each began."""
    processes = _processes()
    children: dict[int, list[int]] = {}
    for process, (parent, _) in processes.items():
        children.setdefault(parent, []).append(process)
    found: dict[int, int] = {}
    waiting = [os.getpid()]
    while waiting:
        for child in children.get(waiting.pop(), []):
            if child not in found:
                found[child] = processes[child][1]
                waiting.append(child)
    return found


def exit_with_status() -> None:
    """Has the interpreter end with status 130 and not by the signal, which it sends itself at the very end."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
