"""What tools/scaling makes of traces: edges by accesses, messages by their order, and a sentence for what it cannot use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
SCALING = SOURCE / "tools" / "scaling"
sys.path[:0] = [str(SCALING)]

import recording  # noqa: E402


def check(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def slice_of(rank: int, begin: float, task: str, name: str, made: int, accesses: str) -> dict[str, Any]:
    told = {"task": task, "accesses": accesses, "made": made}
    return {
        "ph": "X",
        "pid": 3 * rank + 1,
        "ts": begin,
        "dur": 2.0,
        "tid": 1,
        "cat": "task",
        "name": name,
        "args": told,
    }


def message_of(rank: int, time: float, task: str, direction: str, peer: int, order: int) -> dict[str, Any]:
    told: dict[str, Any] = {
        "task": task,
        "task_name": "block",
        "direction": direction,
        "channel": "segment 0",
        "order": order,
        "peer": peer,
        "tag": 7,
    }
    if direction == "send":
        told["bytes"] = 64
    name = "signal" if direction == "send" else "wait for notifications"
    return {
        "ph": "X",
        "pid": 3 * rank + 3,
        "ts": time,
        "dur": 0,
        "tid": 9,
        "cat": "message",
        "name": name,
        "args": told,
    }


def trace(folder: Path, events: list[dict[str, Any]], lost: int = 0) -> Path:
    path = folder / "trace.json"
    facts = {"producer": "dovetail", "ranks": [{"rank": 0, "lost_events": lost}, {"rank": 1, "lost_events": 0}]}
    path.write_text(json.dumps({"otherData": facts, "traceEvents": events}))
    return path


def the_order_of_accesses_gives_edges(folder: Path) -> None:
    # Made as 1 to 4, and run in another order; the identity 0xa is used twice.
    events = [
        slice_of(0, 10, "0xa", "write", 1, "out 'memory' [0, 8)"),
        slice_of(0, 30, "0xa", "read", 3, "in 'memory' [0, 8)"),
        slice_of(0, 20, "0xb", "read", 2, "in 'memory' [0, 8), out 'memory' [8, 16)"),
        slice_of(0, 40, "0xc", "write", 4, "inout 'memory' [0, 8)"),
    ]
    graph = recording.graph_of(recording.read_recording(trace(folder, events)), None)
    named = sorted((a, b) for a, b in graph["edges"])
    check(named == [(0, 1), (0, 2), (1, 3), (2, 3)], f"{named}")
    check(graph["tasks"][0][4] == 2e-6, f"{graph['tasks']}")


def messages_belong_to_the_tasks_of_their_time(folder: Path) -> None:
    events = [
        slice_of(0, 10, "0xa", "block", 1, "inout 'memory' [0, 8)"),
        slice_of(0, 30, "0xa", "block", 2, "inout 'memory' [0, 8)"),
        slice_of(1, 50, "0xb", "block", 1, "inout 'memory' [0, 8)"),
        slice_of(1, 70, "0xb", "block", 2, "inout 'memory' [0, 8)"),
        message_of(0, 11, "0xa", "send", 1, 0),
        message_of(0, 31, "0xa", "send", 1, 1),
        message_of(1, 49, "0xb", "receive", 0, 0),
        message_of(1, 60, "0xb", "receive", 0, 1),
    ]
    graph = recording.graph_of(recording.read_recording(trace(folder, events)), ["block"])
    check([m[:3] + m[4:] for m in graph["messages"]] == [[0, 1, 0, 7, 64], [0, 1, 1, 7, 64]], f"{graph['messages']}")
    check(graph["variant"] == "one-sided", graph["variant"])
    other = json.loads(json.dumps(graph))
    check(recording.differences(graph, other) == [], "a graph differs from itself")
    other["messages"][0][5] = 8
    check(len(recording.differences(graph, other)) == 2, f"{recording.differences(graph, other)}")


def what_cannot_be_used_is_said(folder: Path) -> None:
    good = trace(folder, [slice_of(0, 1, "0xa", "block", 1, "in 'memory' [0, 8)")]).read_text()
    cases = {
        "cannot read the trace": None,
        "was cut off": good[: len(good) // 2],
        "is no trace of Dovetail": "[]",
        "is no joined trace": json.dumps({"otherData": {"producer": "dovetail", "ranks": 2}, "traceEvents": []}),
        "DOVETAIL_TRACE_ACCESSES=1": good.replace('"made"', '"other"'),
        "has lost events": good.replace('"lost_events": 0', '"lost_events": 3'),
    }
    for text, content in cases.items():
        path = folder / "bad.json"
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_text(content)
        done = subprocess.run(
            [sys.executable, SCALING / "recording.py", path], capture_output=True, text=True, check=False
        )
        check(done.returncode == 2 and text in done.stderr, f"{text}: {done.returncode} {done.stderr}")
        check("Traceback" not in done.stderr and done.stdout == "", f"{text}: {done.stdout}{done.stderr}")


def main() -> None:
    for case in (
        the_order_of_accesses_gives_edges,
        messages_belong_to_the_tasks_of_their_time,
        what_cannot_be_used_is_said,
    ):
        with tempfile.TemporaryDirectory() as name:
            case(Path(name))
            print(f"{case.__name__}: ok")


if __name__ == "__main__":
    main()
