"""The memory of `dovetail run --detect`: files whose reads are watched for patterns (src/prefetch/detection_table.hpp)."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from . import mounts, replay
from .plan_report import Detected

_MAGIC = 0x3130544345544544
_PAGE = 4096
_HEADER = struct.Struct("<QQQQQQ24x")
_DEVICE = struct.Struct("<QII")
_MOST_DEVICES = 128
# Files beyond these are left alone. Memory is taken for those that are there.
_FILES = 1024
_FILE_BYTES = 8192
_READY = 2
# What it is doing; why it was given up; device, inode, size; bytes asked for; two numbers of the table; those of the device; its name; bytes
# used and wasted, and late guesses.
_FILE = struct.Struct("<II4Q16x8x184s8xQQQ")
SIZE = _PAGE + _FILES * _FILE_BYTES


def content(window: int, named: bool) -> bytes:
    """The beginning of the memory; the rest is zero. `window`: bytes that are read ahead at most. `named`: the report wants the names of files."""
    numbers = dict(mounts.devices())
    # One behind which there is none comes first: what is not in the table counts as a device.
    chosen = sorted(numbers.items(), key=lambda item: item[1])[:_MOST_DEVICES]
    devices = []
    for number, is_there in chosen:
        device = replay.device_of(number) if is_there else replay.Device(0, 0)
        devices.append(_DEVICE.pack(number, device.piece, device.gap))
    return _HEADER.pack(_MAGIC, SIZE, _FILES, len(devices), window, named) + b"".join(devices)


def detected(descriptor: int) -> Iterator[Detected]:
    """What was done for each file, from the memory that the program had."""
    for number in range(_FILES):
        found = os.pread(descriptor, _FILE.size, _PAGE + number * _FILE_BYTES)
        state, given_up, _, _, _, asked, name, used, wasted, late = _FILE.unpack(found)
        if state == _READY:
            path = os.fsdecode(name.partition(b"\0")[0])
            yield Detected(path or "a file whose path is long", asked, used, wasted, late, given_up)
