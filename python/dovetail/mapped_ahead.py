"""Reads ahead what a program has touched of mapped files when it was observed.

The library sees no touch of memory, so this process gives the advice. It sees which pages the program has, and keeps the window before them.
"""

from __future__ import annotations

import contextlib
import os
from bisect import bisect_left
from collections import deque

from . import mounts, opened_ahead, page_cache
from .mapped_pages import MappedPages
from .read_ahead_limits import device_of

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from . import replay
    from .mapped_pages import Touched
    from .plan import Extent, Plan, PlannedFile
    from .read_ahead_limits import Device

# The kernel gives a program up to so many bytes around a page that it touches.
_AROUND = 64 << 10
# So many touches of what the plan does not have, more than of what it has, end it for the file.
_MOST_STRAYS = 8
# Neighbours of touched pages are needed later. So the program is where the lower quarter of what came last ends.
_LATEST, _LOWER = 16, 4


class _File:
    """`order`: its runs by offset: first byte, end, and place in the order of need. `asked`: bytes."""

    __slots__ = ("asked", "descriptor", "device", "is_given_up", "order", "planned", "strays")

    def __init__(self, planned: PlannedFile, descriptor: int, device: Device) -> None:
        self.planned = planned
        self.descriptor = descriptor
        self.device = device
        self.order: list[tuple[int, int, int]] = []
        self.strays = 0
        self.asked = 0
        self.is_given_up = False


class MappedAhead:
    """`window`: bytes that the program has not come to, at most."""

    def __init__(self, observed: Plan, plan: replay.Compact, window: int) -> None:
        self._planned = [file for file in plan.known(followed=True) if file.mapped and _touched(file)]
        self._measured = observed.devices
        self._window = window
        self._files: list[_File] = []
        self._runs: list[tuple[_File, Extent]] = []
        self._by_identity: dict[tuple[int, int], _File] = {}
        # Places in the order of need: what comes next by the last looks, and what is asked for next.
        self._cursor = self._issued = 0
        self._is_touched = bytearray()
        self._ahead = 0
        self._latest: deque[int] = deque(maxlen=_LATEST)

    def narrow(self, window: int) -> None:
        """From now on. Any thread."""
        self._window = window

    def lines(self) -> Iterator[str]:
        """What was done, when the program has ended."""
        for file in self._files:
            way = ", given up: the program takes another way" if file.is_given_up else ""
            yield f"{file.planned.path}: mapped, {file.asked / 1e6:.1f} of {file.planned.bytes / 1e6:.1f} MB asked for ahead{way}"

    def follow(self, over: threading.Event) -> None:
        """Reads the mapped files of the plan ahead of the program until all is asked for, or until it is over."""
        if not self._planned:
            return
        with contextlib.ExitStack() as stack:
            self._open(stack)
            pages = MappedPages()
            stack.callback(pages.close)
            self._ask()
            # The rest is asked for when the program has come to what was asked.
            while self._issued < len(self._runs) and not over.wait(pages.pause):
                self._move(pages.look())
                self._ask()

    def _open(self, stack: contextlib.ExitStack) -> None:
        on_nfs = mounts.nfs()
        runs = []
        for planned in self._planned:
            try:
                descriptor = stack.enter_context(opened_ahead.opened_by_plan(planned, on_nfs))
            except OSError:
                continue
            # All of it is there: nothing is to be gained.
            if page_cache.cached_pages(descriptor, 0, planned.size) == page_cache.pages_of(planned.size):
                continue
            status = os.fstat(descriptor)
            device = device_of(status.st_dev, self._measured.get(planned.device))
            file = _File(planned, descriptor, device)
            self._files.append(file)
            self._by_identity[status.st_dev, status.st_ino] = file
            runs += [(extent.at, number, file, extent) for number, extent in enumerate(_touched(planned))]
        runs.sort(key=lambda run: run[:2])
        for place, (_, _, file, extent) in enumerate(runs):
            file.order.append((extent.offset, extent.end, place))
            self._runs.append((file, extent))
        for file in self._files:
            file.order.sort()
        self._is_touched = bytearray(len(self._runs))

    def _ask(self) -> None:
        """Asks for what comes next, up to the window, sorted and with small gaps."""
        if self._issued < len(self._runs) and self._ahead > self._window // 2:
            return  # rather more at a time than often
        ranges: dict[_File, list[tuple[int, int]]] = {}
        while self._issued < len(self._runs):
            file, extent = self._runs[self._issued]
            if self._ahead > 0 and self._ahead + extent.bytes > self._window:
                break
            if not self._is_touched[self._issued]:
                ranges.setdefault(file, []).append((extent.offset, extent.end))
                self._ahead += extent.bytes
            self._issued += 1
        for file, of_file in ranges.items():
            _advise(file, sorted(of_file))

    def _move(self, touched: list[Touched]) -> None:
        for one in touched:
            file = self._by_identity.get((one.file.status.st_dev, one.file.status.st_ino))
            if file is not None:
                self._note(file, one.offset, one.end)
        if self._latest:
            place = sorted(self._latest)[(len(self._latest) - 1) // _LOWER]
            while self._cursor < place:
                self._come_to(self._cursor)
                self._cursor += 1

    def _note(self, file: _File, offset: int, end: int) -> None:
        around = max(_AROUND, file.device.gap)
        is_planned = False
        at = max(0, bisect_left(file.order, (offset - around, 0, 0)) - 1)
        while at < len(file.order) and file.order[at][0] < end + around:
            low, high, place = file.order[at]
            is_planned |= high > offset - around
            if low < end and offset < high and not self._is_touched[place]:
                self._latest.append(place)
                self._come_to(place)
            at += 1
        file.strays = max(0, file.strays - 1) if is_planned else file.strays + 1
        if file.strays > _MOST_STRAYS:
            file.is_given_up = True
            for _, _, place in file.order:
                self._come_to(place)

    def _come_to(self, place: int) -> None:
        """The program needs this run no more."""
        if not self._is_touched[place]:
            self._is_touched[place] = 1
            _, extent = self._runs[place]
            if place < self._issued:
                self._ahead -= extent.bytes


def _touched(file: PlannedFile) -> list[Extent]:
    """What was not read by calls: how long the program has waited for it is not known."""
    return [extent for extent in file.extents if extent.waited is None]


def _advise(file: _File, ranges: list[tuple[int, int]]) -> None:
    begin, end = ranges[0]
    for low, high in [*ranges[1:], (1 << 62, 0)]:
        if low <= end + file.device.gap:
            end = max(end, high)
            continue
        file.asked += end - begin
        for at in range(begin, end, file.device.piece):
            with contextlib.suppress(OSError):
                os.posix_fadvise(file.descriptor, at, min(file.device.piece, end - at), os.POSIX_FADV_WILLNEED)
        begin, end = low, high
