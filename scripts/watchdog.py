"""Shows where a test hangs, before ctest ends it: the stacks of all threads of all its processes.

`Watchdog` looks at the processes that ctest has started. Each has the time limit of its test; `margin` seconds before that runs out,
gdb prints the stacks. Python programs then get SIGABRT, by which they print theirs (`PYTHONFAULTHANDLER`); ctest ends what is left.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

from ctest_listing import Test

TICKS = os.sysconf("SC_CLK_TCK")
# All that a process may take to be read. A stack of one that is stopped for longer is of no use to a test that has ended.
GDB_SECONDS = 60
# All that a process may take to print its stacks and end.
ABORT_SECONDS = 5


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


def age(process: int) -> float:
    """How many seconds ago a process began."""
    began = int(status_fields(process)[19]) / TICKS
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began


def command(process: int) -> tuple[str, ...]:
    return tuple(Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1])


def stacks(process: int) -> str:
    """The stacks of all threads of a process, or why they cannot be had."""
    gdb = shutil.which("gdb")
    if gdb is None:
        return "gdb is not installed"
    options = ["-batch", "-nx", "-ex", "set pagination off", "-ex", "thread apply all backtrace 40"]
    try:
        ended = subprocess.run(
            [gdb, *options, "-p", str(process)],
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


def abort(process: int) -> None:
    """Has a Python program print its stacks and end. Returns when it has, so that the next one's do not come in between."""
    ended = os.pidfd_open(process)
    try:
        os.kill(process, signal.SIGABRT)
        select.select([ended], [], [], ABORT_SECONDS)
    finally:
        os.close(ended)


class Watchdog:
    """While it is entered (`with`), a thread watches the tests that the process `ctest` runs."""

    def __init__(self, ctest: int, tests: list[Test], margin: float = 20) -> None:
        self._ctest = ctest
        self._limits = {
            test.command: (test.name, float(test.properties["TIMEOUT"]))
            for test in tests
            if test.command and "TIMEOUT" in test.properties
        }
        self._margin = margin
        self._shown: set[int] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watchdog:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(1):
            for test in [child for child, parent in parents().items() if parent == self._ctest]:
                try:
                    self._look_at(test)
                except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
                    continue

    def _look_at(self, test: int) -> None:
        name, limit = self._limits.get(command(test), ("", 0.0))
        # A limit shorter than the margin still leaves half of the time to a test.
        if not name or test in self._shown or age(test) < max(limit - self._margin, limit / 2):
            return
        self._shown.add(test)
        processes = descendants(test)
        print(f"\nwatchdog: {name} has run for {age(test):.0f} of {limit:.0f} s; its {len(processes)} processes:")
        for process in processes:
            print(f"watchdog: process {process}: {' '.join(command(process))}\n{stacks(process)}", flush=True)
        # Parents first: one whose child has ended goes on, and may have ended before its turn comes.
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                if Path(command(process)[0]).name.startswith("python"):
                    abort(process)
