"""What the processes of a program note of their reads, in memory that they share with `dovetail` (src/prefetch/observation.hpp)."""

from __future__ import annotations

import contextlib
import mmap
import os
import struct

from . import preload
from .record import Record

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = 0x3253444145525444
_HEADER = struct.Struct("<QQQQ32x")
_SLOT = struct.Struct("<QQQQQQQIHH")
_SLOTS = 2_000_000
READ, FILE, MAP, ASKED = 1, 2, 3, 4


class Log(Record):
    """`slots`: those that were taken. `processes`: that the library was loaded into. `lost`: notes that came when it was full."""

    __slots__ = ("lost", "processes", "slots")

    def __init__(
        self,
        slots: bytes,
        processes: int,
        lost: int,
    ) -> None:
        self.slots = slots
        self.processes = processes
        self.lost = lost


class Noted(Record):
    """What the library has noted; times in nanoseconds. `waited`: None where it is not known."""

    __slots__ = ("begun", "bytes", "device", "ended", "inode", "kind", "offset", "path", "process", "waited")

    def __init__(
        self,
        kind: int,
        begun: int,
        ended: int,
        device: int,
        inode: int,
        offset: int,
        bytes: int,
        waited: int | None,
        process: int,
        path: str = "",
    ) -> None:
        self.kind = kind
        self.begun = begun
        self.ended = ended
        self.device = device
        self.inode = inode
        self.offset = offset
        self.bytes = bytes
        self.waited = waited
        self.process = process
        self.path = path


def header() -> bytes:
    """The beginning of an empty log; the rest is zero."""
    return _HEADER.pack(_MAGIC, _SLOTS, 0, 0)


def shared_log() -> contextlib.AbstractContextManager[tuple[int, str]]:
    """An empty log, as preload.shared_memory."""
    return preload.shared_memory("dovetail-observe", header(), _HEADER.size + _SLOTS * _SLOT.size)


def read(descriptor: int) -> Log:
    """What stands in it now."""
    with mmap.mmap(descriptor, 0, prot=mmap.PROT_READ) as memory:
        _, _, used, processes = _HEADER.unpack_from(memory, 0)
        slots = memory[_HEADER.size : _HEADER.size + min(used, _SLOTS) * _SLOT.size]
        return Log(slots, processes, max(0, used - _SLOTS))


def notes(slots: bytes) -> Iterator[Noted]:
    """In no order."""
    number = 0
    while number < len(slots) // _SLOT.size:
        at = number * _SLOT.size
        begun, ended, device, inode, offset, count, waited, process, more, kind = _SLOT.unpack_from(slots, at)
        number += 1
        path = ""
        if kind == FILE:
            number += more
            text = slots[at + _SLOT.size : at + _SLOT.size * (1 + more)]
            path = os.fsdecode(text.partition(b"\0")[0])
        if kind in (READ, FILE, MAP, ASKED):
            yield Noted(kind, begun, ended, device, inode, offset, count, waited, process, path)
