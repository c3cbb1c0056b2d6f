"""Makes plain system calls visible in a trace.

The runtime records the operations that are asked of it, and a `pwrite(2)` in a task is not: to the runtime that task computes.
But in the `plain` variant the tasks that write do nothing else: their slices are the system calls.
"""

from __future__ import annotations

import json
from pathlib import Path

# What a task's label begins with, and the call that it spends its time in.
CALLS = {"write": "pwrite", "sync": "fdatasync", "reserve": "fallocate"}
TASKS, REQUESTS = 1, 2  # the processes of the trace
FIRST_REQUEST_TRACK = 100001


def _call(event: dict) -> str | None:
    if event.get("ph") != "X" or event.get("cat") != "task":
        return None
    return next((call for begin, call in CALLS.items() if event["name"].startswith(begin)), None)


def add_requests(trace: Path, report: dict) -> None:
    """Add the calls of a `plain` run to its trace file as requests, and the program's own sums."""
    document = json.loads(trace.read_text())
    events = document["traceEvents"]
    tracks: dict[int, int] = {}
    added, changes = [], []
    for event in events:
        call = _call(event)
        if call is None:
            continue
        track = tracks.setdefault(event["tid"], FIRST_REQUEST_TRACK + len(tracks))
        span = {"pid": REQUESTS, "tid": track, "ts": event["ts"], "dur": event["dur"]}
        added.append({"ph": "X", **span, "cat": "io", "name": call, "args": {"task": event["name"]}})
        changes += [(event["ts"], 1), (event["ts"] + event["dur"], -1)]
    in_flight = 0
    for moment, change in sorted(changes):
        in_flight += change
        count = {"name": "requests in flight", "args": {"requests": in_flight}}
        added.append({"ph": "C", "pid": REQUESTS, "ts": moment, **count})
    for number, track in enumerate(tracks.values(), 1):
        name = {"name": "thread_name", "args": {"name": f"request {number}"}}
        added.append({"ph": "M", "pid": REQUESTS, "tid": track, "ts": 0, **name})
    events += added
    document["otherData"].update(
        compute_s=report["compute_s"],
        io_s=report["io_s"],
        bytes_written=report["bytes_written"],
        hidden_s=report["hidden_s"],
        hidden_share=report["hidden_share"],
    )
    trace.write_text(json.dumps(document))


def without_plain_calls(trace: Path, target: Path) -> Path:
    """A copy for a picture, in which a worker that waits in a system call is idle, for it computes nothing."""
    document = json.loads(trace.read_text())
    for event in document["traceEvents"]:
        if _call(event) is not None:
            event.update(cat="idle", name="idle")
    target.write_text(json.dumps(document))
    return target
