"""What programs open to read, as they note it (src/prefetch/open_log.hpp)."""

from __future__ import annotations

import contextlib
import mmap
import os
import struct

from .record import Record

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterator

SLOTS = 1024
_SLOT = struct.Struct("<Qii240s")
_PAGE = 4096
BYTES = _PAGE + SLOTS * _SLOT.size
_WORKING_FOLDER = -100  # AT_FDCWD


class Opened(Record):
    """`folder`: where the path begins, as for `openat`, in that process."""

    __slots__ = ("folder", "path", "process")

    def __init__(
        self,
        path: str,
        folder: int,
        process: int,
    ) -> None:
        self.path = path
        self.folder = folder
        self.process = process


class OpenLog:
    """The log at this place of a memory."""

    def __init__(self, memory: int, at: int) -> None:
        # From its beginning, since the place need not be one of the pages that this system has.
        self._log = mmap.mmap(memory, at + BYTES, prot=mmap.PROT_READ)
        self._at = at
        self._seen = 0

    def new(self, most: int) -> tuple[int, list[Opened]]:
        """How many opens there were since the call before, and the last of them, at most so many."""
        (opens,) = struct.unpack_from("<Q", self._log, self._at)
        count, self._seen = opens - self._seen, opens
        numbers = range(opens - min(count, most), opens)
        return count, [found for number in numbers if (found := self._open(number)) is not None]

    def _open(self, number: int) -> Opened | None:
        at = self._at + _PAGE + number % SLOTS * _SLOT.size
        written, folder, process, path = _SLOT.unpack_from(self._log, at)
        # While it was copied another one may have taken its place.
        (still,) = struct.unpack_from("<Q", self._log, at)
        if not written == still == number + 1:
            return None
        return Opened(os.fsdecode(path.partition(b"\0")[0]), folder, process)


def paths(opens: list[Opened]) -> Iterator[str]:
    """The absolute paths of those that can be known."""
    beginnings: dict[tuple[int, int], str | None] = {}
    for one in opens:
        if one.path.startswith("/"):
            yield one.path
            continue
        key = (one.process, one.folder)
        if key not in beginnings:
            beginnings[key] = _beginning(one)
        beginning = beginnings[key]
        if beginning is not None:
            yield os.path.join(beginning, one.path)


def _beginning(one: Opened) -> str | None:
    """None: the process has ended, or has closed the folder."""
    name = "cwd" if one.folder == _WORKING_FOLDER else f"fd/{one.folder}"
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{one.process}/{name}")
    return None
