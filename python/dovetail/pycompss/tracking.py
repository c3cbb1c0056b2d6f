"""Which tasks are under way, in which groups, and what becomes of the program when one of them fails. Also `pycompss.api.exceptions`."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterable
from typing import Any

from .. import _core
from ..directions import FILE_OUT, OUT
from ..errors import TaskFailed
from ..future import Future
from ..task import Task

__all__ = ["COMPSsException"]


class COMPSsException(Exception):
    """Raised by a task: the other tasks of its group are cancelled, and the program gets it where it waits for the group."""

    def __init__(self, message: str = "", *more: object) -> None:
        super().__init__(message, *more)
        self.message = message


class Group:
    """Tasks with a name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.futures: list[Future[Any]] = []
        # What its tasks are to change, and whether that is paths.
        self.written: list[tuple[Any, bool]] = []
        self.exception: COMPSsException | None = None

    def cancel(self) -> None:
        for future in list(self.futures):
            future.cancel()

    def go_on(self) -> None:
        """The program knows that tasks of the group have not run: from now on what they were to change is what it is then, and no failure."""
        written, self.written = self.written, []
        for value, is_path in written:
            if not _is_future(value):
                (_path_as_it_is if is_path else _object_as_it_is)(value)


class Tracker:
    """All tasks that a PyCOMPSs program has made and not waited for."""

    _ENOUGH = 1000  # finished tasks that are kept at most

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: list[Future[Any]] = []
        self._fatal: tuple[str, BaseException, str] | None = None
        self._told = False
        self._groups: dict[str, Group] = {}
        self._prune_at = self._ENOUGH
        self.open_groups: tuple[Group, ...] = ()

    def add(self, future: Future[Any], written: Iterable[tuple[Any, bool]] = ()) -> None:
        """A task, and what it changes: objects, or paths, for which the second value is True."""
        with self._lock:
            self._futures.append(future)
            for group in self.open_groups:
                group.futures.append(future)
                group.written.extend(written)
            crowded = len(self._futures) >= self._prune_at
        if crowded:
            with self._lock:
                done = [future for future in self._futures if future.done()]
                self._futures = [future for future in self._futures if not future.done()]
                self._prune_at = len(self._futures) + self._ENOUGH
            _settle(done)
        for group in self.open_groups:
            if group.exception is not None:
                group.cancel()

    def failed(self, label: str, error: BaseException, groups: tuple[Group, ...], ends_program: bool) -> None:
        """A body has failed for good."""
        if isinstance(error, COMPSsException) and groups:
            for group in groups:
                group.exception = group.exception or error
                group.cancel()
        elif ends_program:
            with self._lock:
                self._fatal = self._fatal or (label, error, _core.made_at())
            self.cancel()
        else:
            warn(
                f"task '{label}' failed: {type(error).__name__}: {error}; the tasks that need its results are cancelled"
            )

    def cancel(self) -> None:
        """Cancels the tasks that have not begun."""
        with self._lock:
            waiting = list(self._futures)
        for future in waiting:
            future.cancel()

    def check(self) -> None:
        """Raises if a task has failed that the program cannot go on without."""
        if self._fatal is not None:
            self._told = True
            label, error, made_at = self._fatal
            text = f"task '{label}' failed: {type(error).__name__}: {error}"
            raise TaskFailed(text, label, made_at=made_at) from error

    def barrier(self) -> None:
        """Waits for all tasks."""
        while True:
            with self._lock:
                waiting, self._futures = self._futures, []
            if not waiting:
                break
            _settle(waiting)
        self.check()

    def finish(self) -> None:
        """Waits for all tasks at the end of the program. Raises unless the program has been told already."""
        told = self._told
        try:
            self.barrier()
        except TaskFailed:
            if not told:
                raise

    def group(self, name: str, make: bool = False) -> Group:
        if make:
            self._groups[name] = Group(name)
        if name not in self._groups:
            raise ValueError(f"there is no task group '{name}'")
        return self._groups[name]

    def group_barrier(self, name: str) -> None:
        """Waits for the tasks of a group, and raises the COMPSsException that one of them ended with."""
        group = self.group(name)
        while group.futures:
            waiting, group.futures = group.futures, []
            _settle(waiting)
        self.check()
        if group.exception is not None:
            error, group.exception = group.exception, None
            group.go_on()
            raise error
        group.written.clear()


def _settle(futures: list[Future[Any]]) -> None:
    """Waits. What failed has been told to the tracker by the body, or is a consequence of that."""
    for future in futures:
        with contextlib.suppress(TaskFailed):
            future.result()


# Whether this process performs the bodies of tasks, and nothing else.
in_body = False
_told_of_nesting: list[str] = []


def in_task() -> bool:
    """Whether the caller is the body of a task."""
    return in_body or _core.in_task()


def performed_here(name: str) -> bool:
    """Whether a task is called in a task, where it is an ordinary function, as under PyCOMPSs unless nesting is switched on there."""
    if not in_task() or os.environ.get("DOVETAIL_PYCOMPSS_NESTED", "0") not in ("", "0"):
        return False
    if not _told_of_nesting:
        _told_of_nesting.append(name)
        warn(
            f"task '{name}' is called in a task, and performed there. With DOVETAIL_PYCOMPSS_NESTED=1 it is a task of its own, whose results "
            "must be waited for (this is said once)"
        )
    return True


def warn(text: str) -> None:
    print(f"dovetail: {text}", file=sys.stderr, flush=True)


def _is_future(value: Any) -> bool:
    """Whether a task was to make the value, or a part of it: what is not there cannot be gone on with."""
    return isinstance(value, Future) or any(map(_is_future, _core.items_of(value) or ()))


def _nothing(value: Any) -> None:
    pass


# They run behind the tasks that have failed or are cancelled, and read nothing of what these should have made.
_path_as_it_is = Task(_nothing, label="going on", directions={"value": FILE_OUT})
_object_as_it_is = Task(_nothing, label="going on", directions={"value": OUT})

tracker = Tracker()
