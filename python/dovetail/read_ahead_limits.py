"""How far ahead, and in which pieces, a program is read for: by memory, by settings, and by what the system says of a device."""

from __future__ import annotations

import os

from .free_memory import free_memory
from .free_memory import number as number_in
from .record import Record

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from .plan import PlannedDevice

_WINDOW = 64 << 20
SMALLEST_WINDOW = 1 << 20
PAGE = 4096  # the unit of windows
_READ_AHEAD = 128 << 10  # of a device that does not say
# What is read in the time of a request, if it was not measured: by a disk whose head moves, and by others.
_GAP_OF_HEADS = 1 << 20
_GAP = 256 << 10
_LARGEST_GAP = 16 << 20
_LONGEST_NUMBER = 9  # digits


class BadSetting(Exception):
    """A setting in the environment that makes no sense."""


class Device(Record):
    """`piece`: bytes that one advice can be about. `gap`: bytes that are read rather than left out. `read_ahead`: bytes that the system itself
    reads ahead of a program. `of_a_request`: bytes that the device reads in the time of a request."""

    __slots__ = ("gap", "of_a_request", "piece", "read_ahead")

    def __init__(self, piece: int, gap: int, read_ahead: int = _READ_AHEAD, of_a_request: int = _GAP) -> None:
        self.piece = piece
        self.gap = gap
        self.read_ahead = read_ahead
        self.of_a_request = of_a_request


def _setting(name: str, unit: int) -> int | None:
    text = os.environ.get(name)
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER):
        raise BadSetting(f"{name}={text}: it must be a whole number")
    return int(text) * unit


def device_of(number: int, measured: PlannedDevice | None = None) -> Device:
    """What the system says about the device with this number. `measured`: when the program was observed. Raises BadSetting."""
    name = f"{os.major(number)}:{os.minor(number)}"
    # Of a partition the folder above has it.
    block = os.path.realpath(f"/sys/dev/block/{name}")
    folders = (f"{block}/queue", f"{os.path.dirname(block)}/queue")
    queue = next((folder for folder in folders if os.path.isdir(folder)), folders[0])
    read_ahead = (number_in(f"/sys/class/bdi/{name}/read_ahead_kb") or number_in(f"{queue}/read_ahead_kb") or 0) << 10
    # The kernel cuts advice at the greater of the two.
    largest = max(read_ahead, (number_in(f"{queue}/max_sectors_kb") or 0) << 10)
    piece = largest // PAGE * PAGE or _READ_AHEAD
    of_a_request = _GAP_OF_HEADS if number_in(f"{queue}/rotational") == 1 else _GAP
    if measured is not None:
        of_a_request = int(max(PAGE, min(measured.of_a_request, _LARGEST_GAP)))
    gap = _setting("DOVETAIL_PREFETCH_GAP_KB", 1 << 10)
    return Device(min(piece, 1 << 30), of_a_request if gap is None else min(gap, 1 << 30), read_ahead, of_a_request)


def memory_of_rules() -> int:
    """Bytes that what is read ahead by rules may have at most, of all files together."""
    return free_memory() // 4


def window() -> int:
    """Bytes that are read ahead of the program at most, of all files together. Raises BadSetting."""
    wanted = _setting("DOVETAIL_PREFETCH_WINDOW_MB", 1 << 20)
    return max(SMALLEST_WINDOW, min(wanted if wanted is not None else _WINDOW, free_memory() // 4))
