"""A trace as columns of numbers, as the timeline of the report draws it: one row for each slice, request, message and wait."""

from __future__ import annotations

import array
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .report_accesses import accesses_of, in_words

PROCESSES_OF_RANK = 3  # tasks, requests in flight, messages outstanding
_WITHOUT_ROWS = ("idle",)  # a lane is idle where it has no row
_FACTS_LEFT_OUT = ("task", "accesses", "made")  # told by other columns


class Names:
    """Texts, each of which has a number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number_of(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def texts(self) -> list[str]:
        return list(self._numbers)


@dataclass
class Lane:
    """A thread, or a place for one request or message at a time. `process`: the part of the trace that it belongs to."""

    name: str
    process: int
    track: int
    is_thread: bool


@dataclass
class Rows:
    """What the trace has of one category, with times in nanoseconds. `facts`: further columns, NaN where a row has none; those in `texts` are
    numbers of names. `task`: the row's task, counted from 1, or 0."""

    lane: array.array[int] = field(default_factory=lambda: array.array("I"))
    begin: array.array[int] = field(default_factory=lambda: array.array("q"))
    length: array.array[int] = field(default_factory=lambda: array.array("q"))
    name: array.array[int] = field(default_factory=lambda: array.array("I"))
    task: array.array[int] = field(default_factory=lambda: array.array("I"))
    facts: dict[str, array.array[float]] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.begin)

    def note(self, key: str, value: float) -> None:
        """Of the row that was added last."""
        column = self.facts.setdefault(key, array.array("d"))
        missing = len(self.begin) - 1 - len(column)
        if missing > 0:
            column.extend([math.nan] * missing)
        column.append(value)

    def column(self, key: str) -> array.array[float]:
        """A further column, as long as the others."""
        column = self.facts[key]
        column.extend([math.nan] * (len(self.begin) - len(column)))
        return column


@dataclass
class Tasks:
    """Each task that ran, in the order of their first slices' ends, with times in nanoseconds. `created`: the
    latest time at which it can have been made. `accesses`: its place in the order of making, and what it accesses, as the trace says it."""

    begin: array.array[int] = field(default_factory=lambda: array.array("q"))
    end: array.array[int] = field(default_factory=lambda: array.array("q"))
    created: array.array[int] = field(default_factory=lambda: array.array("q"))
    name: array.array[int] = field(default_factory=lambda: array.array("I"))
    rank: array.array[int] = field(default_factory=lambda: array.array("I"))
    accesses: dict[int, tuple[int, str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.begin)


class Columns:
    """Takes the events of a trace one after the other. Not thread-safe."""

    def __init__(self) -> None:
        self.names = Names()
        self.lanes: list[Lane] = []
        self.processes: dict[int, str] = {}
        self.rows: dict[str, Rows] = {}
        self.tasks = Tasks()
        self.counters: dict[str, tuple[array.array[int], array.array[float]]] = {}
        self._lane_numbers: dict[tuple[int, int], int] = {}
        self._known: dict[tuple[int, str], int] = {}  # the task that an identity means now: they are used again

    def noted(self, events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The same events, each of which is taken on its way. Raises KeyError or TypeError for what Dovetail did not write."""
        for event in events:
            self.add(event)
            yield event

    def add(self, event: dict[str, Any]) -> None:
        """Takes one event. Raises KeyError or TypeError for what Dovetail did not write."""
        phase = event["ph"]
        if phase == "X":
            if "cat" not in event:
                # Of what `dovetail run --trace` writes about a program under a plan: there are no threads in it.
                self.lanes[self._lane_of(event)].is_thread = False
            category = event.get("cat", "io")
            if category not in _WITHOUT_ROWS:
                self._add_row(event, category, round(event["dur"] * 1000))
        elif phase == "i" and event.get("cat") == "failure":
            self._add_row(event, "failure", 0)
        elif phase == "M" and event["name"] == "thread_name":
            self.lanes[self._lane_of(event)].name = event["args"]["name"]
        elif phase == "M" and event["name"] == "process_name":
            self.processes[event["pid"]] = event["args"]["name"]
        elif phase == "C":
            for value in event["args"].values():
                self.count(self._of_rank(event["name"], event["pid"]), round(event["ts"] * 1000), value)

    def count(self, name: str, time: int, value: float) -> None:
        """From this time on, in nanoseconds, the counter has this value."""
        times, values = self.counters.setdefault(name, (array.array("q"), array.array("d")))
        times.append(time)
        values.append(value)

    def _of_rank(self, name: str, process: int) -> str:
        return name if process <= PROCESSES_OF_RANK else f"{name}, rank {(process - 1) // PROCESSES_OF_RANK}"

    def _lane_of(self, event: dict[str, Any]) -> int:
        track = event["pid"], event.get("tid", 0)
        number = self._lane_numbers.get(track)
        if number is None:
            number = self._lane_numbers[track] = len(self.lanes)
            self.lanes.append(Lane(str(track[1]), *track, (track[0] - 1) % PROCESSES_OF_RANK == 0))
        return number

    def _add_row(self, event: dict[str, Any], category: str, length: int) -> None:
        rows = self.rows.get(category)
        if rows is None:
            rows = self.rows[category] = Rows()
        rows.lane.append(self._lane_of(event))
        begin = round(event["ts"] * 1000)
        rows.begin.append(begin)
        rows.length.append(length)
        name = self.names.number_of(event["name"])
        rows.name.append(name)
        facts = event.get("args", {})
        rows.task.append(self._task_of(event, facts, begin, length, name) if category == "task" else 0)
        if "accesses" in facts:
            rows.texts.add("data")
            rows.note("data", self.names.number_of(in_words(accesses_of(facts["accesses"]))))
        for key, value in facts.items():
            if key in _FACTS_LEFT_OUT or isinstance(value, dict):
                continue
            if isinstance(value, str):
                rows.texts.add(key)
                value = self.names.number_of(value)
            rows.note(key, value)

    def _task_of(self, event: dict[str, Any], facts: dict[str, Any], begin: int, length: int, name: int) -> int:
        tasks = self.tasks
        key = event["pid"], facts.get("task", "")
        number = self._known.get(key, 0) if event.get("flow_in") else 0
        if number == 0:
            waited = facts.get("waited_for_accesses_us", 0.0) + facts.get("ready_for_us", 0.0)
            tasks.begin.append(begin)
            tasks.end.append(begin + length)
            tasks.created.append(begin - round(waited * 1000))
            tasks.name.append(name)
            tasks.rank.append((event["pid"] - 1) // PROCESSES_OF_RANK)
            number = self._known[key] = len(tasks)
        else:
            tasks.end[number - 1] = begin + length
        if "accesses" in facts:
            tasks.accesses[number - 1] = facts.get("made", 0), facts["accesses"]
        return number
