"""Bodies that may run for so long and no longer: `@dt.task(time_limit=5)`.

In this process the exception is raised in the body as soon as that is at an instruction of Python. A worker process is killed: by its own timer, which
the kernel keeps whatever the body does.
"""

from __future__ import annotations

import heapq
import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

from . import _core
from .errors import TimeLimitExceeded


def _text(label: str, seconds: float) -> str:
    return f"task '{label}' ran longer than its time limit of {seconds:g} s"


class _Running:
    """A body in this process that has a limit."""

    __slots__ = ("exceeded", "number", "over")

    def __init__(self) -> None:
        self.number = _core.body_number()
        self.exceeded = self.over = False


class _Watch:
    """Raises the exception in bodies whose time is over, by a thread of its own that sleeps until the next one is.

    The exception may come anywhere between two instructions of a body, also in here. A `with` on a lock itself holds against that: nothing is between
    taking the lock and being in the block. With a `threading.Condition` the lock might stay taken for ever.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wake = threading.Lock()  # released: the thread has to look
        self._limits: list[tuple[float, int, _Running]] = []
        self._order = itertools.count()
        threading.Thread(target=self._run, name="dovetail-time-limits", daemon=True).start()

    def begin(self, seconds: float) -> _Running:
        running = _Running()
        with self._lock:
            heapq.heappush(self._limits, (time.monotonic() + seconds, next(self._order), running))
            if self._limits[0][2] is running and self._wake.locked():
                self._wake.release()
        return running

    def end(self, running: _Running) -> None:
        """Afterwards nothing will be raised any more. It may be raised in here."""
        with self._lock:
            running.over = True
            if running.exceeded:
                _core.raise_in_body(running.number, None)

    def _run(self) -> None:
        while True:
            self._wake.acquire(timeout=self._raise_due())

    def _raise_due(self) -> float:
        """Returns after how many seconds the next one is due."""
        with self._lock:
            while self._limits:
                due, _, running = self._limits[0]
                left = due - time.monotonic()
                if left > 0 and not running.over:
                    return min(left, threading.TIMEOUT_MAX)
                heapq.heappop(self._limits)
                if not running.over:
                    running.exceeded = True
                    _core.raise_in_body(running.number, TimeLimitExceeded)
            return -1.0  # when it is told


_watch: _Watch | None = None
_guard = threading.Lock()


def _the_watch() -> _Watch:
    global _watch
    with _guard:
        if _watch is None:
            _watch = _Watch()
        return _watch


def _forget() -> None:
    """The thread is the parent's."""
    global _watch, _guard
    _watch, _guard = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)


def in_this_process(function: Callable[..., Any], label: str, seconds: float) -> Callable[..., Any]:
    """The function, which raises `TimeLimitExceeded` when its time is over."""

    def limited(*args: Any, **kwargs: Any) -> Any:
        watch = _the_watch()
        running = watch.begin(seconds)
        try:
            try:
                result = function(*args, **kwargs)
            finally:
                watch.end(running)
        except TimeLimitExceeded as error:
            if running.exceeded and not error.args:
                error.args = (_text(label, seconds),)
            raise
        if running.exceeded:
            raise TimeLimitExceeded(_text(label, seconds))
        return result

    return limited


def of_coroutine(
    function: Callable[..., Coroutine[Any, Any, Any]], label: str, seconds: float
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """The coroutine function, which is cancelled when its time is over."""
    import asyncio  # takes long

    async def limited(*args: Any, **kwargs: Any) -> Any:
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await function(*args, **kwargs)
        except TimeoutError as error:
            if limit.expired():
                raise TimeLimitExceeded(_text(label, seconds)) from error
            raise

    return limited


class InWorkerProcess:
    """The function, in a process that SIGALRM kills when the time is over."""

    def __init__(self, function: Callable[..., Any], seconds: float) -> None:
        self.function, self.seconds = function, seconds

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        try:
            return self.function(*args, **kwargs)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def of_killed(label: str, seconds: float) -> TimeLimitExceeded:
    """What became of a task whose process was killed so."""
    return TimeLimitExceeded(_text(label, seconds) + ", and its worker process was killed")
