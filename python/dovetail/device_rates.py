"""What a device reads in a second, for the plan that `dovetail observe` writes: measured by reads of a file that the program has read."""

from __future__ import annotations

import contextlib
import mmap
import os
import threading
import time

from . import opened_ahead
from .device_requests import NONE, Requests, since, so_far
from .plan import Plan, PlannedDevice, PlannedFile

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable

# The cache of a device may hold a smaller file.
_LEAST = 16 << 20
_MOST_DEVICES = 4
_SMALL, _LARGE = 4096, 1 << 20
# As many at once as keep a device busy, whose other requests then wait.
_SMALL_AT_ONCE, _LARGE_AT_ONCE = 16, 4
# An idle device with a limit lends some of it first, which does not count.
_SECONDS_BEFORE, _SECONDS = 0.2, 0.3
# A file system that does not answer must not keep the command from its end.
_SECONDS_FOR_THE_LAST = 2.0


def add(plan: Plan, before: dict[int, Requests]) -> bool:
    """Measures the devices of files that are read in jumps, a second for each; of others nothing is to be decided. `before`: what devices had served
    when the program was started. Returns whether anything was measured."""
    largest: dict[int, PlannedFile] = {}
    for file in plan.files:
        jumps = any(one.end != other.offset for one, other in zip(file.extents, file.extents[1:], strict=False))
        if jumps and file.size >= max(_LEAST, largest[file.device].size if file.device in largest else 0):
            largest[file.device] = file
    chosen = sorted(largest.items(), key=lambda found: -found[1].bytes)[:_MOST_DEVICES]
    observed = {device: since(before, device) or NONE for device, _ in chosen}
    for device, file in chosen:
        rates = _rates_of(file)
        if rates is not None:
            plan.devices[device] = PlannedDevice(*rates, observed[device].reads, observed[device].bytes)
    return bool(plan.devices)


def _rates_of(file: PlannedFile) -> tuple[float, float] | None:
    """Requests and bytes in a second. None: it is not the file any more, or its device is not what answers."""
    import random  # which takes long, and is not needed for each plan

    with (
        contextlib.suppress(OSError),
        opened_ahead.opened(file.path, file.is_described_by, is_planned=True, more_flags=os.O_DIRECT) as descriptor,
    ):
        small, large = (file.size // block for block in (_SMALL, _LARGE))
        numbers = random.Random(file.inode)
        requests = _a_second(descriptor, file.device, _SMALL, _SMALL_AT_ONCE, lambda _: numbers.randrange(small))
        blocks = _a_second(descriptor, file.device, _LARGE, _LARGE_AT_ONCE, lambda turn: turn % large)
        if requests and blocks:
            return round(requests, 3), round(blocks * _LARGE, 3)
    return None


def _a_second(descriptor: int, device: int, block: int, at_once: int, place: Callable[[int], int]) -> float:
    """Blocks of the file, read by so many threads past the page cache. `place`: the number of the block that is read in this turn. 0: others than the device
    answer, such as a cache of the file system. Raises OSError."""
    over = threading.Event()
    ended = [0] * at_once
    failed: list[BaseException] = []

    def read(thread: int) -> None:
        try:
            with mmap.mmap(-1, block) as memory:  # which O_DIRECT wants in whole pages
                turn = thread
                while not over.is_set():
                    os.preadv(descriptor, [memory], place(turn) * block)
                    ended[thread] += 1
                    turn += at_once
        except (OSError, ValueError, MemoryError) as error:
            failed.append(error)

    # Daemons: the command ends without one that the file system holds up.
    threads = [threading.Thread(target=read, args=(number,), daemon=True) for number in range(at_once)]
    served = so_far()
    try:
        # If no more threads can be made, those that could be will do.
        with contextlib.suppress(RuntimeError):
            for thread in threads:
                thread.start()
        over.wait(_SECONDS_BEFORE)
        before, begun = sum(ended), time.monotonic()
        over.wait(_SECONDS)
        count, seconds = sum(ended) - before, time.monotonic() - begun
    finally:
        over.set()
    if not _have_ended(threads) or failed:
        raise OSError("the file cannot be read past the page cache")
    by_device = since(served, device)
    if by_device is None or 2 * by_device.bytes < sum(ended) * block:
        return 0
    return count / seconds


def _have_ended(threads: list[threading.Thread]) -> bool:
    until = time.monotonic() + _SECONDS_FOR_THE_LAST
    started = [thread for thread in threads if thread.ident is not None]
    for thread in started:
        thread.join(max(0.0, until - time.monotonic()))
    return not any(thread.is_alive() for thread in started)
