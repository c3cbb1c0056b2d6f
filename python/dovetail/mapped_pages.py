"""Which pages of mapped files the program has in its memory. The kernel tells it the parent of a process: no privilege is needed.

A page is there from the program's first touch on. The kernel then gives the program up to 15 neighbours as well, if they are cached, so that more is told than was touched.
"""

from __future__ import annotations

import array
import errno
import fcntl
import mmap
import os
import re
import struct
import time

from . import mounts
from .plan import Seen
from .record import Record

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterator

_PAGE = mmap.PAGESIZE
# Smaller ones, and those that code is run from, are left to the system.
_SMALLEST = 1 << 20
_MOST_PROCESSES = 256
_MOST_MAPPINGS = 1024
# PAGEMAP_SCAN (linux/fs.h, since 6.7): size, flags, begin, end, where the walk ended, found ranges, room for them, most pages, and masks of what is asked for.
_SCAN = 0xC0606610
_ASKED = struct.Struct("<12Q")
_WALKED_AT = 32
_RANGE = struct.Struct("<QQQ")
_RANGES = 4096
_PRESENT = 1 << 3
# Before: an entry of 8 bytes for each page, whose highest bit says it.
_IS_PRESENT = re.compile(b"[\x80-\xff]+")
_ENTRIES = 1 << 16
_SECONDS_BETWEEN_MAPS = 0.02
_SECONDS_BETWEEN_LOOKS = 0.002
# Of a processor's time, looking takes a fifth at most.
_PAUSE_FOR_LOOKING = 4


