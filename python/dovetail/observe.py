"""`dovetail observe`: runs a program as it is, and writes down what it reads.

The processes of the program note their reads in memory that they share with this one (src/prefetch/observation.hpp). With `--system` another process notes
them there, as the kernel tells. Without it, this one looks at what they touch of mapped files. What does that, and what makes the plan, is imported while the
program runs.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from . import beside, device_requests, observation, preload

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    import contextlib
    from pathlib import Path

    from . import mapped_reads

_BAD_USAGE = 2


def _prepare(_: threading.Event) -> None:
    from . import observed_plan  # noqa: F401


class _Watch:
    """What the program touches of mapped files, which is looked at once that is imported."""

    def __init__(self) -> None:
        self._has_begun = threading.Event()
        self._reads: mapped_reads.MappedReads | None = None

    def running(self) -> contextlib.AbstractContextManager[None]:
        """Meanwhile the processes that this one has started are watched."""
        return beside.running(self._follow, has_begun=self._has_begun)

    def notes(self) -> list[observation.Noted]:
        """When the program has ended. None of one that ended before this had begun."""
        return self._reads.notes() if self._reads is not None and self._has_begun.is_set() else []

    def _follow(self, over: threading.Event) -> None:
        from . import mapped_reads, observed_plan  # noqa: F401

        self._reads = mapped_reads.MappedReads()
        self._has_begun.set()
        self._reads.follow(over)


def observe(words: list[str], output: str | Path, system: bool = False) -> int:
    """Runs the program and writes the plan. `system`: by the kernel's events. Returns its status, negative for a signal; or 2 if nothing was started."""
    folder = os.path.dirname(os.path.abspath(output))
    if not os.path.isdir(folder):
        return _refuse(f"{folder}: there is no such folder")
    if not os.access(folder, os.W_OK) or os.path.isdir(output):
        return _refuse(f"{output}: a plan cannot be written there")
    served = device_requests.so_far()
    started_at = time.time_ns()
    lost: int | None = 0
    watch = _Watch()
    with observation.shared_log() as (descriptor, path):
        started = time.monotonic_ns()
        try:
            if system:
                started, status, lost = _run_followed(words, descriptor)
            else:
                status = preload.run(words, {"DOVETAIL_PREFETCH_LOG": path}, watch.running())
        except preload.Refused as error:
            return _refuse(str(error))
        log = observation.read(descriptor)
    from . import observed_plan

    run = observed_plan.Observed(started, started_at, status, log, system, lost, watch.notes())
    return observed_plan.put(words, run, output, served)


def _run_followed(words: list[str], log: int) -> tuple[int, int, int | None]:
    """When it was started, its status, and how many events were lost. Raises preload.Refused."""
    from . import system_observer

    try:
        with system_observer.started(log) as observer:
            started = time.monotonic_ns()
            status = observer.run(words, beside.running(_prepare))
            return started, status, observer.finish()
    except system_observer.Unavailable as error:
        raise preload.Refused(str(error)) from error


def _refuse(text: str) -> int:
    print(f"dovetail observe: {text}", file=sys.stderr)
    return _BAD_USAGE
