"""Which tasks depend on which, from their recorded accesses, and the critical path: the longest chain of dependent tasks."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .report_accesses import Access, accesses_of
from .report_columns import Tasks

_MOST_EDGES = 3_000_000  # what a page can be asked to hold


@dataclass
class Graph:
    """`edges`: pairs of tasks, counted from 0, of which the second depends on the first. `path`: the tasks of the critical path, in their order.
    `length`: what these took together, each from its first slice to its last, in nanoseconds. `is_cut`: there are more edges than a page holds."""

    edges: list[tuple[int, int]] = field(default_factory=list)
    path: list[int] = field(default_factory=list)
    length: int = 0
    is_cut: bool = False


@dataclass(slots=True)
class _Region:
    """The tasks that accessed a piece of memory or of a file, so far."""

    writers: list[int] = field(default_factory=list)  # several if they are commutative
    is_commutative: bool = False
    before: list[int] = field(default_factory=list)  # the tasks that commutative writers depend on
    readers: list[int] = field(default_factory=list)


def _ordered(tasks: Tasks) -> list[tuple[int, list[Access]]]:
    order = sorted(tasks.accesses, key=lambda task: (tasks.rank[task], tasks.accesses[task][0]))
    return [(task, accesses_of(tasks.accesses[task][1])) for task in order]


def lengths_of(tasks: Tasks, since: int) -> NDArray[np.int64]:
    """Of each task, from its first slice to its last, as far as it is after `since`."""
    begin, end = np.array(tasks.begin, dtype=np.int64), np.array(tasks.end, dtype=np.int64)
    return np.maximum(0, end - np.maximum(begin, since))


def find(tasks: Tasks, since: int = 0) -> Graph:
    """The dependencies by which the runtime ordered the tasks, and the critical path from `since` on, in nanoseconds of the trace. A graph without
    edges if no accesses were recorded."""
    took = lengths_of(tasks, since).tolist()
    listed = _ordered(tasks)
    cuts: dict[tuple[int, str], set[int]] = defaultdict(set)
    for task, accesses in listed:
        for _, name, begin, end in accesses:
            cuts[tasks.rank[task], name].update((begin, end))
    borders = {space: sorted(points) for space, points in cuts.items()}
    regions: dict[tuple[tuple[int, str], int], _Region] = defaultdict(_Region)
    graph = Graph()
    longest: dict[
        int, tuple[int, int]
    ] = {}  # by task: the length of the longest chain of tasks that ends with it, and the task before it in that chain (-1: none)
    for task, accesses in listed:
        before: set[int] = set()
        for mode, name, begin, end in accesses:
            space = tasks.rank[task], name
            points = borders[space]
            for piece in range(bisect_left(points, begin), bisect_left(points, end)):
                _enter(regions[space, piece], task, mode, before, tasks)
        # A task that had ended before this one began was not what it waited for, if a region's memory has been used again since.
        preceding = [other for other in before if tasks.end[other] <= tasks.begin[task]]
        best = max(preceding, key=lambda other: longest[other][0], default=-1)
        longest[task] = (longest[best][0] if best >= 0 else 0) + took[task], best
        if len(graph.edges) + len(preceding) <= _MOST_EDGES:
            graph.edges += [(other, task) for other in preceding]
        else:
            graph.is_cut = True
    if graph.edges:
        last = max(longest, key=lambda task: longest[task][0])
        graph.length = longest[last][0]
        while last >= 0 and tasks.end[last] > since:
            graph.path.append(last)
            last = longest[last][1]
        graph.path.reverse()
    return graph


def _enter(region: _Region, task: int, mode: str, before: set[int], tasks: Tasks) -> None:
    """Adds the tasks that this one depends on, and this one to the region."""

    def after(others: list[int]) -> None:
        # A task that had ended when this one was made held nothing up. Its memory may have been given to something else since.
        before.update(other for other in others if other != task and tasks.end[other] > tasks.created[task])

    if mode in ("in", "inout"):
        # What is read was written by its writer, however long ago.
        before.update(other for other in region.writers if other != task)
    if mode == "in":
        region.readers.append(task)
        return

    def staying(others: list[int]) -> list[int]:
        # A task that still goes on when this one begins is ordered by another domain, as a parent and its children are: others wait for it yet.
        return [other for other in others if other != task and tasks.end[other] > tasks.begin[task]]

    readers_stay = staying(region.readers)
    if mode == "commutative" and region.is_commutative and len(readers_stay) == len(region.readers):
        before.update(other for other in region.before if other != task)
        region.writers.append(task)
        return
    after(region.readers)
    after(region.writers)
    if mode == "commutative":
        before.update(other for other in region.writers if other != task)
    region.before = [*region.readers, *region.writers]
    region.writers, region.readers = [task, *staying(region.writers)], readers_stay
    region.is_commutative = mode == "commutative"
