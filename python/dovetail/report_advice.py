"""What would help a run most, in one sentence. Each rule says how many seconds of the run it is about; the one with the most is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .report_columns import PROCESSES_OF_RANK, Columns, Rows
from .report_data import Run, kind_of
from .report_graph import Graph
from .report_nesting import Times, outer_of, without_inner
from .report_types import TaskType

_INTERPRETER = "the interpreter"
_LEAST_SHARE = 0.10  # of the run: below, it is not worth a change of the program
# Bodies that take turns at one thing: each uses the processor for about the share that turns give it.
_TURNS = (0.7, 1.35)
_LEAST_AT_ONCE = 1.3
_MANY_BUSY, _AT_ONCE = 0.7, 1.5  # of a serial program: share of the workers' time at most, and bodies at a time
_MANY, _SHORT = 1000, 10e-6  # tasks, and seconds: less than a task of Python costs several times


@dataclass
class Stretches:
    """What a trace has of one category from `Run.since` on, in nanoseconds. `used`: of the processor, NaN where it was not measured."""

    lane: NDArray[np.uint32]
    begin: Times
    end: Times
    name: NDArray[np.uint32]
    used: NDArray[np.float64]

    def only(self, chosen: NDArray[np.bool_]) -> Stretches:
        return Stretches(self.lane[chosen], self.begin[chosen], self.end[chosen], self.name[chosen], self.used[chosen])


@dataclass
class Evidence:
    """All that the rules look at."""

    run: Run
    columns: Columns
    graph: Graph
    types: list[TaskType]

    def of(self, category: str) -> Stretches:
        rows = self.columns.rows.get(category) or Rows()
        begin = np.array(rows.begin, dtype=np.int64)
        end = begin + np.array(rows.length, dtype=np.int64)
        used = (
            np.array(rows.column("processor_us")) * 1e3 if "processor_us" in rows.facts else np.full(len(begin), np.nan)
        )
        lane, name = (np.array(column, dtype=np.uint32) for column in (rows.lane, rows.name))
        return Stretches(lane, begin, end, name, used).only(end > self.run.since * 1e9)

    def on_workers(self, slices: Stretches) -> NDArray[np.bool_]:
        """Which of the slices ran on workers."""
        is_worker = np.array([lane.name.startswith("worker") for lane in self.columns.lanes], dtype=bool)
        return is_worker[slices.lane] if len(is_worker) else np.zeros(0, dtype=bool)

    def kind_of_name(self) -> tuple[NDArray[np.int64], list[str]]:
        """The number of the kind of each name, and the kinds."""
        numbers: dict[str, int] = {}
        names = [numbers.setdefault(kind_of(name), len(numbers)) for name in self.columns.names.texts()]
        return np.array(names, dtype=np.int64), list(numbers)

    @cached_property
    def turns(self) -> dict[str, float]:
        """Task types whose bodies take turns at the interpreter, and how many seconds they held workers without the processor."""
        if _INTERPRETER not in self.run.waits:
            return {}
        slices = self.of("task")
        slices = slices.only(self.on_workers(slices))
        if len(slices.begin) == 0:
            return {}
        begin, end = slices.begin, slices.end
        outer = outer_of(slices.lane, begin, end)
        is_outermost = outer < 0
        # For each slice, what an equal share of one processor would have given it: the integral of 1 / (how many run).
        times = np.concatenate([begin[is_outermost], end[is_outermost]])
        change = np.concatenate([np.ones(len(times) // 2), -np.ones(len(times) // 2)])
        order = np.lexsort((change, times))
        times, running = times[order], np.cumsum(change[order])
        spans = np.diff(times, append=times[-1:])
        given = np.concatenate([[0.0], np.cumsum(spans / np.maximum(running, 1))[:-1]])
        # A slice inside of another one lies between two of those times.
        turn = without_inner(np.interp(end, times, given) - np.interp(begin, times, given), outer)
        length = (end - begin).astype(np.float64)
        processor = without_inner(np.where(np.isnan(slices.used), length, slices.used), outer)
        length = without_inner(length, outer)
        of_name, kinds = self.kind_of_name()
        is_known = ~np.isnan(slices.used)
        kind = of_name[slices.name][is_known]
        sums = (np.bincount(kind, weights=of[is_known], minlength=len(kinds)) for of in (length, processor, turn))
        answer = {}
        for name, held, used, turned in zip(kinds, *(of.tolist() for of in sums), strict=True):
            if turned > 0 and held / turned >= _LEAST_AT_ONCE and _TURNS[0] <= used / turned <= _TURNS[1]:
                answer[name] = (held - used) * 1e-9
        return answer


@dataclass
class Advice:
    """`seconds`: of the run, what it is about. That much can be won at most."""

    seconds: float
    text: str


def advise(evidence: Evidence) -> str:
    """One sentence."""
    rules: list[Callable[[Evidence], Advice | None]] = [
        _blocked, _interpreter, _io_alone, _messages_alone, _outside, _chain, _short
    ]  # fmt: skip
    length = evidence.run.length
    if not evidence.run.facts.get("workers") and "task" not in evidence.columns.rows:
        return "The trace has no tasks and no workers: it says what was read and written, and when."
    if evidence.run.ranks > 1 and evidence.run.facts.get("lost_events", 0):
        return "Ranks lost older events, and each another part of the run: no advice follows. Set DOVETAIL_TRACE_EVENTS higher."
    found = [advice for rule in rules if (advice := rule(evidence)) is not None]
    best = max(found, key=lambda advice: advice.seconds, default=None)
    if best is not None and best.seconds >= _LEAST_SHARE * length:
        return best.text
    if _is_serial(evidence):
        idle = length - evidence.run.computed - evidence.run.blocked
        return (
            f"{_share(idle, length)} of the workers' time they had no task to run, though no chain of dependent tasks explains it: make all tasks "
            "first, then ask for their results."
        )
    told = f"Nothing stands out: workers computed {_share(evidence.run.computed, length)} of the time"
    if evidence.types:
        longest = evidence.types[0]
        total = sum(one.total for one in evidence.types)
        told += f", and `{longest.name}` takes {_share(longest.total, total)} of the tasks' time"
    return told + "."


def _is_serial(evidence: Evidence) -> bool:
    """Workers have little to do because the program makes its tasks one after the other, not because one task is long."""
    run = evidence.run
    busy = run.computed + run.blocked
    tasks = [one for one in evidence.types if not one.is_io]
    if run.workers < 2 or not tasks or run.goes_on_elsewhere or busy >= _MANY_BUSY * run.length:
        return False
    return busy * run.workers < _AT_ONCE * run.length and max(one.longest for one in tasks) < run.length / 2


def _share(part: float, whole: float) -> str:
    return f"{part / max(whole, 1e-12):.0%}".replace("%", " %")


def _interpreter(evidence: Evidence) -> Advice | None:
    turns = evidence.turns
    run = evidence.run
    seconds = max(sum(turns.values()) / run.workers, run.waits.get(_INTERPRETER, 0.0))
    busy = run.computed + run.blocked
    if seconds <= 0 or busy <= 0:
        return None
    longest = max(turns, key=lambda name: turns[name], default=evidence.types[0].name if evidence.types else "")
    return Advice(
        seconds,
        f"Bodies took turns for {_share(seconds, busy)} of their time, as they do that wait for the interpreter, `{longest}` most: give it "
        "`process=True`, or run the program with a free-threaded Python.",
    )


def _blocked(evidence: Evidence) -> Advice | None:
    turns = evidence.turns
    waiting = [one for one in evidence.types if not one.is_io and one.name not in turns]
    if not waiting:
        return None
    most = max(waiting, key=lambda one: one.blocked)
    seconds = most.blocked / evidence.run.workers - evidence.run.waits.get(_INTERPRETER, 0.0)
    return Advice(
        seconds,
        f"`{most.name}` held workers {_share(most.blocked / evidence.run.workers, evidence.run.length)} of the time without using the "
        "processor: make it an I/O task (in Python with `@dt.io`) if it waits for files or other programs, or split off what waits.",
    )


def _union(begin: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The stretches that intervals cover, without overlaps."""
    if len(begin) == 0:
        return begin, end
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
    run = evidence.run
    if run.io - run.hidden <= 0:
        return None
    by_name: dict[tuple[str, str], tuple[Times, Times]] = {}
    of_name, kinds = evidence.kind_of_name()
    texts = evidence.columns.names.texts()
    tasks, requests = evidence.of("task"), evidence.of("io")
    on_worker = evidence.on_workers(tasks)
    io_tasks, computing = tasks.only(~on_worker), tasks.only(on_worker)
    for category, of, numbers, names in (
        ("I/O task", io_tasks, of_name[io_tasks.name], kinds), ("request", requests, requests.name, texts)
    ):  # fmt: skip
        for number in np.unique(numbers):
            its = numbers == number
            by_name[category, names[number]] = of.begin[its], of.end[its]
    covered = _union(computing.begin, computing.end)
    alone = {key: _outside_of(*_union(*times), covered) for key, times in by_name.items()}
    if not alone:
        return None
    longest = max(alone, key=lambda key: alone[key])
    seconds = min(alone[longest] * 1e-9, run.io - run.hidden)
    noun = f"`{longest[1]}`" if longest[0] == "I/O task" else f"`{longest[1]}` of files"
    return Advice(
        seconds,
        f"{_share(seconds, run.length)} of the time no worker ran a task while {noun} went on: start it earlier, or give the workers tasks that do not wait for it.",
    )


