"""One-sided communication: a task writes into the memory of another process and notifies it; there, a task waits for the notification. A task that
waits here gives its core to others.

    group = dt.rma.Group.start()
    halo = dt.rma.Segment.allocate(group, row.nbytes)

    @dt.task
    def send(row):
        dt.rma.write_notify(row, right, halo, id=0)

    @dt.task(row=dt.OUT)
    def receive(row):
        dt.rma.notify_wait(halo, 0, source=left)  # the task pauses
        row[:] = halo.array(row.dtype)

The processes run on one node, or on several. They are started by `dovetail launch -n 4 python program.py`, or by an `mpiexec`; MPI is not needed. A program that
was started alone is a group of its own. The rules of docs/one_sided.md for C++ hold here, too.

A rank, a segment and the like that there is not is a `ValueError` or `IndexError`, before anything is written. When a process has ended, waits for
it raise `Error`.
"""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Group, Inbox, Segment
from ._core import rma_compare_swap as compare_swap
from ._core import rma_fetch_add as fetch_add
from ._core import rma_notify as notify
from ._core import rma_notify_test as notify_test
from ._core import rma_notify_wait as notify_wait
from ._core import rma_notify_wait_any as notify_wait_any
from ._core import rma_read as read
from ._core import rma_read_list as read_list
from ._core import rma_write as write
from ._core import rma_write_list as write_list
from ._core import rma_write_list_notify as write_list_notify
from ._core import rma_write_notify as write_notify
from .directions import UNORDERED
from .errors import RmaError as Error
from .future import Future
from .tasks import task

__all__ = [
    "Error",
    "Group",
    "Inbox",
    "Segment",
    "compare_swap",
    "fetch_add",
    "future",
    "notify",
    "notify_await",
    "notify_awaitall",
    "notify_test",
    "notify_wait",
    "notify_wait_any",
    "read",
    "read_list",
    "write",
    "write_list",
    "write_list_notify",
    "write_notify",
]


def notify_await(segment: Segment, id: int, values: Any = None, source: int | None = None) -> None:
    """The calling task completes no earlier than the notification has come. Returns at once. Only in a task.

    values: an array of `uint32`, whose first number becomes the value; it is kept until then. source: the rank that sends it, whose end fails the
    task with `Error`."""
    _core.rma_notify_await(segment, id, 1, values, source)


def notify_awaitall(segment: Segment, first: int, count: int, values: Any = None, source: int | None = None) -> None:
    """The same for all `count` notifications from `first` on, and as many values."""
    _core.rma_notify_await(segment, first, count, values, source)


@task(segment=UNORDERED)
def _wait(segment: Segment, id: int, source: int | None) -> int:
    return notify_wait(segment, id, source)


def future(segment: Segment, id: int, source: int | None = None) -> Future[int]:
    """A future of what `notify_wait` would return. For `await` in `async def` tasks, for `dovetail.wait_for_any`, and as an argument of a task, which
    begins when the notification has come."""
    made: Future[int] = _wait(segment, id, source)
    return made
