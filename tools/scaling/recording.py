"""The task graph of a recorded run, as dovetail-scaling reads it.

The run is one of several ranks with `DOVETAIL_TRACE=trace.json DOVETAIL_TRACE_ACCESSES=1`; `dovetail trace join trace.json` has made one file of it.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BAD_INPUT = 2
# Tasks of the examples that other ranks wait for. A trace does not say that they have a higher priority.
_URGENT = re.compile(r"send|receive (?!piece)|write faces|update and write")
_PROCESSES_OF_RANK = 3
_ACCESS = re.compile(r"(in|out|inout|commutative) '((?:[^'])*)' \[(\d+), (\d+)\)")


class BadInput(Exception):
    """What is wrong with what the user gave, as a sentence."""


@dataclass
class RecordedTask:
    """One task of a rank: where it comes in the order of making, and what its body took."""

    made: int
    name: str
    accesses: list[tuple[str, tuple[str, int, int]]]
    seconds: float = 0.0
    slices: list[tuple[float, float]] = field(default_factory=list)


@dataclass
class RecordedMessage:
    """Both ends of a message: ranks, and the names and numbers of their tasks."""

    sender: int
    receiver: int
    tag: int
    bytes: int
    is_signal: bool
    sending: RecordedTask | None
    receiving: RecordedTask | None
    is_bound_by_body: bool  # of the task that receives; else in `onready`, before it


@dataclass
class Recording:
    """What a joined trace has of tasks with accesses, by rank, and of the messages between them."""

    ranks: int
    tasks: list[list[RecordedTask]]
    messages: list[RecordedMessage]


def _events(trace: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    try:
        whole = json.loads(trace.read_text())
    except OSError as error:
        raise BadInput(f"cannot read the trace {trace}: {error.strerror}") from error
    except ValueError as error:
        raise BadInput(f"the trace {trace} is no JSON, or was cut off: {error}") from error
    if isinstance(whole, dict):
        facts, events = whole.get("otherData"), whole.get("traceEvents")
        if isinstance(facts, dict) and isinstance(events, list):
            return facts, events
    raise BadInput(f"{trace} is no trace of Dovetail: it must be an object with `otherData` and `traceEvents`")


def _number_of_ranks(trace: Path, facts: dict[str, Any]) -> int:
    """As each rank's part says it. All must be there."""
    ranks = facts.get("ranks")
    if facts.get("producer") != "dovetail" or not isinstance(ranks, list) or not ranks:
        raise BadInput(f"{trace} is no joined trace of Dovetail: make it by `dovetail trace join {trace}`")
    try:
        found = [rank["rank"] for rank in ranks]
        size = max(rank["ranks"] for rank in ranks)
        if found != list(range(size)) or any(rank["ranks"] != size for rank in ranks):
            told = ", ".join(map(str, found))
            raise BadInput(f"the trace {trace} has the ranks {told}, but must have all of one run, which has {size}")
        if any(rank["lost_events"] for rank in ranks):
            raise BadInput(
                f"the trace {trace} has lost events: set DOVETAIL_TRACE_EVENTS to more, or record fewer steps"
            )
    except (KeyError, TypeError) as error:
        raise BadInput(f"{trace} is no joined trace of Dovetail: what it says of its ranks is not complete") from error
    return len(found)


class _Tasks:
    """The tasks of one rank. Their identities are used again: times tell them apart."""

    def __init__(self) -> None:
        self.all: list[RecordedTask] = []
        self._by_identity: dict[str, list[tuple[float, RecordedTask]]] = defaultdict(list)

    def add(self, event: dict[str, Any]) -> None:
        facts = event["args"]
        begin, length = event["ts"], event["dur"]
        known = self._by_identity[facts["task"]]
        if "made" in facts:
            task = RecordedTask(
                facts["made"],
                event["name"],
                [(m, (s, int(b), int(e))) for m, s, b, e in _ACCESS.findall(facts["accesses"])],
            )
            self.all.append(task)
            known.append((begin, task))
        elif not known or "bind_id" not in event:
            known.append((begin, RecordedTask(0, event["name"], [])))
        known[-1][1].seconds += length / 1e6
        known[-1][1].slices.append((begin, begin + length))

    def of_message(self, event: dict[str, Any], time: float) -> RecordedTask | None:
        """Whose message it is, which begins, or is taken, at this time: the task whose body runs then, else the next one of its name to begin. For it
        the message was bound in `onready`. If there is none, it was bound by a body that had returned."""
        told = event["args"]
        named = [
            (begin, task) for begin, task in self._by_identity.get(told["task"], []) if task.name == told["task_name"]
        ]
        for _, task in named:
            if any(begin <= time <= end for begin, end in task.slices):
                return task
        later = [task for begin, task in named if begin >= time]
        if later:
            return later[0]
        return named[-1][1] if named else None


