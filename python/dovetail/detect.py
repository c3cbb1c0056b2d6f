"""The memory of `dovetail run --detect`: files whose reads are watched for patterns (src/prefetch/detection_table.hpp)."""

from __future__ import annotations

import os
import struct

from . import file_table, open_log

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .plan_report import Detected

_MAGIC = 0x3130544345544544
_HEADER = struct.Struct("<QQQQQ24x")
_TIMED_AT = 32
_WINDOW_AT = 24
# Bytes that were asked for and not read yet; a number of the table; bytes used and wasted, and late guesses.
_DETECTED = struct.Struct("<Q8xQQQ")
# Of one file, with what it was read at (sizeof(DetectedFile)).
PLACE_BYTES = 30 * file_table.PAGE
# Behind the files: what programs open.
OPENS_AT = file_table.PAGE + file_table.FILES * PLACE_BYTES
SIZE = OPENS_AT + open_log.BYTES


def content(window: int, timed: bool = False) -> bytes:
    """The beginning of the memory; the rest is zero. `window`: bytes that are read ahead at most. `timed`: programs note how long reads take."""
    return _HEADER.pack(_MAGIC, SIZE, file_table.FILES, window, timed) + file_table.device_list()


def narrow(memory: int, window: int) -> None:
    """From now on, this many bytes are read ahead at most."""
    os.pwrite(memory, struct.pack("<Q", window), _WINDOW_AT)


def detected(descriptor: int) -> Iterator[Detected]:
    """What was done for each file, from the memory that the program had."""
    from .plan_report import Detected, Waiting

    timed = any(os.pread(descriptor, 8, _TIMED_AT))
    for entry in file_table.entries(descriptor, file_table.PAGE, _DETECTED.size, PLACE_BYTES):
        ahead, used, wasted, late = _DETECTED.unpack(entry.rest)
        waiting = Waiting.of(entry.waiting) if timed else None
        yield Detected(entry.path, entry.asked, ahead, used, wasted, late, entry.given_up, waiting)


def devices(descriptor: int) -> set[int]:
    """The numbers of those of which something was asked."""
    return {one.device for one in file_table.entries(descriptor, file_table.PAGE, 0, PLACE_BYTES) if one.asked}
