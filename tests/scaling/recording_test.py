"""What tools/scaling makes of traces: edges by accesses, messages by their order, and a sentence for what it cannot use."""

from __future__ import annotations

import importlib.util
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


def trace(folder: Path, events: list[dict[str, Any]], found: tuple[int, ...] = (0, 1), size: int = 2) -> Path:
    path = folder / "trace.json"
    ranks = [{"rank": rank, "ranks": size, "lost_events": 0} for rank in found]
    facts = {"producer": "dovetail", "ranks": ranks}
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


def what_a_receive_holds_back_follows_from_where_it_was_bound(folder: Path) -> None:
    # The first message is bound in `onready`, before the body; the second one in the body from 70 to 72.
    events = [
        slice_of(0, 10, "0xa", "block", 1, "inout 'memory' [0, 8)"),
        slice_of(1, 50, "0xb", "block", 1, "inout 'memory' [0, 8)"),
        slice_of(1, 70, "0xb", "block", 2, "inout 'memory' [0, 8)"),
        message_of(0, 11, "0xa", "send", 1, 0),
        message_of(0, 11.5, "0xa", "send", 1, 1),
        message_of(1, 49, "0xb", "receive", 0, 0),
        message_of(1, 71, "0xb", "receive", 0, 1),
    ]
    for event in events:
        if event["cat"] == "message":
            event["name"] = event["args"]["direction"]
    graph = recording.graph_of(recording.read_recording(trace(folder, events)), None)
    check(graph["variant"] == "two-sided", graph["variant"])
    check([task[3] for task in graph["tasks"]] == [False, False, True], f"{graph['tasks']}")


def graphs_differ_by_flags_and_by_which_task_is_joined(folder: Path) -> None:
    def graph(**more: Any) -> dict[str, Any]:
        made = {
            "ranks": 1,
            "variant": "two-sided",
            "names": ["a", "b"],
            "tasks": [[0, 0, 0, False, 1.0], [0, 0, 0, False, 1.0], [0, 1, 0, False, 1.0], [0, 1, 0, False, 1.0]],
            "edges": [[0, 2], [1, 3]],
            "messages": [],
        }
        return made | more

    numbered = graph(
        names=["b", "a"],
        tasks=[[0, 0, 0, False, 2.0], [0, 1, 0, False, 2.0], [0, 0, 0, False, 2.0], [0, 1, 0, False, 2.0]],
        edges=[[3, 2], [1, 0]],
    )
    check(recording.differences(graph(), numbered) == [], f"{recording.differences(graph(), numbered)}")
    for other in (
        graph(edges=[[0, 3], [1, 2]]),
        graph(tasks=[*graph()["tasks"][:3], [0, 1, 1, False, 1.0]]),
        graph(tasks=[*graph()["tasks"][:3], [0, 1, 0, True, 1.0]]),
        graph(variant="one-sided"),
    ):
        check(recording.differences(graph(), other) != [], f"no difference from {other}")
    one = graph(messages=[[0, 0, 0, 2, 0, 8]])
    check(recording.differences(one, graph(messages=[[0, 0, 1, 2, 0, 8]])) != [], "another task sends")


def what_cannot_be_used_is_said(folder: Path) -> None:
    events = [slice_of(0, 1, "0xa", "block", 1, "in 'memory' [0, 8)")]
    good = trace(folder, events).read_text()
    gap = trace(folder, [slice_of(3, 1, "0xa", "block", 1, "")], (0, 1, 3), 4).read_text()
    cases = {
        "cannot read the trace": None,
        "was cut off": good[: len(good) // 2],
        "is no trace of Dovetail: it must": "[]",
        "is no trace of Dovetail": json.dumps({"otherData": [], "traceEvents": []}),
        "has the ranks 0, 1, 3, but must have all of one run, which has 4": gap,
        "has the ranks 0, 1, 2, but": trace(folder, events, (0, 1, 2), 4).read_text(),
        "what it says of its ranks is not complete": good.replace('"lost_events"', '"other"'),
        "an event is not as it should be": good.replace('"dur"', '"other"'),
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
    path = folder / "trace.json"
    path.write_text(good)
    other = folder / "other.json"
    for text, content in {"KeyError 'tasks'": "{}", "is no graph: TypeError": "[]", "is no graph: ": "{"}.items():
        other.write_text(content)
        says(text, "recording.py", path, "--compare", other)
    says("cannot read the graph", "recording.py", path, "--compare", folder / "none")
    says("no task of the trace has the name 'nosuch': there are block", "recording.py", path, "--names", "nosuch")
    says("cannot write", "recording.py", path, "-o", folder / "none" / "graph")
    check(not (folder / "none").exists(), "a folder was made")


def arguments_are_looked_at_before_the_runs(folder: Path) -> None:
    # Where there are no programs, what is said of them would come next.
    (folder / "file").touch()
    builds = ("--build-dir", folder)
    for text, words in {
        "--repeat must be above 0": ("--repeat", 0),
        "--steps must be above 0": ("--steps", 0),
        "--size must be": ("--size", "256"),
        "--size must": ("--size", "0x2048"),
        "--blocks must": ("--blocks", "32,0"),
        "blocks of 128 cells give 4 ranks": ("--blocks", 128),
        "cannot read the machine": ("--machine", folder / "none"),
        "cannot write": ("--json", folder / "none" / "numbers.json"),
    }.items():
        says(text, "validate.py", *builds, *words)
    if importlib.util.find_spec("matplotlib") is None:
        print("no matplotlib: figures.py is left out")
        return
    for text, words in {
        "--nodes must": ("--nodes", "1,0", "--output", folder),
        "--nodes must be": ("--nodes", "1,", "--output", folder),
        "cannot read the machine": ("--machine", folder / "none", "--output", folder),
        "cannot make the folder": ("--output", folder / "file" / "figures"),
    }.items():
        says(text, "figures.py", *builds, *words)


def says(text: str, script: str, *words: object) -> None:
    command = [sys.executable, SCALING / script, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    check(done.returncode == 2 and text in done.stderr, f"{text}: {done.returncode} {done.stdout}{done.stderr}")
    check("Traceback" not in done.stderr and done.stdout == "", f"{text}: {done.stdout}{done.stderr}")


def main() -> None:
    for case in (
        the_order_of_accesses_gives_edges,
        messages_belong_to_the_tasks_of_their_time,
        what_a_receive_holds_back_follows_from_where_it_was_bound,
        graphs_differ_by_flags_and_by_which_task_is_joined,
        what_cannot_be_used_is_said,
        arguments_are_looked_at_before_the_runs,
    ):
        with tempfile.TemporaryDirectory() as name:
            case(Path(name))
            print(f"{case.__name__}: ok")


if __name__ == "__main__":
    main()
