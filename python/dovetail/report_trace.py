"""Reads a trace event by event, and copies it with what the process knows besides. A trace of a million tasks is some hundred megabytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .plain_file import open_to_read, open_to_write

# What the runtime writes: a first line with the facts, then one event a line.
_BEGIN, _END = '{"displayTimeUnit":"ns","otherData":', ","
_FACTS = "otherData"


class UnusableTrace(ValueError):
    """What is wrong with a trace, and what to do."""


@dataclass
class Trace:
    """`facts`: what the trace says of the run as a whole. `events`: to be read once."""

    facts: dict[str, Any]
    events: Iterator[dict[str, Any]]

    def document(self, events: Iterator[dict[str, Any]]) -> dict[str, Any]:
        """As the JSON of a trace is, with these events."""
        return {_FACTS: self.facts, "traceEvents": events}


def read(path: Path) -> Trace:
    """Of Dovetail's own traces, and of others in the same format as far as it goes. Raises OSError and UnusableTrace, the latter also while events are
    read."""
    with open_to_read(path) as file:
        facts = _facts_of(file.readline())
    if facts is not None:
        return Trace(facts, _lines(path))
    try:
        with open_to_read(path) as file:
            document = json.load(file)
        facts, events = document.get(_FACTS, {}), iter(document["traceEvents"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UnusableTrace(
            f"{path} is no trace of Dovetail: make one with DOVETAIL_TRACE={path.name} or `dovetail run --report`"
        ) from error
    return Trace(facts if isinstance(facts, dict) else {}, events)


def _facts_of(line: str) -> dict[str, Any] | None:
    text = line.rstrip("\n")
    if not (text.startswith(_BEGIN) and text.endswith(_END)):
        return None
    try:
        facts = json.loads(text[len(_BEGIN) : -len(_END)])
    except (ValueError, RecursionError):
        return None
    return facts if isinstance(facts, dict) else None


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with open_to_read(path) as file:
        next(file)
        for number, line in enumerate(file, 2):
            text = line.rstrip(",\n").removeprefix('"traceEvents":[')
            if text in ("", "]}"):
                continue
            try:
                yield json.loads(text)
            except (ValueError, RecursionError):
                if line.endswith("\n"):
                    raise UnusableTrace(f"{path}, line {number}: it is no event of a trace") from None
                return  # it was cut off here


Samples = list[tuple[int, int]]


def copy(trace: Path, target: Path, more: dict[str, Any], memory: Callable[[int], Samples]) -> None:
    """The same trace, with more facts, and the memory of the program: nanoseconds since the trace began, and bytes. Raises OSError and UnusableTrace."""
    with open_to_read(trace) as source:
        facts = _facts_of(source.readline())
        if facts is None:
            raise UnusableTrace(f"{trace} is not as the runtime writes traces")
        facts |= {**more, "memory": memory(int(facts["begin_ns"]))}
        first = f"{_BEGIN}{json.dumps(facts)}{_END}\n"
        # Under the HDF5 connector it stays in its place: there all of it is read before anything is written.
        if target.exists() and target.samefile(trace):
            events = source.read()
            with open_to_write(target) as file:
                file.write(first + events)
            return
        with open_to_write(target) as file:
            file.write(first)
            while piece := source.read(1 << 20):
                file.write(piece)
