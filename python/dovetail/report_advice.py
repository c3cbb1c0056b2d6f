"""What would help a run most, in one sentence. Each rule says how many seconds of the run it is about; the one with the most is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .report_columns import Columns, Rows
from .report_data import Run, kind_of
from .report_graph import Graph
from .report_types import TaskType

_INTERPRETER = "the interpreter"
_LEAST_SHARE = 0.10  # of the run: below, it is not worth a change of the program
# Bodies that take turns at one thing: each uses the processor for about the share that turns give it.
_TURNS = (0.7, 1.35)
_LEAST_AT_ONCE = 1.3
_MANY, _SHORT = 1000, 10e-6  # tasks, and seconds: less than a task of Python costs several times


@dataclass
class Evidence:
    """All that the rules look at."""

    run: Run
    columns: Columns
    graph: Graph
    types: list[TaskType]

    def on_workers(self) -> tuple[Rows | None, NDArray[np.bool_]]:
        """The slices, and which of them ran on workers."""
        rows = self.columns.rows.get("task")
        if rows is None:
            return None, np.zeros(0, dtype=bool)
        is_worker = np.array([lane.name.startswith("worker") for lane in self.columns.lanes], dtype=bool)
        return rows, is_worker[np.array(rows.lane)]

    def kind_of_name(self) -> tuple[NDArray[np.int64], list[str]]:
        """The number of the kind of each name, and the kinds."""
        numbers: dict[str, int] = {}
        names = [numbers.setdefault(kind_of(name), len(numbers)) for name in self.columns.names.texts()]
        return np.array(names, dtype=np.int64), list(numbers)


@dataclass
class Advice:
    """`seconds`: of the run, what it is about. That much can be won at most."""

    seconds: float
    text: str


def advise(evidence: Evidence) -> str:
    """One sentence."""
    rules: list[Callable[[Evidence], Advice | None]] = [
        _blocked, _interpreter, _io_alone, _outside, _chain, _short
    ]  # fmt: skip
    length = evidence.run.length
    found = [advice for rule in rules if (advice := rule(evidence)) is not None]
    best = max(found, key=lambda advice: advice.seconds, default=None)
    if best is not None and best.seconds >= _LEAST_SHARE * length:
        return best.text
    told = f"Nothing stands out: workers computed {_share(evidence.run.computed, length)} of the time"
    if evidence.types:
        longest = evidence.types[0]
        total = sum(one.total for one in evidence.types)
        told += f", and `{longest.name}` takes {_share(longest.total, total)} of the tasks' time"
    return told + "."


def _share(part: float, whole: float) -> str:
    return f"{part / max(whole, 1e-12):.0%}".replace("%", " %")


def _turns(evidence: Evidence) -> dict[str, float]:
    """Task types whose bodies take turns at the interpreter, and how many seconds they held workers without the processor."""
    rows, chosen = evidence.on_workers()
    if rows is None or "processor_us" not in rows.facts or _INTERPRETER not in evidence.run.waits:
        return {}
    begin, length = np.array(rows.begin)[chosen], np.array(rows.length)[chosen]
    processor = np.array(rows.column("processor_us"))[chosen] * 1e3
    # For each slice, what an equal share of one processor would have given it: the integral of 1 / (how many run).
    times = np.concatenate([begin, begin + length])
    change = np.concatenate([np.ones(len(begin)), -np.ones(len(begin))])
    order = np.lexsort((change, times))
    times, running = times[order], np.cumsum(change[order])
    spans = np.diff(times, append=times[-1:])
    given = np.concatenate([[0.0], np.cumsum(spans / np.maximum(running, 1))])
    turn = given[np.searchsorted(times, begin + length)] - given[np.searchsorted(times, begin)]
    of_name, kinds = evidence.kind_of_name()
    kind = of_name[np.array(rows.name)[chosen]]
    answer = {}
    for number, name in enumerate(kinds):
        its = (kind == number) & ~np.isnan(processor)
        held, used, turned = float(length[its].sum()), float(processor[its].sum()), float(turn[its].sum())
        if turned > 0 and held / turned >= _LEAST_AT_ONCE and _TURNS[0] <= used / turned <= _TURNS[1]:
            answer[name] = (held - used) * 1e-9
    return answer


def _interpreter(evidence: Evidence) -> Advice | None:
    turns = _turns(evidence)
    run = evidence.run
    seconds = max(sum(turns.values()) / run.workers, run.waits.get(_INTERPRETER, 0.0))
    busy = run.computed + run.blocked
    if seconds <= 0 or busy <= 0:
        return None
    longest = max(turns, key=lambda name: turns[name], default=evidence.types[0].name if evidence.types else "")
    return Advice(
        seconds,
        f"Bodies waited {_share(seconds, busy)} of their time for the interpreter, `{longest}` most: give it "
        "`process=True`, or run the program with a free-threaded Python.",
    )


def _blocked(evidence: Evidence) -> Advice | None:
    turns = _turns(evidence)
    waiting = [one for one in evidence.types if not one.is_io and one.name not in turns]
    if not waiting:
        return None
    most = max(waiting, key=lambda one: one.blocked)
    seconds = most.blocked / evidence.run.workers - evidence.run.waits.get(_INTERPRETER, 0.0)
    return Advice(
        seconds,
        f"`{most.name}` held workers {_share(most.blocked / evidence.run.workers, evidence.run.length)} of the time without using the "
        "processor: make it an I/O task if it waits for files or other programs, or split off what waits.",
    )


def _union(begin: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The stretches that intervals cover, without overlaps."""
    order = np.argsort(begin, kind="stable")
    begin, reach = begin[order], np.maximum.accumulate(end[order])
    first = np.concatenate([[True], begin[1:] > reach[:-1]])
    last = np.concatenate([first[1:], [True]])
    return begin[first], reach[last]


