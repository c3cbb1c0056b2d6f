"""What a program that uses Dovetail has read ahead itself: the memory in which it counts (src/prefetch/inside_counts.hpp)."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from .plan_report import Inside, Waiting

NAME = "dovetail-inside"
_MAGIC = 0x3130454449534E49
# Bytes asked for and unread; reads, those that waited, nanoseconds of these.
_WAY = struct.Struct("<5Q")
# As `Way` in C++; whether reads are counted, and how long they wait.
_WAYS = (
    ("what tasks declare", True, False),
    ("what the program asks for", False, False),
    ("by its steps (HDF5)", True, True),
)


def counted(memory: int) -> Iterator[Inside]:
    """Of each way by which anything was read ahead. Raises ValueError if it is no such memory."""
    found = os.pread(memory, 8 + len(_WAYS) * _WAY.size, 0)
    if len(found) != 8 + len(_WAYS) * _WAY.size or struct.unpack_from("<Q", found) != (_MAGIC,):
        raise ValueError("it is no memory of Dovetail")
    for number, (way, is_read, is_timed) in enumerate(_WAYS):
        asked, unread, *reads = _WAY.unpack_from(found, 8 + number * _WAY.size)
        waiting = Waiting.of((reads[0], reads[1], reads[2]))
        if asked or waiting.reads:
            # Threads change the number by and by: it may be less than nothing for a moment.
            left = 0 if unread >> 63 else unread
            yield Inside(way, asked, left if is_read else None, waiting if is_read else None, is_timed)
