"""Recognises files of one folder that are opened one after the other in an order of that folder."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_DIGITS = re.compile(r"(\d+)")
# Files in their order before others are read ahead.
_ENOUGH = 3
# Programs, or parts of one, may each have a series in the same folder.
_MOST_SERIES = 8
# As for what is read without a plan in one file (src/prefetch/detector.hpp): bytes that may be wasted, and the part of what was used that may be as well.
_ALLOWANCE = 4 << 20
_PART_WASTED = 8


def by_number(name: str) -> list[str | int]:
    """A key that sorts `data_9` before `data_10`."""
    return [int(part) if place % 2 else part for place, part in enumerate(_DIGITS.split(name))]


@dataclass(eq=False, slots=True)
class Series:
    """`names`: in the order that the program seems to follow, in which it has come from `begin` to `place`. `pending`: places that the system was asked for and the program has not opened, with their
    bytes. `part`: bytes at the beginning of a file that the program reads; 0: not known. `looked_to`: what it has read of files up to there is known, or will not be."""

    names: list[str]
    place: int
    begin: int
    came_true: int = 0
    asked_to: int = 0
    part: int = 0
    opened_at: int = 0
    looked_to: int = -1
    asked: set[int] = field(default_factory=set)
    pending: deque[tuple[int, int]] = field(default_factory=deque)

    def outstanding(self) -> int:
        return sum(count for _, count in self.pending)


class _Order:
    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.places = {name: place for place, name in enumerate(names)}
        self.expected: dict[int, Series] = {}  # by the place that is next


@dataclass(slots=True)
class Account:
    """What came of the bytes that were asked for in a folder. `enough`: files in their order before others are read ahead."""

    enough: int = _ENOUGH
    used: int = 0
    wasted: int = 0


class Folder:
    """The files of a folder with one ending. `retired` is called with bytes that were asked for in vain."""

    def __init__(self, names: list[str], account: Account, retired: Callable[[int], None]) -> None:
        """`names`: as the folder lists them. `account`: is kept while the folder is listed anew."""
        orders: list[list[str]] = []
        for order in (sorted(names), sorted(names, key=by_number), names):
            if order not in orders:
                orders.append(order)
        self._orders = [_Order(order) for order in orders]
        self._last = ""
        self._opens = 0
        self._account = account
        self._retired = retired

    def __len__(self) -> int:
        return len(self._orders[0].names)

    def knows(self, name: str) -> bool:
        return name in self._orders[0].places

    def opened(self, name: str) -> tuple[Series, int] | None:
        """The program has opened this file, which the folder knows. Returns the series that it goes on with, if others should be read ahead now; and how many bytes it has
        come to that were."""
        if name == self._last:
            return None
        self._last = name
        self._opens += 1
        followed = [self._follow(order, order.places[name]) for order in self._orders]
        used = sum(self._come_to(series) for series in followed)
        self._account.used += used
        best = max(followed, key=lambda series: series.came_true)
        return best, used

    def asks(self, series: Series) -> bool:
        """Whether so much has come true that more may be asked for."""
        account = self._account
        return series.came_true >= account.enough and account.wasted <= _ALLOWANCE + account.used // _PART_WASTED

    def all(self) -> Iterator[Series]:
        for order in self._orders:
            yield from order.expected.values()

    def _follow(self, order: _Order, place: int) -> Series:
        series = order.expected.pop(place, None)
        if series is None:
            if place + 1 in order.expected:
                return order.expected[place + 1]  # it was opened again
            series = Series(order.names, place, place)
            if len(order.expected) >= _MOST_SERIES:
                self._retire(order, min(order.expected.values(), key=lambda other: other.opened_at))
        else:
            series.place = place
            series.came_true += 1
        met = order.expected.get(place + 1)
        if met is not None:
            series = _joined(series, met)
        order.expected[place + 1] = series
        series.opened_at = self._opens
        return series

    def _retire(self, order: _Order, series: Series) -> None:
        del order.expected[series.place + 1]
        wasted = series.outstanding()
        series.pending.clear()
        if wasted:
            self._account.wasted += wasted
            self._account.enough *= 2
            self._retired(wasted)

    def retire_all(self) -> None:
        """What is asked for in this folder does not count any more."""
        for order in self._orders:
            for series in [*order.expected.values()]:
                self._retire(order, series)

    @staticmethod
    def _come_to(series: Series) -> int:
        used = 0
        while series.pending and series.pending[0][0] <= series.place:
            used += series.pending.popleft()[1]
        return used


def _joined(series: Series, met: Series) -> Series:
    """One series of two that have come to the same place: several processes may each read all files."""
    if met.came_true > series.came_true:
        series, met = met, series
    series.pending = deque(sorted((*series.pending, *met.pending)))
    series.asked |= met.asked
    series.asked_to = max(series.asked_to, met.asked_to)
    return series


def names_in(folder: str, ending: str, most: int) -> list[str] | None:
    """The names in a folder that end so, as it lists them. None: it cannot be listed, or has more than `most` names of any kind."""
    try:
        with _opened(folder) as descriptor, os.scandir(descriptor) as entries:
            names = [entry.name for entry in itertools.islice(entries, most + 1)]
    except OSError:
        return None
    return [name for name in names if os.path.splitext(name)[1] == ending] if len(names) <= most else None


@contextlib.contextmanager
def _opened(folder: str) -> Iterator[int]:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        descriptor = os.open(folder, flags | os.O_NOATIME)
    except PermissionError:  # of another user
        descriptor = os.open(folder, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
