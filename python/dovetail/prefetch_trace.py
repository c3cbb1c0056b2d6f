"""`dovetail run --plan ... --trace FILE`: what a program has read, and beside it what was asked for ahead, as a trace for https://ui.perfetto.dev.

The processes of the program write no file: what they note in shared memory is written here, when they have ended.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from . import observation
from .observation import Noted

# What there is a lane of, its name, and the number of the lane. What several threads or processes do at the same time has further ones behind it.
_KINDS = ((observation.READ, "reads", 1), (observation.ASKED, "asked for ahead", 1_000_001))


def write(slots: bytes, started: int, path: str | Path) -> None:
    """A process in the trace for each file, with a lane of what was read and one of what was asked for. `started`: when the program was, on the monotonic clock. Raises
    OSError."""
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
        for number, event in enumerate(_events(slots, started)):
            file.write(f"{',' if number else ''}{json.dumps(event)}\n")
        file.write("]}\n")


def _events(slots: bytes, started: int) -> Iterator[dict[str, object]]:
    files: dict[tuple[int, int], list[Noted]] = {}
    names: dict[tuple[int, int], str] = {}
    for note in sorted(observation.notes(slots), key=lambda note: note.begun):
        place = (note.device, note.inode)
        if note.kind == observation.FILE:
            names[place] = note.path
        elif note.kind in (observation.READ, observation.ASKED):
            files.setdefault(place, []).append(note)
    for number, (place, noted) in enumerate(files.items(), 1):
        yield _named("process_name", number, 0, names.get(place, "a file whose name is not known"))
        for kind, name, first in _KINDS:
            lanes = 0
            for lane, note in _lanes(note for note in noted if note.kind == kind):
                arguments = {"offset": note.offset, "bytes": note.bytes, "process": note.process}
                if kind == observation.READ and note.waited is not None:
                    arguments["waited_us"] = note.waited // 1000
                yield {
                    "ph": "X", "pid": number, "tid": first + lane, "name": name, "ts": (note.begun - started) / 1e3,
                    "dur": max(0, note.ended - note.begun) / 1e3, "args": arguments,
                }  # fmt: skip
                lanes = max(lanes, lane + 1)
            for lane in range(lanes):
                yield _named("thread_name", number, first + lane, name)


def _named(kind: str, process: int, thread: int, name: str) -> dict[str, object]:
    return {"ph": "M", "pid": process, "tid": thread, "name": kind, "args": {"name": name}}


def _lanes(notes: Iterable[Noted]) -> Iterator[tuple[int, Noted]]:
    """Each with the number of a lane in which nothing else happens meanwhile. `notes`: in the order in which they began."""
    free: list[int] = []
    busy: list[tuple[int, int]] = []  # until when, and the lane
    lanes = 0
    for note in notes:
        while busy and busy[0][0] <= note.begun:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if not free:
            heapq.heappush(free, lanes)
            lanes += 1
        lane = heapq.heappop(free)
        heapq.heappush(busy, (note.ended, lane))
        yield lane, note
