"""Reads ahead the next files of a series that a program opens, before it opens them (series.py).

The program notes what it opens (open_log.py). The page cache tells how much of each file it reads: what is there of files that it is done with, and that were not read ahead
for it.
"""

from __future__ import annotations

import contextlib
import math
import os
import stat
import threading
import time
from collections.abc import Iterator

from . import mounts, open_log, opened_ahead, page_cache
from .series import Account, Folder, Series, names_in

# Names of one folder that are seen before the folder is listed.
_BEFORE_A_LIST = 3
_MOST_NAMES = 100_000
# Of all folders together.
_MOST_NAMES_KEPT = 200_000
_MOST_FOLDERS = 64
# Accounts of folders that are not followed any more.
_MOST_ACCOUNTS = 1024
# A part of the time that has passed, and seconds at once, may go into lists of folders.
_PART_FOR_LISTS, _SECONDS_FOR_LISTS = 0.03, 0.2
# A program that opens more files than this does not wait for a device: to look at its opens would cost more than reading ahead brings.
_MOST_OPENS_A_SECOND = 10_000
_OPENS_BETWEEN_LISTS = 16
# Opens of others after which what a folder has asked for does not count any more.
_OLD = 256
# The first sample of a series, and one file in so many from there on, is not read ahead: it shows what the program reads of it. Nothing behind it is asked for until
# the program is done with it.
_FIRST_SAMPLE = 16
_SAMPLE = 64
# If so many in a row are cached, so are the others, but for one that is looked at now and then.
_CACHED_IN_A_ROW = 32
_SHORTEST_WAIT, _LONGEST_WAIT = 0.005, 0.1


def _is_sample(series: Series, place: int) -> bool:
    return (place - series.begin) % _SAMPLE == _FIRST_SAMPLE


class _Seen:
    """One folder, and the files with one ending in it."""

    def __init__(self) -> None:
        self.names: list[str] = []  # that were opened before it was listed
        self.changed: int | None = None  # when, as it was listed
        self.list_at = 0.0  # the open from which on it may be listed again
        self.folder: Folder | None = None
        self.account = Account()
        self.opened_at = 0


