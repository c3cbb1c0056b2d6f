"""Reads a trace that Dovetail wrote (Chrome JSON) into lanes of intervals, and measures what each moment was spent on."""

import json
import os
import re
import stat
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

THREADS, REQUESTS = 1, 2  # what a process of the trace shows; each rank has three, of which the third is its messages

# The suffix of the kind of a slice that used the processor for less than half of its time.
BLOCKED = " (blocked)"


class TimelineError(ValueError):
    """What is wrong with the input or output, and what to do."""


@dataclass
class Lane:
    """Intervals that do not overlap, in seconds, each of a kind."""

    name: str
    begin: np.ndarray
    end: np.ndarray
    kind: np.ndarray  # of str

    def of(self, kind: str) -> tuple[np.ndarray, np.ndarray]:
        chosen = self.kind == kind
        return self.begin[chosen], self.end[chosen]


@dataclass
class Trace:
    lanes: list[Lane]  # threads
    requests: list[Lane]
    in_flight: tuple[np.ndarray, np.ndarray]  # times and numbers of requests
    facts: dict  # the exporter's `otherData`
    length: float
    computing: list[Lane] = field(default_factory=list)  # the workers among `lanes`


def family(label: str) -> str:
    """Tasks that differ in a number only ("block 3,4") are of one kind."""
    return re.sub(r"[\W_]*\d[\W\d_]*$", "", label) or label


def read_trace(path: Path) -> Trace:
    """Reads a trace file. Raises TimelineError."""
    try:
        # Not a pipe, which might never have an end.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, encoding="utf-8") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise TimelineError(f"'{path}' is not a regular file")
            document = json.load(file)
    except RecursionError as error:
        raise TimelineError(f"'{path}' is not a trace: it is nested too deep") from error
    except OSError as error:
        raise TimelineError(f"cannot read '{path}': {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TimelineError(f"'{path}' is not a trace: byte {error.start} is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise TimelineError(
            f"'{path}' is not a whole trace: {error.msg} at line {error.lineno}, column {error.colno}; "
            "was the program ended while it wrote the file?"
        ) from error
    if not isinstance(document, dict) or not isinstance(document.get("traceEvents"), list):
        raise TimelineError(f"'{path}' is JSON, but not a Chrome trace: it has no list 'traceEvents'")
    try:
        return _arrange(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, TimelineError):
            raise TimelineError(f"'{path}' {error}") from error
        raise TimelineError(f"'{path}' was not written by Dovetail: {type(error).__name__}: {error}") from error


def computes(kind: str) -> bool:
    """Whether a thread uses the processor in slices of this kind, or at least for most of them (docs/report.md)."""
    return kind != "idle" and not kind.endswith(BLOCKED) and not kind.startswith("waits for ")


def _arrange(document: dict) -> Trace:
    names: dict[tuple[int, int], str] = {}
    intervals: dict[tuple[int, int], list] = defaultdict(list)
    counts = []
    last = 0.0
    ranks = len({(event["pid"] - 1) // 3 for event in document["traceEvents"]})
    for event in document["traceEvents"]:
        phase = event["ph"]
        process = (event["pid"] - 1) % 3 + 1
        if process not in (THREADS, REQUESTS):
            continue
        if phase == "X":
            begin, end = event["ts"] * 1e-6, (event["ts"] + event["dur"]) * 1e-6
            last = max(last, end)
            kind = event["name"] if event["cat"] in ("io", "idle", "wait") else family(event["name"])
            if event.get("args", {}).get("processor_us", event["dur"]) < event["dur"] / 2:
                kind += BLOCKED
            intervals[process, event["tid"]].append((begin, end, kind))
        elif phase == "C":
            counts.append((event["ts"] * 1e-6, event["pid"], event["args"]["requests"]))
        elif phase == "M" and event["name"] == "thread_name":
            rank = f"rank {(event['pid'] - 1) // 3}: " if ranks > 1 else ""
            names[process, event["tid"]] = rank + event["args"]["name"]
    if not intervals:
        raise TimelineError("has no task and no request in it: was recording on while they ran?")

    def lanes_of(process: int) -> list[Lane]:
        tracks = sorted(track for track in intervals if track[0] == process)
        return [_lane(names.get(track, str(track[1])), intervals[track]) for track in tracks]

    facts = document.get("otherData") or {}
    present: dict[int, int] = defaultdict(int)  # by rank
    totals = []
    for _, rank, number in sorted(counts):
        present[rank] = number
        totals.append(sum(present.values()))
    times = np.array([time for time, _, _ in sorted(counts)])
    numbers = np.array(totals)
    threads = lanes_of(THREADS)
    return Trace(
        lanes=threads,
        requests=lanes_of(REQUESTS),
        in_flight=(times, numbers),
        facts=facts,
        length=max(last, float(facts.get("total_s", 0))),
        computing=[lane for lane in threads if re.match(r"(rank \d+: )?worker", lane.name)],
    )


def _lane(name: str, intervals: list) -> Lane:
    """Of slices that lie in each other the innermost is shown."""
    flat: list[tuple[float, float, str]] = []
    open_slices: list[tuple[float, str]] = []  # end and kind, innermost last
    shown_until = 0.0

    def show(until: float, kind: str) -> None:
        nonlocal shown_until
        if until > shown_until:
            flat.append((shown_until, until, kind))
            shown_until = until

    for begin, end, kind in sorted(intervals, key=lambda each: (each[0], -each[1])):
        while open_slices and open_slices[-1][0] <= begin:
            show(*open_slices.pop())
        if open_slices:
            show(begin, open_slices[-1][1])
            end = min(end, open_slices[-1][0])
        shown_until = max(shown_until, begin)
        open_slices.append((end, kind))
    while open_slices:
        show(*open_slices.pop())
    return Lane(
        name,
        np.array([begin for begin, _, _ in flat]),
        np.array([end for _, end, _ in flat]),
        np.array([kind for _, _, kind in flat], dtype=object),
    )


def coverage(begin: np.ndarray, end: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The share of each column, between two edges, that the intervals fill. They do not overlap and are in order."""
    if len(begin) == 0:
        return np.zeros(len(edges) - 1)
    filled = np.concatenate([[0.0], np.cumsum(end - begin)])
    times = np.stack([begin, end], axis=1).ravel()
    lengths = np.stack([filled[:-1], filled[1:]], axis=1).ravel()
    return np.diff(np.interp(edges, times, lengths)) / np.diff(edges)


@dataclass
class Moments:
    """Consecutive stretches of time, with how many lanes of each sort were active."""

    begin: np.ndarray
    end: np.ndarray
    computing: np.ndarray
    requests: np.ndarray


def moments(trace: Trace) -> Moments:
    """Splits the whole time wherever computing or I/O begins or ends."""
    times, compute_steps, io_steps = [np.array([0.0, trace.length])], [np.zeros(2)], [np.zeros(2)]
    for lanes, own, other in ((trace.computing, compute_steps, io_steps), (trace.requests, io_steps, compute_steps)):
        for lane in lanes:
            busy = np.array([computes(kind) for kind in lane.kind], dtype=bool)
            begin, end = lane.begin[busy], lane.end[busy]
            times += [begin, end]
            own += [np.ones(len(begin)), -np.ones(len(end))]
            other += [np.zeros(len(begin) + len(end))]
    at = np.concatenate(times)
    order = np.argsort(at, kind="stable")
    at = at[order]
    computing = np.cumsum(np.concatenate(compute_steps)[order])[:-1]
    requests = np.cumsum(np.concatenate(io_steps)[order])[:-1]
    return Moments(at[:-1], at[1:], np.rint(computing), np.rint(requests))
