"""Which tasks are under way, in which groups, and what becomes of the program when one of them fails. Also `pycompss.api.exceptions`."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core
from ..directions import FILE_OUT, OUT
from ..errors import TaskFailed
from ..future import Future
from ..tasks import Task

__all__ = ["COMPSsException"]


class COMPSsException(Exception):
    """Raised by a task: the other tasks of its group are cancelled, and the program gets it where it waits for the group."""

    def __init__(self, message: str = "", *more: object) -> None:
        super().__init__(message, *more)
        self.message = message


# What tasks change: objects, or paths, for which the second value is True.
Written = list[tuple[Any, bool]]


class Group:
    """Tasks with a name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.futures: list[Future[Any]] = []
        self.written: Written = []
        self.exception: COMPSsException | None = None
        self._lock = threading.Lock()
        self._cancelled = False
        self._calls: list[Callable[[], object]] = []

    def cancel(self) -> None:
        """Cancels the tasks that have not begun, and ends what those that run have started."""
        for future in list(self.futures):
            future.cancel()
        with self._lock:
            self._cancelled = True
            calls = list(self._calls)
        for call in calls:
            call()

    def call_on_cancel(self, call: Callable[[], object]) -> None:
        """Has the function called when the group is cancelled; at once if it is."""
        with self._lock:
            self._calls.append(call)
            cancelled = self._cancelled
        if cancelled:
            call()

    def forget_call(self, call: Callable[[], object]) -> None:
        with self._lock:
            self._calls.remove(call)


_of_this_thread = threading.local()


def groups_of_task() -> tuple[Group, ...]:
    """The groups of the task whose body is the caller."""
    return getattr(_of_this_thread, "groups", ())


@contextmanager
def body_in(groups: tuple[Group, ...]) -> Iterator[None]:
    """In the block, the caller is the body of a task of these groups."""
    before = groups_of_task()
    _of_this_thread.groups = groups
    try:
        yield
    finally:
        _of_this_thread.groups = before


class Tracker:
    """All tasks that a PyCOMPSs program has made and not waited for."""

    _ENOUGH = 1000  # finished tasks that are kept at most

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: list[tuple[Future[Any], Written]] = []
        self._not_written: Written = []  # by tasks that are not kept any more, since they failed or were cancelled
        self._fatal: tuple[str, BaseException, str] | None = None
        self._told = False
        self._groups: dict[str, Group] = {}
        self._prune_at = self._ENOUGH
        self.open_groups: tuple[Group, ...] = ()

    def add(self, future: Future[Any], written: Written | None = None) -> None:
        """A task, and what it changes."""
        written = written or []
        with self._lock:
            self._futures.append((future, written))
            for group in self.open_groups:
                group.futures.append(future)
                group.written.extend(written)
            crowded = len(self._futures) >= self._prune_at
        if crowded:
            with self._lock:
                done = [(future, written) for future, written in self._futures if future.done()]
                over = {id(future) for future, _ in done}
                self._futures = [entry for entry in self._futures if id(entry[0]) not in over]
                self._prune_at = len(self._futures) + self._ENOUGH
            self._not_written += _settle(done)
        for group in self.open_groups:
            if group.exception is not None:
                group.cancel()

    def changed(self) -> dict[int, Any]:
        """What tasks change and the program has not waited for, by identity."""
        with self._lock:
            changed = [*(written for _, written in self._futures), self._not_written]
        return {id(value): value for written in changed for value, _ in written}

    def pending(self) -> dict[int, Any]:
        """What tasks that have not ended change, by identity."""
        with self._lock:
            waiting = [written for future, written in self._futures if written and not future.done()]
        return {id(value): value for written in waiting for value, _ in written}

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
        for future, _ in waiting:
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
                waiting = list(self._futures)
            if not waiting:
                break
            not_written = _settle(waiting)
            # Only now: one that fails meanwhile cancels the others.
            over = {id(future) for future, _ in waiting}
            with self._lock:
                self._futures = [entry for entry in self._futures if id(entry[0]) not in over]
            self._not_written += not_written
        self.check()
        not_written, self._not_written = self._not_written, []
        go_on(not_written)

    def finish(self) -> None:
        """Waits for all tasks at the end of the program. Raises a failure that the program has not seen yet."""
        told = self._told
        try:
            self.barrier()
        except TaskFailed:
            if not told:
                raise
        finally:
            while _at_end:
                _at_end.pop()()

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
            waiting = list(group.futures)
            _settle([(future, []) for future in waiting])
            del group.futures[: len(waiting)]  # only now: one that fails meanwhile cancels the others
        self.check()
        if group.exception is not None:
            error, group.exception = group.exception, None
            self.go_on_after(group)
            raise error
        group.written.clear()

    def go_on_after(self, group: Group) -> None:
        """The program knows that tasks of the group have not run."""
        written, group.written = group.written, []
        go_on(written)


def _settle(tasks: list[tuple[Future[Any], Written]]) -> Written:
    """Waits. The body has told the tracker of failures; others follow from them. Returns what should have been written."""
    not_written: Written = []
    for future, written in tasks:
        try:
            future.result()
        except TaskFailed:
            not_written += written
    return not_written


# Whether this process performs the bodies of tasks, and nothing else.
in_body = False
_told_of_nesting: list[str] = []


def in_task() -> bool:
    """Whether the caller is the body of a task."""
    return in_body or _core.in_task()


def is_nested() -> bool:
    """Whether a task that is called in a task is one of its own."""
    return os.environ.get("DOVETAIL_PYCOMPSS_NESTED", "0") not in ("", "0")


def performed_here(name: str) -> bool:
    """Whether a task is called in a task, where it is an ordinary function, as under PyCOMPSs unless nesting is switched on there."""
    if not in_task() or is_nested():
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


def _holds(value: Any, wanted: Callable[[Any], bool]) -> bool:
    """Whether the value is wanted, or an item in it."""
    seen: dict[int, Any] = {}
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if wanted(part):
            return True
        if id(part) not in seen:
            seen[id(part)] = part
            waiting += _core.items_of(part) or ()
    return False


def _is_future(value: Any) -> bool:
    return isinstance(value, Future)


def has_tasks(value: Any) -> bool:
    """Whether tasks are still to make or to change the value, or an item in it."""
    pending = tracker.pending()
    return _holds(value, lambda part: _is_future(part) or id(part) in pending)


def _nothing(value: Any) -> None:
    pass


def go_on(written: Written) -> None:
    """From now on, what tasks should have changed that have failed or were cancelled is what it is then, and no failure."""
    for value, is_path in written:
        # What is not there cannot be gone on with.
        if not _holds(value, _is_future):
            (_path_as_it_is if is_path else _object_as_it_is)(value)


# They run behind the tasks that have failed or are cancelled, and read nothing of what these should have made.
_path_as_it_is = Task(_nothing, label="going on", directions={"value": FILE_OUT})
_object_as_it_is = Task(_nothing, label="going on", directions={"value": OUT})

tracker = Tracker()
_at_end: list[Callable[[], object]] = []


def at_end(call: Callable[[], object]) -> None:
    """Has a function called when all tasks of the program have ended."""
    _at_end.append(call)
