"""The times of each task type: how many, how long, how they are distributed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .report_columns import Columns
from .report_data import Run, kind_of
from .report_graph import lengths_of
from .report_nesting import outer_of, without_inner

_BINS = 32
_WIDTH, _HEIGHT = 128, 22  # of a distribution, in pixels


@dataclass
class TaskType:
    """Times in seconds. `on_path`: what its tasks on the critical path take, with their pauses. `blocked`: of `total`, what they did not use the processor."""

    name: str
    is_io: bool
    tasks: int
    total: float
    median: float
    most: float  # nine of ten take at most so long
    longest: float
    blocked: float
    on_path: float
    picture: str = ""


def types_of(run: Run, columns: Columns, path: list[int]) -> list[TaskType]:
    """Those that took longest first."""
    kinds = _kinds(columns)
    seconds = own_seconds(columns)
    tasks = columns.tasks
    path_seconds = np.zeros(len(seconds))
    path_seconds[path] = lengths_of(tasks, round(run.since * 1e9))[path] * 1e-9
    seconds[np.array(tasks.end, dtype=np.int64) <= run.since * 1e9] = np.nan
    known = seconds[~np.isnan(seconds)]
    within = (float(known[known > 0].min(initial=1e-3)), float(known.max(initial=1e-3)))
    # The tasks by kind, so that each kind is a stretch.
    order = np.argsort(kinds.numbers, kind="stable")
    borders = np.searchsorted(kinds.numbers[order], np.arange(len(kinds.number_of) + 1))
    answer = []
    for kind in sorted(run.kinds, key=lambda kind: -run.kinds[kind]["seconds"]):
        if kind not in kinds.number_of:
            continue
        number = kinds.number_of[kind]
        chosen = order[borders[number] : borders[number + 1]]
        its = seconds[chosen]
        its = its[~np.isnan(its)]
        if len(its) == 0:
            continue
        told = run.kinds[kind]
        median, most = np.percentile(its, [50, 90])
        answer.append(
            TaskType(kind, told["io"], len(its), float(its.sum()), float(median), float(most), float(its.max()),
                     told["blocked"], float(path_seconds[chosen].sum()), distribution(its, within))
        )  # fmt: skip
    return answer


def own_seconds(columns: Columns) -> NDArray[np.float64]:
    """What the slices of each task take together, without the slices of other tasks inside of them."""
    rows = columns.rows.get("task")
    if rows is None:
        return np.zeros(len(columns.tasks))
    begin, length = np.array(rows.begin), np.array(rows.length)
    own = without_inner(length * 1e-9, outer_of(np.array(rows.lane), begin, begin + length))
    sums = np.bincount(np.array(rows.task, dtype=np.int64) - 1, weights=own, minlength=len(columns.tasks))
    return np.asarray(sums, dtype=np.float64)


@dataclass
class _Kinds:
    numbers: NDArray[np.int64]  # of the tasks
    number_of: dict[str, int]


def _kinds(columns: Columns) -> _Kinds:
    number_of: dict[str, int] = {}
    of_name = [number_of.setdefault(kind_of(name), len(number_of)) for name in columns.names.texts()]
    names = np.array(columns.tasks.name, dtype=np.int64)
    return _Kinds(np.array(of_name, dtype=np.int64)[names] if of_name else names, number_of)


def distribution(seconds: NDArray[np.float64], within: tuple[float, float]) -> str:
    """How many tasks took how long, as SVG. Logarithmic from the shortest to the longest task of the run."""
    low, high = np.log10(within[0]), np.log10(within[1] * 1.001)
    places = np.log10(np.maximum(seconds, within[0]))
    counts, _ = np.histogram(places, bins=_BINS, range=(low, max(high, low + 0.1)))
    top, bar = max(1, int(counts.max())), _WIDTH / _BINS
    bars = "".join(
        f'<rect x="{number * bar:.1f}" y="{_HEIGHT - height:.1f}" width="{bar - 0.5:.1f}" height="{height:.1f}"/>'
        for number, count in enumerate(counts)
        if (height := max(1.0, _HEIGHT * int(count) / top) if count else 0)
    )
    return f'<svg class="distribution" width="{_WIDTH}" height="{_HEIGHT}" role="img">{bars}</svg>'
