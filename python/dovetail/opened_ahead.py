"""Opens files that a program will open, so that the program notices nothing but what is cached then."""

from __future__ import annotations

import contextlib
import os

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

    from .plan import PlannedFile

# More is really read, since advice for it would be cut into requests of their own. That does not return before the bytes are there, so that what the program
# itself waits for waits behind one file at most.
_ADVISED = 128 << 10
_PIECE = 1 << 20


@contextlib.contextmanager
def opened(
    path: str, is_wanted: Callable[[os.stat_result], bool], is_planned: bool, more_flags: int = 0
) -> Iterator[int]:
    """The file, to be read. `is_wanted` is asked before it is opened: to open what is no regular file may have effects. `is_planned`: also by a symbolic link, and where its time
    of last access changes when it is read. Raises OSError if it is not wanted or cannot be opened."""
    # With O_PATH nothing is opened.
    found = os.open(path, os.O_PATH | os.O_CLOEXEC | (0 if is_planned else os.O_NOFOLLOW))
    try:
        if not is_wanted(os.fstat(found)):
            raise FileNotFoundError(path)
        way = f"/proc/self/fd/{found}"
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK | more_flags
        try:
            descriptor = os.open(way, flags | os.O_NOATIME)
        except PermissionError:  # of another user
            if not is_planned:
                raise
            descriptor = os.open(way, flags)
    finally:
        os.close(found)
    try:
        # Else a look or a read makes the system read ahead, and more than is wanted.
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        yield descriptor
    finally:
        os.close(descriptor)


def opened_by_plan(file: PlannedFile, left_alone: set[int]) -> contextlib.AbstractContextManager[int]:
    """The same with the file of a plan, if it still is that, and on none of these file systems."""
    return opened(
        file.path,
        lambda status: file.is_described_by(status) and status.st_dev not in left_alone,
        is_planned=True,
    )


def read(descriptor: int, offset: int, count: int, over: threading.Event) -> None:
    """Brings these bytes into the page cache, unless it is over."""
    if count <= _ADVISED:
        os.posix_fadvise(descriptor, offset, count, os.POSIX_FADV_WILLNEED)
        return
    piece = bytearray(min(count, _PIECE))
    for at in range(offset, offset + count, _PIECE):
        if over.is_set():
            return
        os.preadv(descriptor, [memoryview(piece)[: offset + count - at]], at)