def read_recording(trace: Path) -> Recording:
    """Raises BadInput."""
    facts, events = _events(trace)
    count = _number_of_ranks(trace, facts)
    try:
        tasks = _tasks(events, count)
        messages = _messages(events, tasks)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise BadInput(f"{trace}: an event is not as it should be: {type(error).__name__} {error}") from error
    if not any(rank.all for rank in tasks):
        raise BadInput(f"the trace {trace} has no accesses of tasks: record it with DOVETAIL_TRACE_ACCESSES=1")
    return Recording(count, [sorted(rank.all, key=lambda task: task.made) for rank in tasks], messages)


def _tasks(events: list[dict[str, Any]], ranks: int) -> list[_Tasks]:
    """By rank."""
    made = [_Tasks() for _ in range(ranks)]
    for event in sorted((event for event in events if event.get("cat") == "task"), key=lambda event: event["ts"]):
        made[(event["pid"] - 1) // _PROCESSES_OF_RANK].add(event)
    return made


def _messages(events: list[dict[str, Any]], tasks: list[_Tasks]) -> list[RecordedMessage]:
    """The n-th that one rank sends to another in a channel with a tag is the n-th that the other takes."""
    ends: dict[tuple[str, int, int, int], tuple[list[dict[str, Any]], list[dict[str, Any]]]] = defaultdict(
        lambda: ([], [])
    )
    for event in events:
        if event.get("cat") != "message" or event.get("ph") != "X" or "peer" not in event["args"]:
            continue
        told = event["args"]
        rank = (event["pid"] - 1) // _PROCESSES_OF_RANK
        is_sent = told["direction"] == "send"
        pair = (rank, told["peer"]) if is_sent else (told["peer"], rank)
        ends[told["channel"], *pair, told["tag"]][0 if is_sent else 1].append(event)
    made = []
    for (_, sender, receiver, tag), lists in ends.items():
        for each in lists:
            each.sort(key=lambda event: event["args"]["order"])
        for sent, received in zip(*lists, strict=False):
            is_signal = sent["name"] == "signal"
            receiving = tasks[receiver].of_message(received, received["ts"] + (received["dur"] if is_signal else 0))
            made.append(
                RecordedMessage(
                    sender,
                    receiver,
                    tag,
                    sent["args"].get("bytes", 0),
                    is_signal,
                    tasks[sender].of_message(sent, sent["ts"]),
                    receiving,
                    receiving is not None and receiving.slices[0][0] <= received["ts"],
                )
            )
    return made


def _edges(tasks: list[RecordedTask]) -> list[tuple[int, int]]:
    """The order that accesses to equal regions give. Numbers are places in the list."""
    writer: dict[tuple[str, int, int], int] = {}
    readers: dict[tuple[str, int, int], list[int]] = defaultdict(list)
    edges = []
    for number, task in enumerate(tasks):
        for mode, region in sorted(task.accesses, key=lambda access: access[0] == "out"):
            before = [writer[region]] if region in writer else []
            if mode == "in":
                readers[region].append(number)
            else:
                before = readers.pop(region, []) or before
                writer[region] = number
            edges += [(earlier, number) for earlier in before if earlier != number]
    return edges


def median_costs(recording: Recording) -> dict[str, float]:
    """Seconds of a body of each name."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for rank in recording.tasks:
        for task in rank:
            seconds[task.name].append(task.seconds)
    return {name: statistics.median(values) for name, values in seconds.items()}


def graph_of(recording: Recording, names: list[str] | None) -> dict[str, Any]:
    """`names`: of the tasks that are kept, with the messages between them; all, if there are none. The costs are the medians of each name: a body
    that lost its core meanwhile is no longer one. Raises BadInput for a name that no task has."""
    costs = median_costs(recording)
    kept = names or sorted(costs)
    for name in kept:
        if name not in costs:
            raise BadInput(f"no task of the trace has the name '{name}': there are {', '.join(sorted(costs))}")
    numbers: dict[int, int] = {}
    graph: dict[str, Any] = {"ranks": recording.ranks, "names": kept, "tasks": [], "edges": [], "messages": []}
    by_notification = any(message.is_signal for message in recording.messages)
    graph["variant"] = "one-sided" if by_notification else "two-sided"
    ending = {id(message.receiving) for message in recording.messages if message.is_bound_by_body}
    for rank, tasks in enumerate(recording.tasks):
        mine = [task for task in tasks if task.name in kept]
        first = len(graph["tasks"])
        for task in mine:
            numbers[id(task)] = len(graph["tasks"])
            cost = 0.0 if task.name.startswith(("send", "receive")) else costs[task.name]
            is_urgent = _URGENT.match(task.name) is not None
            graph["tasks"].append([rank, kept.index(task.name), int(is_urgent), id(task) in ending, cost])
        graph["edges"] += [[first + before, first + after] for before, after in _edges(mine)]
    for message in recording.messages:
        to_task = numbers.get(id(message.receiving))
        if to_task is None:
            continue
        from_task = numbers.get(id(message.sending), -1)
        graph["messages"].append([message.sender, message.receiver, from_task, to_task, message.tag, message.bytes])
    return graph


def _parts(graph: dict[str, Any]) -> dict[str, Counter[Any]]:
    """What can be compared. A task is known by its rank, its name, and how many of both were made before it."""
    made: Counter[tuple[int, str]] = Counter()
    tasks = []
    for rank, name, *_ in graph["tasks"]:
        key = (rank, graph["names"][name])
        tasks.append((*key, made[key]))
        made[key] += 1
    end = lambda task: tasks[task] if task >= 0 else ()  # noqa: E731
    return {
        "ranks": Counter([graph["ranks"]]),
        "variant": Counter([graph["variant"]]),
        "tasks (rank, name, place, priority, ends by a message)": Counter(
            (*known, task[2], task[3]) for known, task in zip(tasks, graph["tasks"], strict=True)
        ),
        "edges (from, to)": Counter((tasks[before], tasks[after]) for before, after in set(map(tuple, graph["edges"]))),
        "messages (from, to, sender, receiver, tag, bytes)": Counter(
            (sender, receiver, end(first), end(last), tag, size)
            for sender, receiver, first, last, tag, size in graph["messages"]
        ),
    }


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """What two graphs do not have in common, in sentences: ranks, variant, tasks with their flags, edges, and messages with both ends. What bodies
    cost is not compared."""
    found = []
    for (what, ours), theirs in zip(_parts(first).items(), _parts(second).values(), strict=True):
        for key in sorted(set(ours) | set(theirs)):
            if ours[key] != theirs[key]:
                found.append(f"{what} {key}: {ours[key]} and {theirs[key]}")
    return found


def read_graph(path: Path) -> dict[str, Any]:
    """Raises BadInput."""
    try:
        graph = json.loads(path.read_text())
        _parts(graph)
    except OSError as error:
        raise BadInput(f"cannot read the graph {path}: {error.strerror}") from error
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise BadInput(f"{path} is no graph: {type(error).__name__} {error}") from error
    except ValueError as error:
        raise BadInput(f"{path} is no graph: {error}") from error
    return dict(graph)


def check_writable(path: Path) -> None:
    """Raises BadInput if no file of this name can be written."""
    is_there = path.exists()
    try:
        with path.open("a"):
            pass
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}") from error
    if not is_there:
        path.unlink()


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("-o", "--output", type=Path, help="the graph; without it, what bodies cost is printed")
    parser.add_argument("--names", help="of the tasks to keep, separated by commas")
    parser.add_argument("--compare", type=Path, help="a graph that must be the same; exit status 1 if it is not")
    arguments = parser.parse_args()
    try:
        expected = read_graph(arguments.compare) if arguments.compare else None
        if arguments.output:
            check_writable(arguments.output)
        recording = read_recording(arguments.trace)
        graph = graph_of(recording, arguments.names.split(",") if arguments.names else None)
        if arguments.output:
            arguments.output.write_text(json.dumps(graph) + "\n")
        else:
            print(json.dumps(median_costs(recording)))
        if expected is not None:
            found = differences(graph, expected)
            print("\n".join(found) or "the graphs are the same")
            return 1 if found else 0
    except BadInput as error:
        print(f"recording: {error}", file=sys.stderr)
        return BAD_INPUT
    return 0


if __name__ == "__main__":
    sys.exit(main())
