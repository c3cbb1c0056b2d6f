"""While a program runs, what is read ahead for it follows the memory that is to be had."""

from __future__ import annotations

import contextlib
import threading

from . import beside

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Seconds between two looks. In that time a disk of 200 MB/s brings a third of the greatest window.
_SECONDS = 0.1


def watched(
    window: Callable[[], int], tell: Sequence[Callable[[int], None]], seconds: float = _SECONDS
) -> contextlib.AbstractContextManager[None]:
    """Meanwhile a thread asks `window` again and again how many bytes may be read ahead. When that changes, it calls all of `tell`."""
    if not tell:
        return contextlib.nullcontext()
    return beside.running(lambda over: _watch(over, window, tell, seconds))


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
