"""How many requests devices have served: of all programs, since the machine was started."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

_SECTOR = 512


@dataclass(frozen=True, slots=True)
class Requests:
    """Reads, and their bytes."""

    reads: int
    bytes: int

    def __sub__(self, other: Requests) -> Requests:
        # A device that was removed and made again begins anew.
        return Requests(max(0, self.reads - other.reads), max(0, self.bytes - other.bytes))


NONE = Requests(0, 0)


def so_far() -> dict[int, Requests]:
    """By the number of the device, partitions as well. Empty where the system does not say."""
    found = {}
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/diskstats").read_text().splitlines():
            fields = line.split()
            found[os.makedev(int(fields[0]), int(fields[1]))] = Requests(int(fields[3]), int(fields[5]) * _SECTOR)
    return found


def since(before: dict[int, Requests], device: int) -> Requests | None:
    """What the device has served since then; None if it is not known."""
    now = so_far().get(device)
    return None if now is None else now - before.get(device, NONE)
