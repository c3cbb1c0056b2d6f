"""The plan that `dovetail observe` makes of what the processes of a program have noted (src/prefetch/observation.hpp)."""

from __future__ import annotations

import mmap
import os
import sys

from . import device_rates, mounts, observation, preload
from .plan import MOST_EXTENTS, Extent, Plan, PlanError, PlannedFile, Seen, write
from .plan import read as read_plan

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from .device_requests import Requests

_PAGE = mmap.PAGESIZE
# Runs are no longer, so that where the program is in one of them is known well enough.
_LONGEST_RUN = 1 << 20


class Observed:
    """What was noted of a run. `started`, `started_at`: when the program was, on the monotonic clock and since 1970. `system`: by the kernel's events. `lost`: events of the kernel; None: its observer has ended before the program. `touched`: notes of mapped files, unless the kernel's events have told that, too."""

    __slots__ = ("log", "lost", "started", "started_at", "status", "system", "touched")

    def __init__(
        self,
        started: int,
        started_at: int,
        status: int,
        log: observation.Log,
        system: bool,
        lost: int | None,
        touched: list[observation.Noted],
    ) -> None:
        self.started = started
        self.started_at = started_at
        self.system = system
        self.status = status
        self.log = log
        self.lost = lost
        self.touched = touched


def _unchanged(file: PlannedFile) -> bool:
    """Whether it is still the file that was read: what a program writes itself will be another one the next time."""
    try:
        return file.is_described_by(os.stat(file.path))
    except OSError:
        return False


class _Builder:
    """Joins what was noted into the plan of one file. `timed`: it was noted how long the program waited."""

    def __init__(self, file: PlannedFile, timed: bool) -> None:
        self.file = file
        self._timed = timed
        self._seen = Seen()
        self._again = 0.0  # seconds that were waited for what is in the plan already

    def read(self, offset: int, count: int, begun: float, think: float, waited: float | None) -> None:
        is_timed = self._timed and waited is not None
        waited = waited or 0.0
        begin = min(offset // _PAGE * _PAGE, self.file.size)
        end = min((offset + count + _PAGE - 1) // _PAGE * _PAGE, self.file.size)
        self._again += waited
        for low, high in self._seen.add(begin, end):
            last = self.file.extents[-1] if self.file.extents else None
            # What is read again after the end of the plan is not measured when the plan is followed, and is left out here too.
            waited, self._again = self._again, 0.0
            goes_on = last is not None and last.end == low and (last.waited is not None) == is_timed
            if last is not None and goes_on and last.bytes + high - low <= _LONGEST_RUN:
                last.bytes += high - low
                if last.waited is not None:
                    last.waited += waited
            else:
                self.file.extents.append(
                    Extent(low, high - low, max(begun, 0.0), max(think, 0.0), waited if is_timed else None)
                )
            think = 0.0

    def map(self, offset: int, count: int) -> None:
        count = min(count, self.file.size - offset)
        if count > 0 and (offset, count) not in self.file.mapped and len(self.file.mapped) < 1000:
            self.file.mapped.append((offset, count))


def plan_of(
    memory: bytes,
    program: list[str],
    started: int,
    started_at: int,
    timed: bool = True,
    more: Iterable[observation.Noted] = (),
) -> Plan:
    """The plan in what the processes have noted. `started`, `started_at`: when the program was, on the monotonic clock and since 1970. `timed`: it was noted
    how long the program waited in its reads. `more`: notes beside those in the memory."""
    builders: dict[tuple[int, int], _Builder] = {}
    idle: dict[int, int] = {}  # since when a process has not read
    without = {device for device, is_there in mounts.devices() if not is_there}
    for note in sorted(
        [*observation.notes(memory), *more], key=lambda note: (note.begun, note.kind != observation.FILE)
    ):
        identity = (note.device, note.inode)
        if note.kind == observation.FILE:
            if identity not in builders and note.device not in without:
                builders[identity] = _Builder(PlannedFile(note.path, *identity, note.bytes, note.offset), timed)
            continue
        builder = builders.get(identity)
        if note.kind == observation.READ:
            think = note.begun - idle.get(note.process, started)
            idle[note.process] = note.ended
            if builder is not None:
                begun = (note.begun - started) / 1e9
                waited = None if note.waited is None else note.waited / 1e9
                builder.read(note.offset, note.bytes, begun, think / 1e9, waited)
        elif builder is not None and note.kind == observation.MAP:
            builder.map(note.offset, note.bytes)
    files = [builder.file for builder in builders.values() if builder.file.extents or builder.file.mapped]
    return Plan(program, [file for file in files if file.modified < started_at and _unchanged(file)])


def _not_seen(words: list[str], plan: Plan, run: Observed) -> Iterator[str]:
    """Sentences about what the plan lacks."""
    program = preload.find(words[0])
    if run.log.processes == 0:
        yield (
            preload.why_unseen(program) or f"the library was not loaded into {program}, so that its reads are not seen"
        )
    elif not any(file.extents for file in plan.files):
        yield f"{program} read no file from a device by a call that can be seen, so that there is nothing to read ahead"
    touched = {(note.device, note.inode) for note in run.touched}
    mapped = sum(1 for file in plan.files if file.mapped and (file.device, file.inode) not in touched)
    if mapped:
        yield f"{mapped} files were mapped of which it was not seen what the program reads in memory, which is not read ahead"
    if run.log.lost:
        yield f"{run.log.lost} reads came when the log was full, and are missing in the plan"


def _not_seen_by_the_kernel(words: list[str], plan: Plan, run: Observed) -> Iterator[str]:
    """The same of a program that was followed by the kernel's events."""
    if run.lost is None:
        yield "the observer has ended before the program: what came then is missing in the plan"
    elif not any(file.extents for file in plan.files):
        yield f"{preload.find(words[0])} read no file from a device through the page cache, so that there is nothing to read ahead"
    lost = (run.lost or 0) + run.log.lost
    if lost:
        yield f"{lost} reads came faster than they could be noted, and are missing in the plan"


def put(words: list[str], run: Observed, output: str | Path, served: dict[int, Requests]) -> int:
    """Writes the plan, and says what it lacks. `served`: what devices had served before the run. Returns the exit status: the program's, unless that was 0 and there is no plan."""
    status = run.status
    # The kernel has no event for a wait for a page that is on its way already.
    plan = plan_of(run.log.slots, words, run.started, run.started_at, not run.system, run.touched)
    total = sum(len(file.extents) for file in plan.files)
    if total > MOST_EXTENTS:
        print(f"dovetail observe: no plan: {total} runs of pages are more than {MOST_EXTENTS}", file=sys.stderr)
        return status
    for sentence in (_not_seen_by_the_kernel if run.system else _not_seen)(words, plan, run):
        print(f"dovetail observe: {sentence}", file=sys.stderr)
    try:
        write(plan, output)
        read_plan(output)
        # Whatever becomes of the measurement, there is a plan.
        if device_rates.add(plan, served):
            write(plan, output)
    except (OSError, PlanError) as error:
        print(f"dovetail observe: no plan: {error}", file=sys.stderr)
        return status or 1
    except KeyboardInterrupt:
        print(
            "dovetail observe: the plan has no rates of its devices, whose measurement was interrupted", file=sys.stderr
        )
    return status
