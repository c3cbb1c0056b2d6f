"""What a trace and the report of admission say about a run: intervals on threads, requests in flight, sums."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

_THREADS, _REQUESTS = 1, 2
Intervals = list[tuple[float, float]]


@dataclass
class Lane:
    """One thread, or one of the requests in flight: consecutive slices (begin, end, kind), in seconds."""

    name: str
    slices: list[tuple[float, float, str]]


@dataclass
class Run:
    """All that the page shows."""

    length: float
    lanes: list[Lane]
    requests: list[Lane]
    facts: dict[str, Any]
    devices: list[dict[str, Any]]
    workers: int = 1
    computing: float = 0  # seconds in which at least one worker ran a task
    computed: float = 0  # seconds of tasks on workers, over the number of workers
    io: float = 0  # seconds in which a request was in flight or an I/O task ran
    hidden: float = 0  # seconds in which both
    failures: list[str] = field(default_factory=list)
    kinds: dict[str, dict[str, Any]] = field(default_factory=dict)  # by kind of task

    @property
    def neither(self) -> float:
        return max(0.0, self.length - self.computing - self.io + self.hidden)


def kind_of(label: str) -> str:
    """Tasks that differ in a number only ("block 3,4") are of one kind."""
    return re.sub(r"[\W_]*\d[\W\d_]*$", "", label) or label


def united(intervals: Intervals) -> Intervals:
    """The intervals without overlaps, in order."""
    result: Intervals = []
    for begin, end in sorted(intervals):
        if result and begin <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((begin, end))
    return result


def common(first: Intervals, second: Intervals) -> Intervals:
    """Where both are. Both without overlaps and in order."""
    result: Intervals = []
    i = j = 0
    while i < len(first) and j < len(second):
        begin, end = max(first[i][0], second[j][0]), min(first[i][1], second[j][1])
        if begin < end:
            result.append((begin, end))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return result


def length_of(intervals: Intervals) -> float:
    return sum(end - begin for begin, end in intervals)


def read(document: dict[str, Any], admission: dict[str, Any]) -> Run:
    """From the trace as JSON. Raises KeyError or TypeError for what Dovetail did not write."""
    names: dict[tuple[int, int], str] = {}
    slices: dict[tuple[int, int], list[tuple[float, float, str]]] = defaultdict(list)
    failures = []
    for event in document["traceEvents"]:
        track = (event["pid"], event.get("tid", 0))
        if event["ph"] == "X":
            begin = event["ts"] * 1e-6
            name = event["name"] if event["cat"] in ("io", "idle") else kind_of(event["name"])
            slices[track].append((begin, begin + event["dur"] * 1e-6, name))
        elif event["ph"] == "M" and event["name"] == "thread_name":
            names[track] = event["args"]["name"]
        elif event["ph"] == "i" and event.get("cat") == "failure":
            failures.append(f"{event['name'].removeprefix('failed: ')}: {event['args']['reason']}")
    lanes = [Lane(names.get(t, str(t[1])), sorted(slices[t])) for t in sorted(slices) if t[0] == _THREADS]
    requests = [Lane(names.get(t, str(t[1])), sorted(slices[t])) for t in sorted(slices) if t[0] == _REQUESTS]
    facts = document.get("otherData", {})
    last = max((end for lane in lanes + requests for _, end, _ in lane.slices), default=0.0)
    run = Run(max(last, float(facts.get("total_s", 0))), lanes, requests, facts, admission.get("devices", []))
    run.failures = failures
    _add_up(run)
    return run


def _add_up(run: Run) -> None:
    worker_time: Intervals = []
    io_time = [(begin, end) for lane in run.requests for begin, end, _ in lane.slices]
    workers = 0
    for lane in run.lanes:
        on_worker = lane.name.startswith("worker")
        workers += on_worker
        for begin, end, kind in lane.slices:
            if kind == "idle":
                continue
            (worker_time if on_worker else io_time).append((begin, end))
            told = run.kinds.setdefault(kind, {"slices": 0, "seconds": 0.0, "io": not on_worker})
            told["slices"] += 1
            told["seconds"] += end - begin
    run.workers = max(1, workers)
    run.computed = length_of(worker_time) / run.workers
    computing, io = united(worker_time), united(io_time)
    run.computing, run.io = length_of(computing), length_of(io)
    run.hidden = length_of(common(computing, io))