class SeriesAhead:
    """`memory`, `at`: the log of opens. `window`: bytes of files that the program has not opened yet, at most. `began`: when the program did, on the monotonic clock."""

    def __init__(self, memory: int, at: int, window: int, began: float) -> None:
        self._log = open_log.OpenLog(memory, at)
        self._window = window
        self._outstanding = 0
        self._opens = 0
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._accounts: dict[tuple[str, str], Account] = {}
        self._names = 0
        self._began = began
        self._listing = 0.0
        self._cached_in_a_row = 0
        self._files = 0
        self._asked = 0
        self._used = 0
        self._local = mounts.local_devices()

    def narrow(self, window: int) -> None:
        """From now on. Any thread."""
        self._window = window

    def lines(self) -> Iterator[str]:
        """For the report."""
        if self._files:
            yield (
                f"{self._files} files of a series were read ahead before they were opened, {self._asked / 1e6:.1f} MB, "
                f"of which {self._used / 1e6:.1f} MB are of files that were opened then"
            )

    def follow(self, over: threading.Event) -> None:
        """Reads files ahead until it is over."""
        wait = _SHORTEST_WAIT
        looked = self._began  # since when the opens of the first look are
        is_over = False
        while not is_over:
            # What was opened in the end counts in the report.
            is_over = over.wait(wait)
            before, looked = looked, time.monotonic()
            count, opens = self._log.new(open_log.SLOTS)
            wait = _SHORTEST_WAIT if opens else min(2 * wait, _LONGEST_WAIT)
            if count > _MOST_OPENS_A_SECOND * max(looked - before, _SHORTEST_WAIT):
                continue
            going_on: dict[Series, tuple[str, Folder]] = {}
            # What cannot be asked for is not: the program matters more.
            with contextlib.suppress(OSError, ValueError):
                for path in open_log.paths(opens):
                    self._note(path, going_on)
                for series, (path, folder) in going_on.items():
                    if folder.asks(series):
                        self._ask(path, series, over)

    def _note(self, path: str, going_on: dict[Series, tuple[str, Folder]]) -> None:
        path, name = os.path.split(path)
        key = (path, os.path.splitext(name)[1])
        self._opens += 1
        seen = self._seen.pop(key, None)
        if seen is None:
            seen = _Seen()
            seen.account = self._accounts.pop(key, seen.account)
        self._seen[key] = seen  # the last one
        seen.opened_at = self._opens
        self._forget_old()
        for known in self._list(path, key[1], seen, name):
            assert seen.folder is not None
            found = seen.folder.opened(known)
            if found is not None:
                series, used = found
                self._used += used
                self._outstanding -= used
                going_on.pop(series, None)
                going_on[series] = (path, seen.folder)

    def _forget_old(self) -> None:
        oldest = next(iter(self._seen))
        if len(self._seen) > _MOST_FOLDERS or self._opens - self._seen[oldest].opened_at > _OLD:
            self._forget(oldest)

    def _forget(self, key: tuple[str, str]) -> None:
        seen = self._seen.pop(key)
        self._replace(seen, None)
        if seen.account.wasted:
            self._accounts[key] = seen.account
            if len(self._accounts) > _MOST_ACCOUNTS:
                del self._accounts[next(iter(self._accounts))]

    def _replace(self, seen: _Seen, names: list[str] | None) -> None:
        """What the folder was known to have by what it has now."""
        if seen.folder is not None:
            seen.folder.retire_all()
            self._names -= len(seen.folder)
        seen.folder = Folder(names, seen.account, self._retired) if names else None
        self._names += len(names or ())

    def _list(self, path: str, ending: str, seen: _Seen, name: str) -> list[str]:
        """The names that the series is to be told of. The folder is listed when it has shown that there may be one, and again when it has changed and this is a new name."""
        if seen.folder is not None and seen.folder.knows(name):
            return [name]
        if name not in seen.names:
            seen.names.append(name)
        if self._opens < seen.list_at or (seen.folder is None and len(seen.names) <= _BEFORE_A_LIST):
            return []
        told, seen.names = seen.names, seen.names[-_BEFORE_A_LIST:]
        began = time.monotonic()
        if self._listing > _SECONDS_FOR_LISTS + _PART_FOR_LISTS * (began - self._began):
            return []
        with contextlib.suppress(OSError):
            status = os.stat(path)
            if status.st_dev not in self._local:
                seen.list_at = math.inf
            elif seen.changed != status.st_mtime_ns:
                seen.changed = status.st_mtime_ns
                names = names_in(path, ending, _MOST_NAMES)
                self._listing += time.monotonic() - began
                count = _MOST_NAMES if names is None else len(names)
                seen.list_at = self._opens + _OPENS_BETWEEN_LISTS + count // _OPENS_BETWEEN_LISTS
                self._replace(seen, names)
                while self._names > _MOST_NAMES_KEPT:
                    self._forget(next(iter(self._seen)))  # this one is the last, and has fewer
                return [one for one in told if seen.folder is not None and seen.folder.knows(one)]
        return []

    def _retired(self, wasted: int) -> None:
        self._outstanding -= wasted

    def _ask(self, path: str, series: Series, over: threading.Event) -> None:
        behind = range(series.place - 1, series.looked_to, -1)
        sample = next((place for place in behind if place not in series.asked), None)
        if sample is not None:
            series.part = self._read_of(os.path.join(path, series.names[sample]))
        series.looked_to = series.place - 1
        series.asked = {place for place in series.asked if place >= series.place}
        if _is_sample(series, series.place):
            return
        end = min(series.place + series.came_true + 1, len(series.names))
        for place in range(max(series.asked_to, series.place) + 1, end):
            if _is_sample(series, place) or series.part == 0 or over.is_set():
                return
            if self._cached_in_a_row < _CACHED_IN_A_ROW or place % _CACHED_IN_A_ROW == 0:
                count = self._read_ahead(os.path.join(path, series.names[place]), series.part, over)
                if count is None:
                    return
                if count:
                    series.asked.add(place)
                    series.pending.append((place, count))
            series.asked_to = place

    def _is_wanted(self, status: os.stat_result) -> bool:
        is_own = status.st_uid == os.geteuid()
        return is_own and stat.S_ISREG(status.st_mode) and status.st_size > 0 and status.st_dev in self._local

    def _read_of(self, path: str) -> int:
        """Bytes at the beginning of the file that the program has read: more than any file has where it has read all of it, and 0 if it has read
        in some other way."""
        with (
            contextlib.suppress(OSError),
            opened_ahead.opened(path, self._is_wanted, is_planned=False) as descriptor,
        ):
            size = os.fstat(descriptor).st_size
            cached = page_cache.cached_pages(descriptor, 0, size)
            if cached is None or cached == 0:
                return 0
            # A kernel may drop a page that was read.
            if cached >= page_cache.pages_of(size) * 15 // 16:
                return 1 << 62
            beginning = cached * page_cache.PAGE
            return beginning if page_cache.cached_pages(descriptor, 0, beginning) == cached else 0
        return 0

    def _read_ahead(self, path: str, part: int, over: threading.Event) -> int | None:
        """Has the beginning of the file read. Returns how many bytes, 0 if they are cached, None if there is no room for them yet."""
        with (
            contextlib.suppress(OSError),
            opened_ahead.opened(path, self._is_wanted, is_planned=False) as descriptor,
        ):
            count = min(os.fstat(descriptor).st_size, part)
            room = self._window - self._outstanding
            if room < count:
                # A part of it would leave the program's read a request more.
                if self._outstanding or room <= 0:
                    return None
                count = room
            cached = page_cache.cached_pages(descriptor, 0, count)
            if cached is None or cached >= page_cache.pages_of(count):
                self._cached_in_a_row += 1
                return 0
            self._cached_in_a_row = 0
            self._files += 1
            opened_ahead.read(descriptor, 0, count, over)
            self._outstanding += count
            self._asked += count
            return count
        return 0
