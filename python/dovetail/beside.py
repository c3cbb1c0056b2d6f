"""Work of this process beside the program that it runs."""

from __future__ import annotations

import contextlib
import threading

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS_FOR_THE_LAST_FILE = 0.1
"""At the end: a file system that does not answer must not keep the command from its end."""


@contextlib.contextmanager
def running(
    work: Callable[[threading.Event], None],
    seconds_at_the_end: float | None = None,
    has_begun: threading.Event | None = None,
) -> Iterator[None]:
    """Meanwhile a thread does the work, which is to return soon when the event is set. `seconds_at_the_end`: it is waited for so long; None: until it
    returns. `has_begun`: what the work sets behind its imports, and before it looks at the event; until then it is not waited for. Where no thread can be made the work is not
    done: the program matters more."""
    over = threading.Event()
    thread = threading.Thread(target=work, args=(over,), name="beside", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        yield
        return
    try:
        yield
    finally:
        over.set()
        if has_begun is None or has_begun.is_set():
            thread.join(seconds_at_the_end)
