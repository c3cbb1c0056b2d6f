"""How many requests devices have served: of all programs, since the machine was started."""

from __future__ import annotations

import contextlib
import os

from .record import Record

_SECTOR = 512


class Requests(Record):
    """Reads, and their bytes."""

    __slots__ = ("bytes", "reads")

    def __init__(self, reads: int, bytes: int) -> None:
        self.reads = reads
        self.bytes = bytes

    def __sub__(self, other: Requests) -> Requests:
        # A device that was removed and made again begins anew.
        return Requests(max(0, self.reads - other.reads), max(0, self.bytes - other.bytes))


NONE = Requests(0, 0)


def so_far() -> dict[int, Requests]:
    """By the number of the device, partitions as well. Empty where the system does not say."""
    found = {}
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/diskstats") as file:
        for line in file:
            fields = line.split()
            found[os.makedev(int(fields[0]), int(fields[1]))] = Requests(int(fields[3]), int(fields[5]) * _SECTOR)
    return found


def since(before: dict[int, Requests], device: int) -> Requests | None:
    """What the device has served since then; None if it is not known."""
    now = so_far().get(device)
    return None if now is None else now - before.get(device, NONE)
