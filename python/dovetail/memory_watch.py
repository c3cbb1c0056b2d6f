"""While a program runs, what is read ahead for it follows the memory that is to be had."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence

# Seconds between two looks. In that time a disk of 200 MB/s brings a third of the greatest window.
_SECONDS = 0.1


@contextlib.contextmanager
def watched(
    window: Callable[[], int], tell: Sequence[Callable[[int], None]], seconds: float = _SECONDS
) -> Iterator[None]:
    """Meanwhile a thread asks `window` again and again for how many bytes may be read ahead, and calls all of `tell` whenever that is another number."""
    if not tell:
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(over, window, tell, seconds), name="memory", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _watch(
    over: threading.Event, window: Callable[[], int], tell: Sequence[Callable[[int], None]], seconds: float
) -> None:
    told = None
    while not over.wait(seconds):
        # What cannot be asked for now stays as it is: the program matters more.
        with contextlib.suppress(OSError, ValueError):
            now = window()
            if now != told:
                for one in tell:
                    one(now)
                told = now
