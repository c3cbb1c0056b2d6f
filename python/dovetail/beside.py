"""Work of this process beside the program that it runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def running(work: Callable[[threading.Event], None], seconds_at_the_end: float | None = None) -> Iterator[None]:
    """Meanwhile a thread does the work, which is to return soon when the event is set. `seconds_at_the_end`: it is waited for so long; None: until it
    returns. Where no thread can be made the work is not done: the program matters more."""
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
        thread.join(seconds_at_the_end)
