"""What a device reads in a second, for the plan that `dovetail observe` writes: measured by reads of a file that the program has read."""

from __future__ import annotations

import contextlib
import mmap
import os
import random
import threading
from collections.abc import Callable, Iterator

from .device_requests import NONE, Requests, since
from .plan import Plan, PlannedDevice, PlannedFile

# Of a smaller file a plan asks for all anyway.
_LEAST = 16 << 20
_SMALL, _LARGE = 4096, 1 << 20
# As many at once as keep a device busy, whose other requests then wait.
_SMALL_AT_ONCE, _LARGE_AT_ONCE = 16, 4
# An idle device with a limit lends some of it first, which does not count.
_SECONDS_BEFORE, _SECONDS = 0.2, 0.3


def add(plan: Plan, before: dict[int, Requests]) -> None:
    """Measures the devices of files that are read in jumps, a second for each; of others nothing is to be decided. `before`: what devices had served
    when the program was started."""
    largest: dict[int, PlannedFile] = {}
    for file in plan.files:
        jumps = any(one.end != other.offset for one, other in zip(file.extents, file.extents[1:], strict=False))
        if jumps and file.size >= max(_LEAST, largest[file.device].size if file.device in largest else 0):
            largest[file.device] = file
    observed = {device: since(before, device) or NONE for device in largest}
    for device, file in largest.items():
        rates = _rates_of(file)
        if rates is not None:
            plan.devices[device] = PlannedDevice(*rates, observed[device].reads, observed[device].bytes)


def _rates_of(file: PlannedFile) -> tuple[float, float] | None:
    """Requests and bytes in a second. None: it is not the file any more, or cannot be read past the page cache."""
    with contextlib.suppress(OSError):
        descriptor = _opened(file.path)
        try:
            if not file.is_described_by(os.fstat(descriptor)):
                return None
            small, large = (file.size // block for block in (_SMALL, _LARGE))
            numbers = random.Random(file.inode)
            requests = _rate(descriptor, _SMALL, _SMALL_AT_ONCE, lambda _: numbers.randrange(small))
            blocks = _rate(descriptor, _LARGE, _LARGE_AT_ONCE, lambda turn: turn % large)
        finally:
            os.close(descriptor)
        if requests and blocks:
            return requests, blocks * _LARGE
    return None


def _opened(path: str) -> int:
    flags = os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    try:
        return os.open(path, flags | os.O_NOATIME)
    except PermissionError:  # of another user
        return os.open(path, flags)


def _rate(descriptor: int, block: int, at_once: int, place: Callable[[int], int]) -> float:
    """Blocks a second, read by so many threads. `place`: the number of the block that is read in this turn. Raises OSError."""
    over = threading.Event()
    ended = [0] * at_once
    failed: list[OSError] = []

    def read(thread: int) -> None:
        with mmap.mmap(-1, block) as memory:  # which O_DIRECT wants in whole pages
            turn = thread
            while not over.is_set():
                try:
                    os.preadv(descriptor, [memory], place(turn) * block)
                except OSError as error:
                    failed.append(error)
                    return
                ended[thread] += 1
                turn += at_once

    with _running([threading.Thread(target=read, args=(number,), daemon=True) for number in range(at_once)], over):
        over.wait(_SECONDS_BEFORE)
        before = sum(ended)
        over.wait(_SECONDS)
        count = sum(ended) - before
    if failed:
        raise failed[0]
    return count / _SECONDS


@contextlib.contextmanager
def _running(threads: list[threading.Thread], over: threading.Event) -> Iterator[None]:
    started = []
    try:
        for thread in threads:
            try:
                thread.start()
            except RuntimeError:  # no more threads can be made
                break
            started.append(thread)
        yield
    finally:
        over.set()
        for thread in started:
            thread.join()
