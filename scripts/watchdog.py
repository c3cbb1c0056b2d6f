"""Shows where a test hangs, before ctest ends it: the stacks of all threads of all its processes.

`Watchdog` looks at the processes that ctest has started. Each has the time limit of its test; `margin` seconds before that runs out,
gdb prints the stacks. Python programs then get SIGABRT, by which they print theirs (`PYTHONFAULTHANDLER`); ctest ends what is left.
"""

from __future__ import annotations

import os
import threading
import time

from ctest_listing import Test
from hangs import abort_python, command, descendants, parents, show, status_fields

TICKS = os.sysconf("SC_CLK_TCK")


def age(process: int) -> float:
    """How many seconds ago a process began."""
    began = int(status_fields(process)[19]) / TICKS
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began


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
            print(f"watchdog: {show([process])}", flush=True)
        abort_python(processes)
