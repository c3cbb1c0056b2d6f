"""What tables of files in shared memory have in common (src/prefetch/file_table.hpp, device_list.hpp)."""

from __future__ import annotations

import os
import struct

from . import mounts
from .read_ahead_limits import Device, device_of
from .record import Record

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = 4096
# Files beyond these are left alone. Memory is taken for those that are there.
FILES = 1024
PLACE_BYTES = 8192
_DEVICE = struct.Struct("<QII")
_MOST_DEVICES = 128
_READY = 2
# What it is doing; why it was given up; device, inode, size, time of its last change; bytes asked for; two numbers of the device; its name; reads, those that waited, nanoseconds of these.
_ENTRY = struct.Struct("<II5QII184s3Q")


class Entry(Record):
    """One file. `path`: for a report; of a path that was too long to be kept it says so. `waiting`: reads, those that waited, and nanoseconds of these. `rest`: the bytes
    behind."""

    __slots__ = ("asked", "device", "given_up", "path", "rest", "waiting")

    def __init__(
        self,
        path: str,
        asked: int,
        given_up: int,
        device: int,
        waiting: tuple[int, int, int],
        rest: bytes,
    ) -> None:
        self.path = path
        self.asked = asked
        self.given_up = given_up
        self.device = device
        self.waiting = waiting
        self.rest = rest


def device_list() -> bytes:
    """The devices of all mounted file systems."""
    numbers = dict(mounts.devices())
    # One behind which there is none comes first: what is not in the list counts as a device.
    chosen = sorted(numbers.items(), key=lambda item: item[1])[:_MOST_DEVICES]
    devices = []
    for number, is_there in chosen:
        device = device_of(number) if is_there else Device(0, 0)
        devices.append(_DEVICE.pack(number, device.piece, device.gap))
    return struct.pack("<Q", len(devices)) + b"".join(devices)


def entries(descriptor: int, first: int, rest: int, place_bytes: int = PLACE_BYTES) -> Iterator[Entry]:
    """The files of a table that begins at `first`, with places of that size, each with `rest` bytes of what stands behind its entry."""
    for number in range(FILES):
        found = os.pread(descriptor, _ENTRY.size + rest, first + number * place_bytes)
        state, given_up, device, _, _, _, asked, _, _, name, *waiting = _ENTRY.unpack_from(found)
        if state == _READY:
            path = os.fsdecode(name.partition(b"\0")[0]) or "a file whose path is long"
            yield Entry(path, asked, given_up, device, tuple(waiting), found[_ENTRY.size :])
