"""Dovetail: tasks in which computation and storage I/O overlap.

    import dovetail as dt

    @dt.task
    def square(x):
        return x * x

    print(dt.wait([square(i) for i in range(10)]))

Dependencies, scheduling, failure policies and I/O come from the runtime in C++; this package is its face in Python.
"""

from typing import Any as _Any

from ._core import cancelled, in_task
from .directions import (
    COMMUTATIVE,
    FILE_COMMUTATIVE,
    FILE_IN,
    FILE_INOUT,
    FILE_OUT,
    IN,
    INOUT,
    OUT,
    UNORDERED,
    Direction,
)
from .errors import Stuck, TaskFailed
from .file import File, OpenFile, empty, open
from .future import Future
from .runtime import Runtime, barrier, wait
from .task import Task, constraint, io, task


def shared(array: _Any) -> _Any:
    """A copy of a NumPy array that process tasks get without its being copied again, as long as nobody writes to it."""
    from . import shared_memory

    return shared_memory.shared(array)


__version__ = "0.1.0"

__all__ = [
    "COMMUTATIVE",
    "FILE_COMMUTATIVE",
    "FILE_IN",
    "FILE_INOUT",
    "FILE_OUT",
    "IN",
    "INOUT",
    "OUT",
    "UNORDERED",
    "Direction",
    "File",
    "Future",
    "OpenFile",
    "Runtime",
    "Stuck",
    "Task",
    "TaskFailed",
    "barrier",
    "cancelled",
    "constraint",
    "empty",
    "in_task",
    "io",
    "open",
    "shared",
    "task",
    "wait",
]
