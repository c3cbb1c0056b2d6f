"""`pycompss.api.api`: waiting for objects, files and groups."""

from __future__ import annotations

import builtins
import os
import shutil
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from .. import _core, runtime
from ..directions import FILE_IN, FILE_INOUT, INOUT
from ..errors import TaskFailed
from ..future import Future
from ..tasks import Task
from . import items
from .tracking import Group, go_on, in_task, tracker, warn

__all__ = [
    "TaskGroup",
    "compss_barrier",
    "compss_barrier_group",
    "compss_cancel_group",
    "compss_delete_file",
    "compss_delete_object",
    "compss_file_exists",
    "compss_get_number_of_resources",
    "compss_open",
    "compss_snapshot",
    "compss_start",
    "compss_stop",
    "compss_wait_on",
    "compss_wait_on_directory",
    "compss_wait_on_file",
]

_PathText = str | os.PathLike[str]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(f"the function {name} of PyCOMPSs is not covered by Dovetail (see docs/pycompss.md)")


def compss_start(*_: Any, **__: Any) -> None:
    """The runtime starts by itself."""


def compss_stop(code: int = 0, *_: Any, **__: Any) -> None:
    """Waits for all tasks. With a code that is not 0, those that have not begun are cancelled before."""
    if code != 0:
        tracker.cancel()
    tracker.barrier()


def compss_wait_on(*objects: Any, **_: Any) -> Any:
    """The final value of one object, or a list of those of several."""
    values = [_final(value) for value in objects]
    return values[0] if len(values) == 1 else values


def _final(value: Any) -> Any:
    try:
        return items.latest(runtime.wait(value))
    except TaskFailed:
        changed = tracker.changed()
        return items.rebuilt(value, lambda part: _part_as_it_is(part, changed), _core.items_of)


def _part_as_it_is(value: Any, changed: Mapping[int, Any]) -> Any:
    """Unless it ends the program, a failure is over once its successors are cancelled: what they should have made is None."""
    if isinstance(value, Future) or id(value) in changed:
        try:
            value = runtime.wait(value)
        except TaskFailed:
            tracker.check()
            go_on([(value, False)])
            if isinstance(value, Future):
                return None
    return items.replacement(value)


def _nothing(path: Any) -> None:
    pass


_reader = Task(_nothing, label="compss_open", directions={"path": FILE_IN})
_writer = Task(_nothing, label="compss_open", directions={"path": FILE_INOUT})


def _reach(path: _PathText, writes: bool = False) -> None:
    """Waits for the tasks that have to do with a path, failed or not."""
    try:
        (_writer if writes else _reader)(path).result()
    except TaskFailed:
        tracker.check()
        go_on([(path, True)])
    tracker.check()


def compss_open(file_name: _PathText, mode: str = "r") -> Any:
    """Opens a file when the tasks that write it (and to write it, those that read it) have ended."""
    _reach(file_name, writes=any(letter in mode for letter in "wax+"))
    return builtins.open(file_name, mode)


def _each(names: tuple[Any, ...], answer: Callable[[_PathText], Any]) -> Any:
    """The answer for each name, in lists and tuples as the names are in; of a single argument, its own."""

    def of(name: Any) -> Any:
        return type(name)(map(of, name)) if type(name) in (list, tuple) else answer(name)

    answers = [of(name) for name in names]
    return answers[0] if len(answers) == 1 else answers


def _reached(path: _PathText) -> _PathText:
    _reach(path)
    return path


def compss_wait_on_file(*file_names: Any) -> Any:
    """Waits for the tasks that write these files, given alone or in lists and tuples. Returns the names as they were given."""
    return _each(file_names, _reached)


def compss_wait_on_directory(*directory_names: Any) -> Any:
    """Waits for the tasks that write these folders, given alone or in lists and tuples. Returns the names as they were given."""
    return _each(directory_names, _reached)


def _exists(path: _PathText) -> bool:
    _reach(path)
    return os.path.exists(path)


def compss_file_exists(*file_names: Any) -> Any:
    """Whether a file is there once the tasks that write it have ended; for several, as the names were given."""
    return _each(file_names, _exists)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


_remover = Task(_remove, label="compss_delete_file", io=True, directions={"path": FILE_INOUT})


def _deleted(path: _PathText) -> bool:
    tracker.add(_remover(os.fspath(path)))
    return True


def compss_delete_file(*file_names: Any) -> Any:
    """Deletes files when all tasks that were made before have done with them. Does not wait."""
    return _each(file_names, _deleted)


_forgetter = Task(items.forget, label="compss_delete_object", directions={"value": INOUT})


def compss_delete_object(*objects: Any) -> Any:
    """Drops what stands for objects when all tasks that were made before have done with them. Does not wait.

    What no task and no variable needs is freed anyway.
    """
    for value in objects:
        if items.stands_for_nothing(value):
            continue
        tracker.add(_forgetter(value))
    return True if len(objects) == 1 else [True for _ in objects]


def compss_barrier(no_more_tasks: bool = False) -> None:
    """Waits for all tasks; in a task, for those that it has made."""
    if in_task():
        runtime.barrier()
    else:
        tracker.barrier()


def compss_barrier_group(group_name: str) -> None:
    """Waits for the tasks of a group. Raises the COMPSsException that one of them ended with."""
    tracker.group_barrier(group_name)


def compss_cancel_group(group_name: str) -> None:
    """Cancels the tasks of a group that have not begun. Tasks that are made later find what these were to change as it is."""
    group = tracker.group(group_name)
    group.cancel()
    tracker.go_on_after(group)


def compss_get_number_of_resources() -> int:
    """One machine."""
    return 1


_told_of_snapshots: list[str] = []


def compss_snapshot() -> None:
    """Waits for all tasks made so far. Stores nothing: a later run of the program begins at its beginning, which is told once."""
    compss_barrier()
    if not _told_of_snapshots:
        _told_of_snapshots.append("")
        warn(
            "compss_snapshot waits for all tasks, and stores nothing: a later run begins at the beginning (this is said once)"
        )


class TaskGroup:
    """The tasks made in the block. Leaving it waits for them unless `implicit_barrier` is false."""

    def __init__(self, group_name: str, implicit_barrier: bool = True) -> None:
        self.name = group_name
        self.implicit_barrier = implicit_barrier
        self._group: Group | None = None

    def __enter__(self) -> TaskGroup:
        self._group = tracker.group(self.name, make=True)
        tracker.open_groups = (*tracker.open_groups, self._group)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tracker.open_groups = tuple(group for group in tracker.open_groups if group is not self._group)
        if kind is None and self.implicit_barrier:
            tracker.group_barrier(self.name)
