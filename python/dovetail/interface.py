"""What `import dovetail as dt` offers. The package imports this module when the first of these names is used."""

from __future__ import annotations

import os
from typing import Any

from . import mpi, rma
from ._core import (
    Barrier,
    EventSource,
    Latch,
    Limit,
    Lock,
    Operation,
    Semaphore,
    Space,
    in_task,
    select,
    wait_for_any,
    wait_readable,
    wait_writable,
)
from .cancellation import cancelled
from .cluster import Cluster
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
from .errors import Stuck, TaskCancelled, TaskFailed, TimeLimitExceeded
from .executor import Executor
from .file import File, OpenFile, empty, open, prefetch, read_file
from .future import Future
from .gathering import as_completed, gather, map
from .groups import Group, group
from .runtime import Runtime, barrier, wait
from .stream import Stream
from .tasks import Task, constraint, io, task


def shared(array: Any) -> Any:
    """A copy of a NumPy array that is sent to process tasks without another copy, as long as it is not written to."""
    from . import shared_memory

    return shared_memory.shared(array)


def register_joblib() -> None:
    """Makes `joblib.parallel_config(backend="dovetail")` known to joblib, which has to be installed. docs/python_futures.md says what it does."""
    from . import joblib_backend

    joblib_backend.register()


if "DOVETAIL_CLUSTER" in os.environ:
    from .cluster.connection import of_environment as _of_environment

    _of_environment()

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
    "Barrier",
    "Cluster",
    "Direction",
    "EventSource",
    "Executor",
    "File",
    "Future",
    "Group",
    "Latch",
    "Limit",
    "Lock",
    "OpenFile",
    "Operation",
    "Runtime",
    "Semaphore",
    "Space",
    "Stream",
    "Stuck",
    "Task",
    "TaskCancelled",
    "TaskFailed",
    "TimeLimitExceeded",
    "as_completed",
    "barrier",
    "cancelled",
    "constraint",
    "empty",
    "gather",
    "group",
    "in_task",
    "io",
    "map",
    "mpi",
    "open",
    "prefetch",
    "read_file",
    "register_joblib",
    "rma",
    "select",
    "shared",
    "task",
    "wait",
    "wait_for_any",
    "wait_readable",
    "wait_writable",
]
