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
_HEADER = struct.Struct("<6Q24x128x")
_SERVED = 56
# Two numbers of the table; how many reads, hits and late reads were counted, how many bytes were released, how many blocks went unread.
_ADVISED = struct.Struct("<16x5Q")


def content(rules: list[Rule]) -> tuple[bytes, int]:
    """The beginning of the memory, the rest of which is zero, and the size of the whole."""
    described = packed(rules)
    body = described.rules + described.regions + described.text
    size = (
        file_table.PAGE + -(-len(body) // file_table.PAGE) * file_table.PAGE + file_table.FILES * file_table.PLACE_BYTES
    )
    counts = (len(rules), described.region_count, len(described.text))
    header = _HEADER.pack(_MAGIC, size, file_table.FILES, *counts) + file_table.device_list()
    return header.ljust(file_table.PAGE, b"\0") + body, size


def advised(memory: int, size: int) -> Iterator[Advised]:
    """What was done for each file. `memory`: its descriptor."""
    from .plan_report import Advised

    first = size - file_table.FILES * file_table.PLACE_BYTES
    for entry in file_table.entries(memory, first, _ADVISED.size):
        reads, hits, late, released, unused = _ADVISED.unpack(entry.rest)
        yield Advised(entry.path, entry.asked, released, reads, hits, late, unused, entry.given_up)


def leave(memory: int) -> None:
    """Programs give their advice themselves from now on: the advisor has ended."""
    os.pwrite(memory, bytes(4), _SERVED)
