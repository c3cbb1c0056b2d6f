"""One run as a page shows it: read from its trace, with its task graph, its task types, its pictures and the advice."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import report_advice, report_figures, report_graph, report_trace, report_types
from .report_columns import Columns
from .report_data import Run
from .report_data import read as read_run
from .report_figures import Drawn
from .report_graph import Graph
from .report_packing import PackedRun
from .report_types import TaskType

MEMORY = "memory of the program, MB"


@dataclass
class View:
    """All that a page says of one run."""

    title: str
    run: Run
    columns: Columns
    graph: Graph
    types: list[TaskType]
    drawn: Drawn
    advice: str

    def packed(self, kinds: list[str]) -> PackedRun:
        """For the timeline. `kinds`: the task types of all runs of the page, so that each has one colour."""
        return PackedRun(self.title, round(self.run.end * 1e9), self.run.workers, self.columns, self.graph, kinds)


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """None of what is read refers to itself. The collector would look through all of it again and again: a third of the time of a million tasks."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def read(trace: Path, title: str, admission: dict[str, Any] | None = None) -> View:
    """From a trace; `admission` is what the trace itself says of it, if not given. Raises OSError and report_trace.UnusableTrace."""
    with _without_collector():
        return _read(trace, title, admission)


def _read(trace: Path, title: str, admission: dict[str, Any] | None) -> View:
    source = report_trace.read(trace)
    columns = Columns()
    told = admission if admission is not None else source.facts.get("admission", {})
    try:
        for time, size in source.facts.get("memory", []):
            columns.count(MEMORY, time, size / 1e6)
        run = read_run(source.document(columns.noted(source.events)), told)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, report_trace.UnusableTrace):
            raise
        raise report_trace.UnusableTrace(f"{trace} is no trace of Dovetail: {type(error).__name__} {error}") from error
    return make(run, columns, title)


def make(run: Run, columns: Columns, title: str) -> View:
    """The view of what has been read."""
    graph = report_graph.find(columns.tasks, round(run.since * 1e9))
    types = report_types.types_of(run, columns, graph.path)
    advice = report_advice.advise(report_advice.Evidence(run, columns, graph, types))
    return View(title, run, columns, graph, types, report_figures.draw_all(run), advice)