def _outside(evidence: Evidence) -> Advice | None:
    run = evidence.run
    if not evidence.types or run.goes_on_elsewhere:
        return None
    short = _short(evidence)  # what tasks themselves cost is between them, not outside
    seconds = run.length - _covered(evidence) - (short.seconds if short is not None else 0.0)
    doubt = (
        " (A trace does not show what goes on elsewhere for a task: with `process=True`, in an `async def`, or bound to an event.)"
        if run.goes_on_elsewhere is None
        else ""
    )
    return Advice(
        seconds,
        f"{_share(seconds, run.length)} of the time no task ran, no I/O was in flight and no message outstanding: make a task of what the program "
        f"does outside of tasks, or make its tasks earlier.{doubt}",
    )


def _covered(evidence: Evidence) -> float:
    """Seconds in which a rank has a task, I/O or a message; the mean over the ranks."""
    run = evidence.run
    every = [evidence.of(category) for category in ("task", "io", "message")]
    of_rank = np.array([(lane.process - 1) // PROCESSES_OF_RANK for lane in evidence.columns.lanes], dtype=np.int64)
    rank = of_rank[np.concatenate([one.lane for one in every])]
    begin, end = (np.concatenate([getattr(one, edge) for one in every]) for edge in ("begin", "end"))
    begin = np.maximum(begin, round(run.since * 1e9))
    whole = 0.0
    for number in np.unique(rank):
        opens, closes = _union(begin[rank == number], end[rank == number])
        whole += float((closes - opens).sum()) * 1e-9
    return whole / run.ranks


def _messages_alone(evidence: Evidence) -> Advice | None:
    run = evidence.run
    seconds = run.communication - run.communication_hidden
    return Advice(
        seconds,
        f"{_share(seconds, run.length)} of the time a message was outstanding and no worker computed: start it earlier, or give the workers tasks "
        "that do not wait for it.",
    )


def _chain(evidence: Evidence) -> Advice | None:
    run, graph = evidence.run, evidence.graph
    if run.goes_on_elsewhere:
        return None
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
        max(0.0, min(run.length - run.computed - run.blocked, most.tasks * _SHORT)),
        f"Half of the {most.tasks} tasks `{most.name}` take less than {most.median * 1e6:.2g} µs, about what it costs to run a task: put several calls "
        "into one (in Python with `chunk` of `dovetail.map`).",
    )
