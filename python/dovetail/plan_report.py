"""What a plan, rules, or detection did in one run: `dovetail run --plan plan.json --report FILE`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .device_requests import Requests, since
from .plan import PlannedDevice, PlannedFile


@dataclass(frozen=True, slots=True)
class Done:
    """What the plan did for one file. `asked`: bytes that the system was asked to read ahead, with gaps; `unread`: of the plan's own, those that the program did not
    come to. `unforeseen`: reads that the plan did not foretell. `reads`: all that were seen, of which `waited` took longer than from memory, `seconds` in all. `observed`: the seconds that the
    program waited for the same part when it was observed; None: not known. `given_up`: why the plan was not followed to its end."""

    path: str
    asked: int
    unread: int
    unforeseen: int
    reads: int
    waited: int
    seconds: float
    observed: float | None
    given_up: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """Reads of one file, of which `waited` took longer than from memory, `seconds` in all."""

    reads: int
    waited: int
    seconds: float

    @classmethod
    def of(cls, counted: tuple[int, int, int]) -> Waiting:
        """`counted`: with nanoseconds."""
        reads, waited, nanoseconds = counted
        return cls(reads, waited, nanoseconds / 1e9)


@dataclass(frozen=True, slots=True)
class Detected:
    """What was done for one file without a plan, in bytes. `asked`: that the system was asked to read ahead, with gaps. `ahead`: of guesses that the
    program has not come to yet. `used` and `wasted`: of those that are decided. `late`: guesses that the program came to before the system was asked. `given_up`: why the file was left to the system.
    `waiting`: None: nobody looks at the clock."""

    path: str
    asked: int
    ahead: int
    used: int
    wasted: int
    late: int
    given_up: int
    waiting: Waiting | None


@dataclass(frozen=True, slots=True)
class Advised:
    """What was done for one file by its rule. `asked`, `released`: bytes. `reads`: those that came to another block; `hits`: whose blocks had been asked for before;
    `late`: which came before the system was asked. `unread`: bytes that were asked for and that nothing has read. `given_up`: why the file was left to the
    system. `waiting`: None: nobody looks at the clock."""

    path: str
    asked: int
    released: int
    reads: int
    hits: int
    late: int
    unread: int
    given_up: int
    waiting: Waiting | None


@dataclass(frozen=True, slots=True)
class Inside:
    """What a program that uses Dovetail has read ahead by one `way`. In bytes, `asked`, and `unread`: that nothing has come to; None: not known. `waiting`: tasks or reads for which
    something was read ahead, and those that came before it; `timed`: its seconds are known."""

    way: str
    asked: int
    unread: int | None
    waiting: Waiting | None
    timed: bool


# `GivenUp` in src/prefetch/plan.hpp.
WHY = {
    1: " (given up: the program read elsewhere, or in another order)",
    2: " (left to the system: all of it was in memory)",
    3: " (left to the system: the advisor may not open it)",
}


def table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """All columns but the last are right-aligned."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return ["  ".join([*(f"{row[i]:>{width}}" for i, width in enumerate(widths)), row[-1]]) for row in rows]


_READS = ("reads", "in memory", "waited", "for s")
_HEAD = (*_READS, "observed s", "saved s", "left the plan", "MB asked for", "unread", "file")  # fmt: skip


def _reads(waiting: Waiting | None) -> tuple[str, ...]:
    if waiting is None:
        return ("-",) * len(_READS)
    in_memory = max(0, waiting.reads - waiting.waited)
    return (str(waiting.reads), str(in_memory), str(waiting.waited), f"{waiting.seconds:.3f}")


def _waiting(file: Done, timed: bool) -> tuple[str, ...]:
    now = _reads(Waiting(file.reads, file.waited, file.seconds) if timed else None)[1:]
    observed = "-" if file.observed is None else f"{file.observed:.3f}"
    saved = "-" if file.observed is None or not timed else f"{file.observed - file.seconds:.3f}"
    return (*now, observed, saved)