def _outside_of(
    begin: NDArray[np.int64], end: NDArray[np.int64], covered: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> float:
    """Nanoseconds of disjoint intervals in which nothing is covered."""
    opens, closes = covered
    if len(opens) == 0:
        return float((end - begin).sum())
    before = np.concatenate([[0], np.cumsum(closes - opens)])

    def until(time: NDArray[np.int64]) -> NDArray[np.int64]:
        place = np.searchsorted(opens, time, side="right")
        beyond = np.where(place > 0, np.maximum(0, closes[np.maximum(place - 1, 0)] - time), 0)
        return np.asarray(before[place] - beyond)

    return float((end - begin - until(end) + until(begin)).sum())


def _io_alone(evidence: Evidence) -> Advice | None:
    """I/O that nothing hides, by what it is."""
    rows, on_worker = evidence.on_workers()
    run = evidence.run
    if run.io - run.hidden <= 0:
        return None
    begins, ends = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    by_name: dict[tuple[str, str], list[tuple[NDArray[np.int64], NDArray[np.int64]]]] = {}
    of_name, kinds = evidence.kind_of_name()
    texts = evidence.columns.names.texts()
    for category in ("task", "io"):
        found = evidence.columns.rows.get(category)
        if found is None:
            continue
        begin, name = np.array(found.begin), np.array(found.name)
        end = begin + np.array(found.length)
        if category == "task":
            begins, ends = [begin[on_worker]], [end[on_worker]]
            begin, end, name = begin[~on_worker], end[~on_worker], name[~on_worker]
        numbers = of_name[name] if category == "task" else name
        for number in np.unique(numbers):
            its = numbers == number
            key = ("I/O task", kinds[number]) if category == "task" else ("request", texts[number])
            by_name.setdefault(key, []).append((begin[its], end[its]))
    computing = _union(begins[0], ends[0]) if len(begins[0]) else (begins[0], ends[0])
    alone = {key: sum(_outside_of(*_union(*pair), computing) for pair in pairs) for key, pairs in by_name.items()}
    if not alone:
        return None
    longest = max(alone, key=lambda key: alone[key])
    seconds = min(alone[longest] * 1e-9, run.io - run.hidden)
    noun = f"`{longest[1]}`" if longest[0] == "I/O task" else f"`{longest[1]}` of files"
    return Advice(
        seconds,
        f"{_share(seconds, run.length)} of the time nothing but {noun} went on: start it earlier, or give the workers tasks that do not wait for it.",
    )


def _outside(evidence: Evidence) -> Advice | None:
    run = evidence.run
    if not evidence.types:
        return None
    # What is blocked holds a worker: that is another matter, which has a rule of its own.
    seconds = run.neither - min(run.neither, run.blocked * run.workers)
    return Advice(
        seconds,
        f"{_share(seconds, run.length)} of the time no task ran and no I/O was in flight: make a task of what the program does outside of tasks, or "
        "make its tasks earlier.",
    )


def _chain(evidence: Evidence) -> Advice | None:
    run, graph = evidence.run, evidence.graph
    chain = graph.length * 1e-9
    if run.workers < 2 or len(graph.path) < 3 or chain < 0.7 * run.length:
        return None
    longest = max(evidence.types, key=lambda one: one.on_path)
    return Advice(
        run.length - run.computed - run.blocked,
        f"A chain of {len(graph.path)} tasks, each of which waits for the one before, takes {_share(chain, run.length)} of the run, "
        f"{_share(longest.on_path, chain)} of it in `{longest.name}`: shorten or split `{longest.name}`; more workers do not help.",
    )


def _short(evidence: Evidence) -> Advice | None:
    short = [one for one in evidence.types if not one.is_io and one.tasks >= _MANY and one.median < _SHORT]
    if not short:
        return None
    most = max(short, key=lambda one: one.tasks)
    run = evidence.run
    return Advice(
        run.length * (1 - (run.computed + run.blocked) / max(run.length, 1e-12)),
        f"Half of the {most.tasks} tasks `{most.name}` take less than {most.median * 1e6:.2g} µs, about what it costs to run a task: put several calls "
        "into one (`chunk` of `dovetail.map`).",
    )
