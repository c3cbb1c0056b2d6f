"""Runs tests of ctest beside each other, each within a time limit of its own, and stops at the first that fails."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ctest_listing import Test
from hangs import descendants, kill


@dataclass
class Outcome:
    """How one test ended."""

    test: Test
    how: str  # "Passed", "Failed" or "Timeout"
    seconds: float
    said: str  # the end of its output


class FirstFailure:
    """One run of some tests. `variables` are added to the environment that ctest would give them."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.passed: dict[str, float] = {}  # how many seconds each test took that passed
        self._variables = variables
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._failure: Outcome | None = None
        self._stopped = False

    def run(self, tests: Iterable[Test], limits: Mapping[str, float], beside: int) -> Outcome | None:
        """The first failure of the tests, which begin in their order, `beside` at a time; None if all pass."""
        with ThreadPoolExecutor(beside) as threads:
            try:
                for done in [threads.submit(self._run_one, test, limits[test.name]) for test in tests]:
                    done.result()
            finally:
                self._stop()
        return self._failure

    def _stop(self) -> None:
        with self._lock:
            self._stopped = True
            for process in self._running:
                kill(descendants(process.pid))

    def _run_one(self, test: Test, limit: float) -> None:
        set_by_ctest = dict(entry.split("=", 1) for entry in test.properties["ENVIRONMENT"])
        with tempfile.TemporaryFile() as output:
            with self._lock:
                if self._stopped:
                    return
                began = time.monotonic()
                process = subprocess.Popen(
                    test.command,
                    cwd=test.properties["WORKING_DIRECTORY"],
                    env={**os.environ, **set_by_ctest, **self._variables},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
                self._running.add(process)
            try:
                status = process.wait(limit)
                how = "Passed" if status in (0, test.properties.get("SKIP_RETURN_CODE", 0)) else "Failed"
            except subprocess.TimeoutExpired:
                kill(descendants(process.pid))
                process.wait()
                how = "Timeout"
            seconds = time.monotonic() - began
            with self._lock:
                self._running.discard(process)
                if self._stopped:  # perhaps this one failed because it was ended
                    return
                if how == "Passed":
                    self.passed[test.name] = seconds
                    return
                output.seek(0)
                self._failure = Outcome(test, how, seconds, output.read().decode(errors="replace")[-3000:])
        self._stop()
