"""What a trace and the report of admission say about a run: intervals on threads, requests in flight, sums."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .report_nesting import outer_of, without_inner

_THREADS, _REQUESTS = 1, 2  # what a process of the trace shows; each rank has three
_TIMES = ("compute_s", "computing_s", "blocked_s", "io_s", "hidden_s", "communication_s", "communication_hidden_s")


@dataclass
class Lane:
    """One thread, or one of the requests in flight: consecutive slices (begin, end, kind), in seconds."""

    name: str
    slices: list[tuple[float, float, str]]


@dataclass
class Run:
    """All that the page shows. `since`: when what the sums below are about begins, in seconds of the trace. It is not 0 where events were lost."""

    length: float  # from `since` to the end
    lanes: list[Lane]
    requests: list[Lane]
    facts: dict[str, Any]
    devices: list[dict[str, Any]]
    workers: int = 1
    # In seconds, from the trace, as `dovetail::trace::Summary` (include/dovetail/trace.hpp) defines them.
    computing: float = 0  # at least one worker computed
    computed: float = 0  # sum over all workers, divided by their number
    blocked: float = 0  # the same of tasks that held workers without computing
    io: float = 0  # an I/O operation was in flight
    hidden: float = 0  # at least one worker computed and an I/O operation was in flight
    communication: float = 0  # a message was outstanding
    communication_hidden: float = 0  # at least one worker computed and a message was outstanding
    waits: dict[str, float] = field(
        default_factory=dict
    )  # by reason, summed over the workers and divided by their number
    failures: list[str] = field(default_factory=list)
    kinds: dict[str, dict[str, Any]] = field(default_factory=dict)  # by kind of task
    since: float = 0

    @property
    def end(self) -> float:
        """Where the timeline ends, in seconds of the trace."""
        return self.since + self.length

    @property
    def goes_on_elsewhere(self) -> bool | None:
        """Tasks went on in worker processes or in an event loop: the trace has only what started them. None if it does not say so."""
        told = self.facts.get("elsewhere")
        return told if isinstance(told, bool) else None

    @property
    def ranks(self) -> int:
        """More than one in a joined trace."""
        ranks = self.facts.get("ranks")
        return len(ranks) if isinstance(ranks, list) and ranks else 1

    @property
    def neither(self) -> float:
        return max(0.0, self.length - self.computing - self.io + self.hidden)


def kind_of(label: str) -> str:
    """Tasks that differ in a number only ("block 3,4") are of one kind."""
    return re.sub(r"[\W_]*\d[\W\d_]*$", "", label) or label


def read(document: dict[str, Any], admission: dict[str, Any]) -> Run:
    """From the trace as JSON. Raises KeyError or TypeError for what Dovetail did not write."""
    names: dict[tuple[int, int], str] = {}
    slices: dict[tuple[int, int], list[tuple[float, float, str]]] = defaultdict(list)
    failures = []
    used: dict[tuple[int, int], list[float]] = defaultdict(list)  # seconds of the processor, for each slice
    waits: dict[tuple[int, int], list[tuple[str, float, float]]] = defaultdict(list)
    since = 0.0
    for event in document["traceEvents"]:
        track = ((event["pid"] - 1) % 3 + 1, event.get("tid", 0))
        if event["ph"] == "X":
            begin, seconds = event["ts"] * 1e-6, event["dur"] * 1e-6
            category = event.get("cat")
            if category is None:  # of a program under a plan: there are no threads in it
                track = _REQUESTS, event["tid"]
            if category == "wait":
                waits[track].append((event["name"].removeprefix("waits for "), begin + seconds, seconds))
                continue
            name = event["name"] if category in ("io", "idle", "message", None) else kind_of(event["name"])
            slices[track].append((begin, begin + seconds, name))
            measured = event.get("args", {}).get("processor_us")
            used[track].append(seconds if measured is None else measured * 1e-6)
        elif event["ph"] == "M" and event["name"] == "thread_name":
            names[track] = event["args"]["name"]
        elif event["ph"] == "i" and event.get("cat") == "failure":
            failures.append(f"{event['name'].removeprefix('failed: ')}: {event['args']['reason']}")
        elif event["ph"] == "i" and event.get("cat") == "lost":
            # The sums of the trace begin where all threads are known.
            since = max(since, event["ts"] * 1e-6)
    threads = [t for t in sorted(slices) if t[0] == _THREADS]
    lanes = [Lane(names.get(t, str(t[1])), slices[t]) for t in threads]
    requests = [Lane(names.get(t, str(t[1])), sorted(slices[t])) for t in sorted(slices) if t[0] == _REQUESTS]
    facts = _of_all_ranks(document.get("otherData", {}))
    last = max((end for lane in lanes + requests for _, end, _ in lane.slices), default=0.0)
    run = Run(0, lanes, requests, facts, admission.get("devices", []), failures=failures)
    run.since = since if run.ranks == 1 else 0.0  # each rank of a joined trace has lost others
    run.length = max(last - run.since, float(facts.get("total_s", 0)))
    _add_up(run, [used[t] for t in threads])
    for lane in lanes:
        lane.slices.sort()
    for track, waited in waits.items():
        if names.get(track, "").startswith("worker"):
            for reason, end, seconds in waited:
                if end > run.since:
                    run.waits[reason] = run.waits.get(reason, 0.0) + seconds / run.workers
    return run


def _of_all_ranks(facts: dict[str, Any]) -> dict[str, Any]:
    """What the trace says of the run. Of a joined trace: the workers of all ranks, and the means of their times."""
    ranks = facts.get("ranks")
    if not isinstance(ranks, list) or not ranks:
        return facts
    told: dict[str, Any] = {**facts, "workers": sum(rank.get("workers", 0) for rank in ranks)}
    told["total_s"] = max(rank.get("total_s", 0.0) for rank in ranks)
    told["lost_events"] = sum(rank.get("lost_events", 0) for rank in ranks)
    for key in _TIMES:
        told[key] = sum(rank.get(key, 0.0) for rank in ranks) / len(ranks)
    return told


def _add_up(run: Run, used: list[list[float]]) -> None:
    """`used`: of the processor, for each slice of each lane."""
    workers = 0
    for lane, of_lane in zip(run.lanes, used, strict=True):
        on_worker = lane.name.startswith("worker")
        workers += on_worker
        chosen = [n for n, (_, end, kind) in enumerate(lane.slices) if kind != "idle" and end > run.since]
        for kind, seconds, processor in _own(lane, of_lane, chosen):
            told = run.kinds.setdefault(kind, {"slices": 0, "seconds": 0.0, "io": not on_worker, "blocked": 0.0})
            told["slices"] += 1
            told["seconds"] += seconds
            told["blocked"] += seconds - processor
    for told in run.kinds.values():
        told["blocked"] = 0.0 if told["io"] else min(told["blocked"], told["seconds"])
    facts = run.facts
    run.workers = int(facts.get("workers", 0)) or max(1, workers)
    run.computed, run.blocked = float(facts.get("compute_s", 0)), float(facts.get("blocked_s", 0))
    run.computing, run.io = float(facts.get("computing_s", 0)), float(facts.get("io_s", 0))
    run.hidden = float(facts.get("hidden_s", 0))
    run.communication = float(facts.get("communication_s", 0))
    run.communication_hidden = float(facts.get("communication_hidden_s", 0))


def _own(lane: Lane, used: list[float], chosen: list[int]) -> Iterator[tuple[str, float, float]]:
    """Kind, seconds and seconds of the processor of these slices, without the slices inside of them."""
    begin = np.array([round(lane.slices[n][0] * 1e9) for n in chosen], dtype=np.int64)
    end = np.array([round(lane.slices[n][1] * 1e9) for n in chosen], dtype=np.int64)
    outer = outer_of(np.zeros(len(chosen), dtype=np.int64), begin, end)
    seconds = without_inner((end - begin).astype(np.float64) * 1e-9, outer)
    processor = without_inner(np.array([used[n] for n in chosen]), outer)
    for number, own, own_used in zip(chosen, seconds.tolist(), processor.tolist(), strict=True):
        yield lane.slices[number][2], own, own_used
