"""Opens the files of a plan before the program does, and reads them, or the beginnings of long ones.

The library gives advice for a file once the program has read of it, and opens none itself (docs/design/prefetch.md). For a small file that is too late. This
process opens it earlier; the program does not see descriptors of another process.
"""

from __future__ import annotations

import contextlib
import os
import threading

from . import beside, mounts, opened_ahead

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from .plan import PlannedFile
    from .replay import Compact

# Needs that lie this close to each other are read together.
_GAP = 128 << 10
# A file that needs more is left to the system, or the library, but for a beginning: as much as the system itself would read ahead of its first read.
_WHOLE, _BEGINNING = 4 << 20, 128 << 10
# If so many are cached from the first on, so are the others: a look at each costs more than it brings.
_CACHED_FROM_THE_FIRST = 32
_SECONDS_BETWEEN_LOOKS = 0.01
_SECONDS_FOR_EACH_FILE = 1e-5


class FilesAhead:
    """`memory`: a descriptor of the plan as the program has it. `window`: bytes of files that the program is not known to have come to, at most."""

    def __init__(self, plan: Compact, memory: int, window: int) -> None:
        files = [*enumerate(plan.files), *((-1, file) for file in plan.unknown)]
        files.sort(key=lambda numbered: min(extent.at for extent in numbered[1].extents))
        self._files = [file for _, file in files]
        # The number that the library knows the file by, of those that it knows, and the place in this order.
        self._known = [(number, place) for place, (number, _) in enumerate(files) if number >= 0]
        self._plan = plan
        self._memory = memory
        self._window = window
        self._on_nfs = mounts.nfs()

    def narrow(self, window: int) -> None:
        """From now on. Any thread."""
        self._window = window

    def running(self) -> contextlib.AbstractContextManager[None]:
        """Meanwhile the files of the plan are opened ahead of the program."""
        return beside.running(self._read, beside.SECONDS_FOR_THE_LAST_FILE)

    def _read(self, over: threading.Event) -> None:
        """Reads them in the order in which the program needs them. Returns when that is done, or when it is over."""
        ahead = [0]  # for each file, bytes that were asked for before it
        cached = 0
        reached = 0
        for place, file in enumerate(self._files):
            while ahead[place] - ahead[min(reached, place)] > self._window:
                # Each look is at all files. If the library knows none, it will never be known where the program is.
                if not self._known or over.wait(_SECONDS_BETWEEN_LOOKS + _SECONDS_FOR_EACH_FILE * len(self._known)):
                    return
                reached = self._reached()
            if over.is_set():
                return
            asked = self._read_file(file, over)
            cached += asked == 0 and cached == place
            if cached == _CACHED_FROM_THE_FIRST:
                return
            ahead.append(ahead[place] + asked)

    def _reached(self) -> int:
        """The place of the last file that the program is known to have come to."""
        begun = self._plan.begun(self._memory)
        return max((place for number, place in self._known if begun[number]), default=0)

    def _read_file(self, file: PlannedFile, over: threading.Event) -> int:
        """Has it read if that is still the file of the plan. Returns how many bytes of it were not cached."""
        with contextlib.suppress(OSError), opened_ahead.opened_by_plan(file, self._on_nfs) as descriptor:
            return _read_unless_cached(descriptor, *_needed_first(file), over)
        return 0


def _needed_first(file: PlannedFile) -> tuple[int, int]:
    """Offset and bytes of what is needed first, with what is needed close to it."""
    begin = file.extents[0].offset
    end = file.extents[0].end
    for extent in file.extents:
        if not begin <= extent.offset <= end + _GAP:
            break
        end = max(end, extent.end)
    return begin, end - begin if end - begin <= _WHOLE else _BEGINNING


def _read_unless_cached(descriptor: int, offset: int, count: int, over: threading.Event) -> int:
    cached = 0
    # Not there, or a file system that cannot be asked.
    with contextlib.suppress(OSError):
        cached = os.preadv(descriptor, [bytearray(count)], offset, os.RWF_NOWAIT)
    if cached < count:
        opened_ahead.read(descriptor, offset + cached, count - cached, over)
    return count - cached