class _Pages:
    """Of one process. Raises OSError if they may not be seen."""

    def __init__(self, process: int) -> None:
        self._descriptor = os.open(f"/proc/{process}/pagemap", os.O_RDONLY | os.O_CLOEXEC)
        self._found = array.array("Q", bytes(_RANGE.size * _RANGES))
        self._scans = True

    def close(self) -> None:
        os.close(self._descriptor)

    def present(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """The parts of these addresses that are in memory. Raises OSError when the process has gone."""
        if self._scans:
            try:
                yield from self._scan(begin, end)
                return
            except OSError as error:
                if error.errno not in (errno.ENOTTY, errno.EINVAL):  # an older kernel
                    raise
                self._scans = False
        yield from self._read(begin, end)

    def _scan(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        while begin < end:
            asked = bytearray(
                _ASKED.pack(
                    _ASKED.size, 0, begin, end, 0, self._found.buffer_info()[0], _RANGES, 0, 0, _PRESENT, 0, _PRESENT
                )
            )
            count = fcntl.ioctl(self._descriptor, _SCAN, asked, True)
            for low, high, _ in _RANGE.iter_unpack(memoryview(self._found).cast("B")[: count * _RANGE.size]):
                yield low, high
            (walked,) = struct.unpack_from("<Q", asked, _WALKED_AT)
            if walked <= begin:
                return
            begin = walked

    def _read(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        for at in range(begin, end, _ENTRIES * _PAGE):
            pages = min(_ENTRIES, (end - at) // _PAGE)
            highest = os.pread(self._descriptor, pages * 8, at // _PAGE * 8)[7::8]
            for run in _IS_PRESENT.finditer(highest):
                yield at + run.start() * _PAGE, at + run.end() * _PAGE


class _Mapping:
    """`known`: what was there at the last look."""

    __slots__ = ("begin", "end", "file", "known", "offset")

    def __init__(self, begin: int, end: int, offset: int, file: MappedFile) -> None:
        self.begin = begin
        self.end = end
        self.offset = offset
        self.file = file
        self.known: set[tuple[int, int]] = set()


class MappedFile:
    """`status`: when it was found. `parts`: offset and bytes of what is mapped of it."""

    __slots__ = ("parts", "path", "seen", "status")

    def __init__(self, path: str, status: os.stat_result) -> None:
        self.path = path
        self.status = status
        self.parts: set[tuple[int, int]] = set()
        self.seen = Seen()


class Touched(Record):
    """Bytes of a file that are in the memory of a process, and were in no other before."""

    __slots__ = ("end", "file", "offset", "process")

    def __init__(self, file: MappedFile, process: int, offset: int, end: int) -> None:
        self.file = file
        self.process = process
        self.offset = offset
        self.end = end


class MappedPages:
    """Of the processes that this one has started, and of theirs. One thread uses it."""

    def __init__(self) -> None:
        self.files: dict[tuple[int, int], MappedFile] = {}
        self.pause = _SECONDS_BETWEEN_LOOKS  # seconds until the next look
        self._without = {device for device, is_there in mounts.devices() if not is_there}
        self._processes: dict[int, tuple[_Pages, dict[tuple[int, int, int], _Mapping]]] = {}
        self._looked = 0.0

    def close(self) -> None:
        for pages, _ in self._processes.values():
            pages.close()
        self._processes.clear()

    def look(self) -> list[Touched]:
        """What has come since the last look, in the order of addresses."""
        spent = time.thread_time()
        if time.monotonic() - self._looked >= _SECONDS_BETWEEN_MAPS:
            self._find()
            self._looked = time.monotonic()
        found: list[Touched] = []
        for process, (pages, mappings) in list(self._processes.items()):
            try:
                for mapping in mappings.values():
                    found += _new(process, pages, mapping)
            except OSError:  # it has ended, or is another program now
                self._forget(process)
        self.pause = max(_SECONDS_BETWEEN_LOOKS, _PAUSE_FOR_LOOKING * (time.thread_time() - spent))
        return found

    def _forget(self, process: int) -> None:
        self._processes.pop(process)[0].close()

    def _find(self) -> None:
        """What is mapped now."""
        there = list(_descendants(os.getpid()))
        for process in self._processes.keys() - set(there):
            self._forget(process)
        for process in there:
            before = self._processes.get(process)
            try:
                # After an `exec` the old descriptor leads to memory that is gone.
                pages = _Pages(process)
                mappings = self._mappings(process, before[1] if before else {})
            except OSError:
                continue
            if before:
                before[0].close()
            self._processes[process] = pages, mappings

    def _mappings(
        self, process: int, before: dict[tuple[int, int, int], _Mapping]
    ) -> dict[tuple[int, int, int], _Mapping]:
        lines = [line.split(b" ", 5) for line in _content(f"/proc/{process}/maps").splitlines()]
        code = {words[4] for words in lines if b"x" in words[1]}
        found: dict[tuple[int, int, int], _Mapping] = {}
        for addresses, rights, offset, _, inode, *path in lines:
            if inode == b"0" or inode in code or not rights.startswith(b"r") or not path:
                continue
            begin, end = (int(text, 16) for text in addresses.split(b"-"))
            key = begin, end, int(inode)
            if end - begin < _SMALLEST or len(found) >= _MOST_MAPPINGS:
                continue
            if key not in before:
                file = self._file(os.fsdecode(path[0].lstrip()), int(inode))
                if file is None:
                    continue
                at = int(offset, 16)
                file.parts.add((at, min(end - begin, file.status.st_size - at)))
                before[key] = _Mapping(begin, end, at, file)
            found[key] = before[key]
        return found

    def _file(self, path: str, inode: int) -> MappedFile | None:
        """None: the name leads elsewhere now, or to nothing on a device."""
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return None
        if status.st_ino != inode or status.st_dev in self._without:
            return None
        return self.files.setdefault((status.st_dev, inode), MappedFile(path, status))


def _new(process: int, pages: _Pages, mapping: _Mapping) -> Iterator[Touched]:
    now = set(pages.present(mapping.begin, mapping.end))
    if now == mapping.known:
        return
    for low, high in sorted(now - mapping.known):
        offset = mapping.offset + low - mapping.begin
        end = min(offset + high - low, mapping.file.status.st_size)
        if offset < end:
            yield from (Touched(mapping.file, process, *new) for new in mapping.file.seen.add(offset, end))
    mapping.known = now


def _descendants(process: int) -> Iterator[int]:
    """Not the process itself; none where the kernel does not tell."""
    waiting = [process]
    found = 0
    while waiting and found < _MOST_PROCESSES:
        parent = waiting.pop()
        try:
            threads = os.listdir(f"/proc/{parent}/task")
            children = [
                int(child) for thread in threads for child in _content(f"/proc/{parent}/task/{thread}/children").split()
            ]
        except OSError:
            continue
        for child in children:
            found += 1
            waiting.append(child)
            yield child


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
