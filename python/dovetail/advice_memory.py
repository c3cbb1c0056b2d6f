"""The memory of `dovetail run --configuration`: its rules, and the files that they are about (src/prefetch/advice_table.hpp)."""

from __future__ import annotations

import os
import struct

from . import file_table
from .advice_configuration import packed

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .advice_configuration import Rule
    from .plan_report import Advised

_MAGIC = 0x3130454349564441
# In front of the devices: numbers of bytes, files, rules, regions and bytes of text; then what programs and the advisor tell each other.
_HEADER = struct.Struct("<7Q16x128x")
_TIMED_AT = 48
_WINDOW_AT = 2256
_SERVED = 56
# Three numbers of the table; how many reads, hits and late reads were counted, how many bytes were released, how many were asked for and not read.
_ADVISED = struct.Struct("<24x5Q")


def content(rules: list[Rule], timed: bool = False) -> tuple[bytes, int]:
    """The beginning of the memory, the rest of which is zero, and the size of the whole. `timed`: programs note how long reads take."""
    described = packed(rules)
    body = described.rules + described.regions + described.text
    size = (
        file_table.PAGE + -(-len(body) // file_table.PAGE) * file_table.PAGE + file_table.FILES * file_table.PLACE_BYTES
    )
    counts = (len(rules), described.region_count, len(described.text))
    header = _HEADER.pack(_MAGIC, size, file_table.FILES, *counts, timed) + file_table.device_list()
    return header.ljust(file_table.PAGE, b"\0") + body, size


def advised(memory: int, size: int) -> Iterator[Advised]:
    """What was done for each file. `memory`: its descriptor."""
    from .plan_report import Advised, Waiting

    timed = any(os.pread(memory, 8, _TIMED_AT))
    for entry in file_table.entries(memory, _first(size), _ADVISED.size):
        reads, hits, late, released, unread = _ADVISED.unpack(entry.rest)
        # Blocks that were in memory already were not asked for; and programs change the number by and by, so that it may be less than nothing for a moment.
        unread = 0 if unread >> 63 else min(unread, entry.asked)
        waiting = Waiting.of(entry.waiting) if timed else None
        yield Advised(entry.path, entry.asked, released, reads, hits, late, unread, entry.given_up, waiting)


def devices(memory: int, size: int) -> set[int]:
    """The numbers of those of which something was asked."""
    return {one.device for one in file_table.entries(memory, _first(size), 0) if one.asked}


def _first(size: int) -> int:
    return size - file_table.FILES * file_table.PLACE_BYTES


def time_reads(memory: int) -> None:
    """Programs that start from now on note how long their reads take."""
    os.pwrite(memory, struct.pack("<Q", 1), _TIMED_AT)


def limit(memory: int, bytes: int) -> None:
    """From now on, the blocks of all files that are read at the time have so many bytes at most."""
    os.pwrite(memory, struct.pack("<Q", max(1, bytes)), _WINDOW_AT)


def leave(memory: int) -> None:
    """Programs give their advice themselves from now on: the advisor has ended."""
    os.pwrite(memory, bytes(4), _SERVED)
