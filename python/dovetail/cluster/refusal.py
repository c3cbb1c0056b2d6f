"""What cannot be sent to another machine, found before anything is sent."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .. import _core
from ..stream import Stream

if TYPE_CHECKING:
    from ..tasks import Task

# Each is memory or a descriptor of the program's own process.
_OF_THE_PROCESS = frozenset(
    (
        _core.Barrier,
        _core.EventSource,
        _core.Latch,
        _core.Limit,
        _core.Lock,
        _core.OpenFile,
        _core.Operation,
        _core.Segment,
        _core.Semaphore,
        _core.Space,
        _core.SpaceRegion,
        Stream,
        type(threading.Lock()),
        type(threading.RLock()),
        threading.Condition,
        threading.Event,
        threading.Semaphore,
        threading.BoundedSemaphore,
        threading.Barrier,
    )
)
_CONTAINERS = frozenset((list, tuple, dict))


def refuse_task(task: Task[..., Any]) -> None:
    """Raises `TypeError` if no call of it can be made."""
    if task.stream is not None:
        raise TypeError(
            f"task '{task.label}' is a stream, whose items stay in the program's memory; on a cluster, return the items in a list"
        )


def refuse_arguments(label: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises `TypeError` if one of them is shared memory of this process."""
    found = _find(args) or _find(kwargs.values()) if kwargs else _find(args)
    if found is not None:
        raise TypeError(
            f"task '{label}' gets a '{type(found).__name__}', which is memory or a descriptor of the program's own process, and tasks on a cluster "
            "run in others: give the path of a file instead of an open one, the values instead of a stream, and `limit=` or directions instead of a lock"
        )


def _find(values: Iterable[Any]) -> Any:
    kinds = set(map(type, values))
    if not _OF_THE_PROCESS.isdisjoint(kinds):
        return next(value for value in values if type(value) in _OF_THE_PROCESS)
    if not kinds.isdisjoint(_CONTAINERS):
        for value in values:
            if type(value) in _CONTAINERS and value:
                found = _find(value.values() if type(value) is dict else value)
                if found is not None:
                    return found
    return None