def lines(
    done: Iterable[Done], in_sequence: Iterable[PlannedFile], problems: Iterable[str], timed: bool = True
) -> Iterator[str]:
    """A line for each file that the program has read. `timed`: all waiting is seen. By the kernel's events it is not: they do not show
    a wait for a page that is on its way already."""
    rows: list[tuple[str, ...]] = [_HEAD]
    unread = 0
    seconds = observed = 0.0
    compared = 0
    for file in done:
        if file.reads == file.asked == file.given_up == 0:
            unread += 1
            continue
        note = WHY.get(file.given_up, "")
        if timed and file.observed is not None:
            compared += 1
            seconds += file.seconds
            observed += file.observed
        rows.append(
            (
                str(file.reads),
                *_waiting(file, timed),
                str(file.unforeseen),
                f"{file.asked / 1e6:.1f}",
                # Of a plan that was given up nothing is noted any more.
                "-" if file.given_up else f"{file.unread / 1e6:.1f}",
                file.path + note,
            )
        )
    if len(rows) > 1:
        yield from table(rows)
    else:
        yield "nothing was read ahead"
    if compared:
        yield (
            f"the program waited {seconds:.3f} s in reads of {compared} of these files, and {observed:.3f} s when it was observed: "
            f"{observed - seconds:.3f} s were saved"
        )
    if unread:
        yield f"{unread} more files of the plan were not read"
    for other in in_sequence:
        yield f"left to the system, which reads ahead as well what is read in sequence: {other.path}"
    for problem in problems:
        yield f"not read ahead: {problem}"


def lines_of_devices(
    measured_devices: dict[int, PlannedDevice], numbers: Iterable[tuple[int, int]], before: dict[int, Requests]
) -> Iterator[str]:
    """What devices have served since then. `numbers`: of each, that of now and that of the plan."""
    for number, number_then in numbers:
        served = since(before, number)
        if served is None:
            continue
        line = f"device {os.major(number)}:{os.minor(number)} served {served.reads} reads, {served.bytes / 1e6:.1f} MB, of all programs"
        measured = measured_devices.get(number_then)
        if measured is not None:
            line += (
                f"; when the program was observed {measured.observed_requests}, {measured.observed_bytes / 1e6:.1f} MB"
            )
        yield line


def lines_of_inside(ways: Iterable[Inside]) -> Iterator[str]:
    """A line for each way."""
    rows: list[tuple[str, ...]] = [(*_READS, "MB asked for", "unread", "read ahead")]
    for one in ways:
        reads = _reads(one.waiting)
        unread = "-" if one.unread is None else f"{one.unread / 1e6:.1f}"
        rows.append((*reads[:-1], reads[-1] if one.timed else "-", f"{one.asked / 1e6:.1f}", unread, one.way))
    yield from table(rows)


def lines_of_detection(files: Iterable[Detected], live: bool = False) -> Iterator[str]:
    """A line for each file in whose reads there was a pattern, or that was in memory. `live`: with what is ahead of the program now."""
    ahead_of_it = ("ahead",) if live else ()
    rows: list[tuple[str, ...]] = [
        (*_READS, "MB asked for", *ahead_of_it, "used", "wasted", "late", "file, without a plan")
    ]
    others = 0
    for file in files:
        if file.asked == file.late == file.given_up == 0:
            others += 1
            continue
        ahead = (file.ahead,) if live else ()
        bytes_of = [f"{count / 1e6:.1f}" for count in (file.asked, *ahead, file.used, file.wasted)]
        rows.append((*_reads(file.waiting), *bytes_of, str(file.late), file.path + WHY.get(file.given_up, "")))
    if len(rows) > 1:
        yield from table(rows)
    else:
        yield "without a plan nothing was read ahead of any file that was open"
    if others:
        yield f"{others} more files were read without a pattern, or in sequence"


def lines_of_advice(files: Iterable[Advised]) -> Iterator[str]:
    """A line for each file that a rule is about."""
    rows: list[tuple[str, ...]] = [
        (*_READS, "MB asked for", "released", "unread", "blocks read", "in time", "late", "file, by a rule")
    ]
    for file in files:
        numbers = map(str, (file.reads, file.hits, file.late))
        bytes_of = (f"{count / 1e6:.1f}" for count in (file.asked, file.released, file.unread))
        rows.append((*_reads(file.waiting), *bytes_of, *numbers, file.path + WHY.get(file.given_up, "")))
    if len(rows) > 1:
        yield from table(rows)
    else:
        yield "no file was read that a rule is about"
