"""Slices inside of others on the same thread: a task that waits for another one may run a third meanwhile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]


def outer_of(lane: NDArray[np.integer], begin: Times, end: Times) -> Times:
    """For each slice the number of the innermost one that it lies in, or -1."""
    outer = np.full(len(begin), -1, dtype=np.int64)
    order = np.lexsort((-end, begin, lane))
    lanes, begins, ends = lane[order], begin[order], end[order]
    if not np.any((lanes[1:] == lanes[:-1]) & (begins[1:] < ends[:-1])):
        return outer
    open_: list[int] = []
    for number in order.tolist():
        while open_ and (lane[open_[-1]] != lane[number] or end[open_[-1]] <= begin[number]):
            open_.pop()
        if open_:
            outer[number] = open_[-1]
        open_.append(number)
    return outer


def without_inner(values: NDArray[np.float64], outer: Times) -> NDArray[np.float64]:
    """Of each slice what is its own: without that of the slices that lie in it."""
    own = values.copy()
    inside = outer >= 0
    np.subtract.at(own, outer[inside], values[inside])
    return own
