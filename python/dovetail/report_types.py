"""The times of each task type: how many, how long, how they are distributed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .report_columns import Columns
from .report_data import Run, kind_of

_BINS = 32
_WIDTH, _HEIGHT = 128, 22  # of a distribution, in pixels


@dataclass
class TaskType:
    """Times in seconds. `on_path`: what its tasks on the critical path take. `blocked`: of `total`, what they did not use the processor."""

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
    seconds = np.array(columns.tasks.ran, dtype=np.float64) * 1e-9
    on_path = np.zeros(len(seconds), dtype=bool)
    on_path[path] = True
    within = (float(seconds[seconds > 0].min(initial=1e-3)), float(seconds.max(initial=1e-3)))
    answer = []
    for kind in sorted(run.kinds, key=lambda kind: -run.kinds[kind]["seconds"]):
        chosen = kinds.numbers == kinds.number_of.get(kind, -1)
        its = seconds[chosen]
        if len(its) == 0:
            continue
        told = run.kinds[kind]
        median, most = np.percentile(its, [50, 90])
        answer.append(
            TaskType(kind, told["io"], len(its), float(its.sum()), float(median), float(most), float(its.max()),
                     told["blocked"], float(its[on_path[chosen]].sum()), distribution(its, within))
        )  # fmt: skip
    return answer


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
