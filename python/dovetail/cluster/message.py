"""What driver and agents send each other: calls, and what became of them. Only members of one cluster read these, which trust each other as Dask does."""

from __future__ import annotations

import enum
import pickle
from dataclasses import dataclass
from typing import Any

from .. import pickling

PREFIX = "dovetail-"
"""Of the names that Dask knows tasks and data by."""
PRESENCE = "dovetail-driver-"
"""Data of this name lies on a node as long as its driver lives: Dask drops what a client that has gone has put there."""

_PROTOCOL = pickle.HIGHEST_PROTOCOL


class Fate(enum.IntEnum):
    """What became of a call."""

    DONE = 0
    FAILED = 1
    NOT_BEGUN = 2
    """It may run somewhere else."""
    BEGUN_BEFORE = 3
    """It changes a file in place, and has begun once already."""


@dataclass(frozen=True, slots=True)
class Options:
    """What an agent must know of a task."""

    label: str
    io: bool
    storage_bw: float | str | None
    device: str | None
    limit: tuple[str, int] | None
    """The limit's name, and how many calls it lets run in a node."""
    time_limit: float | None


FunctionKey = tuple[str, int]
"""The driver, and the number that it gave to the function."""
# A call: its number, the key of its function, the places of what it changes, and its arguments: as they are if they are plain, otherwise pickled.
Call = tuple[int, FunctionKey, tuple["int | str", ...], Any]
# Its end: number, fate, seconds that the body took, and (value, {place: what was changed}) or the failure: as it is if it is plain, otherwise pickled.
End = tuple[int, Fate, float, Any]


def pack(functions: dict[FunctionKey, tuple[Options, bytes]], calls: list[Call]) -> bytes:
    return pickle.dumps((functions, calls), _PROTOCOL)


def unpack(message: bytes) -> tuple[dict[FunctionKey, tuple[Options, bytes]], list[Call]]:
    functions, calls = pickle.loads(message)
    return functions, calls


def pack_value(value: Any) -> Any:
    """A value that stands in a message for itself, or bytes."""
    if pickling.is_plain((value,)) and type(value) is not bytes:
        return value
    return pickling.dump_alone(value)


def unpack_value(packed: Any) -> Any:
    return pickle.loads(packed) if type(packed) is bytes else packed


def pack_ends(ends: list[End]) -> bytes:
    return pickle.dumps(ends, _PROTOCOL)


def unpack_ends(message: bytes) -> list[End]:
    ends: list[End] = pickle.loads(message)
    return ends
