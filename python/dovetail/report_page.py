"""Puts the page of a report together: HTML with everything inside, from the template report_page.html and the scripts beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .report_colors import OTHER, OTHERS, TASKS
from .report_data import Run
from .report_packing import pack
from .report_types import TaskType
from .report_view import View

_COLUMNS_OF_TYPES = [
    "task type", "on", "tasks", "total, s", "share of all tasks", "median, ms", "90 % take at most, ms", "longest, ms",
    "blocked, s", "on the critical path, s"
]  # fmt: skip
_COLUMNS_OF_DEVICES = ["device", "tasks", "MB", "busy, s", "MB/s", "most at once", "bandwidth, MB/s"]
_COLUMNS_OF_CONSTRAINTS = [
    "task type",
    "constraint",
    "tasks",
    "learning",
    "last, MB/s",
    "at once",
    "seconds of each constraint tried",
]


def _share_of(seconds: float, whole: float) -> str:
    return f"{100 * seconds / max(whole, 1e-9):.0f} %"


def _types(types: list[TaskType]) -> list[list[Any]]:
    whole = sum(one.total for one in types)
    return [
        [one.name, "I/O threads" if one.is_io else "workers", one.tasks, f"{one.total:.3f}", _share_of(one.total, whole), f"{1e3 * one.median:.3f}",
         f"{1e3 * one.most:.3f}", f"{1e3 * one.longest:.3f}", "-" if one.is_io else f"{one.blocked:.3f}",
         f"{one.on_path:.3f}" if one.on_path else "-"]
        for one in types
    ]  # fmt: skip


def _devices(run: Run) -> list[list[Any]]:
    rows = []
    for device in run.devices:
        busy = device.get("busy_seconds", 0)
        rate = f"{device['bytes'] / 1e6 / busy:.1f}" if busy > 0 else "-"
        known = device["write_mb_per_second"]
        rows.append(
            [device["name"], device["tasks"], f"{device['bytes'] / 1e6:.1f}", f"{busy:.2f}", rate, device["most_running"],
             f"{known:g}" if known else "not measured"]
        )  # fmt: skip
    return rows


def _constraints(run: Run) -> list[list[Any]]:
    rows = []
    for device in run.devices:
        for kind in device.get("types", []):
            now = kind["current_mb_per_second"]
            learned = ", ".join(
                f"{entry['mb_per_second']:g}: {entry['seconds'] * 1e3:.1f} ms" for entry in kind["registry"]
            )
            rows.append(
                [kind["label"], kind["constraint"], kind["tasks"], kind["tasks_learning"], f"{now:g}" if now else "-",
                 kind["at_once"], learned or "-"]
            )  # fmt: skip
    return rows


def _overlap(run: Run) -> list[list[Any]]:
    """What may be hidden behind computation, and how much of it is."""
    rows = []
    for name, whole, hidden in (
        ("I/O", run.io, run.hidden),
        ("communication", run.communication, run.communication_hidden),
    ):
        if whole > 0:
            rows.append([name, f"{whole:.3f}", f"{hidden:.3f}", f"{whole - hidden:.3f}", _share_of(hidden, whole)])
    return rows


def _path(view: View) -> str:
    """The critical path in a sentence."""
    graph, run = view.graph, view.run
    if not view.columns.tasks.accesses and len(view.columns.tasks):
        return "The trace does not say what tasks access, so that there is no critical path to show: run the program with DOVETAIL_TRACE_ACCESSES=1."
    if not graph.path:
        return "The trace has no dependencies between tasks, so that there is no critical path to show."
    seconds = graph.length * 1e-9
    parts = sorted(((one.on_path, one.name) for one in view.types if one.on_path > 0), reverse=True)
    told = ", ".join(f"{_share_of(part, seconds)} {name}" for part, name in parts[:6])
    count = len(graph.path)
    return (
        f"The critical path is {seconds:.3f} s long, {_share_of(seconds, run.length)} of the run: "
        f"{'one task, which waits for none' if count == 1 else f'{count} tasks, each of which waits for the one before'}. By type: {told}."
        f"{' It is of one rank, and follows no message.' if run.ranks > 1 else ''}"
    )


def _figures(view: View) -> list[tuple[str, float, str]]:
    """Name, value and unit of what two runs are compared by."""
    run = view.run
    return [
        ("total", run.length, "s"), ("computing", run.computing, "s"), ("I/O", run.io, "s"),
        ("I/O not hidden", run.io - run.hidden, "s"), ("critical path", view.graph.length * 1e-9, "s"),
        ("use of the workers", 100 * run.computed / max(run.length, 1e-9), "%"),
        ("workers blocked", 100 * run.blocked / max(run.length, 1e-9), "%"), ("tasks", len(view.columns.tasks), ""),
    ]  # fmt: skip


def _compared(value: float, other: float) -> str:
    return f"{other / value:.2f}" if value > 0 else "-"


def _comparison(first: View, second: View) -> tuple[list[list[Any]], list[list[Any]]]:
    """The figures of two runs, and their task types."""
    figures = [
        [f"{name}, {unit}" if unit else name, f"{a:.6g}", f"{b:.6g}", _compared(a, b)]
        for (name, a, unit), (_, b, _) in zip(_figures(first), _figures(second), strict=True)
    ]
    by_name = [{one.name: one for one in view.types} for view in (first, second)]
    types = []
    for name in dict.fromkeys([*by_name[0], *by_name[1]]):
        a, b = (kinds.get(name) for kinds in by_name)
        cells: list[Any] = [name]
        for one in (a, b):
            cells += [one.tasks, f"{one.total:.3f}", f"{1e3 * one.median:.3f}"] if one else ["-", "-", "-"]
        types.append([*cells, _compared(a.median, b.median) if a and b else "-"])
    return figures, types


def _facts(view: View) -> dict[str, Any]:
    """One run, as the template shows it."""
    return {
        "run": view.run, "title": view.title, "advice": view.advice, "drawn": view.drawn, "overlap": _overlap(view.run),
        "types": _types(view.types), "distributions": [one.picture for one in view.types], "devices": _devices(view.run),
        "constraints": _constraints(view.run), "path": _path(view),
    }  # fmt: skip


def _kinds(views: list[View]) -> list[str]:
    """The task types of all runs, those that took longest together first."""
    seconds: dict[str, float] = {}
    for view in views:
        for one in view.types:
            seconds[one.name] = seconds.get(one.name, 0.0) + one.total
    return sorted(seconds, key=lambda name: -seconds[name])


def _key(kinds: list[str], views: list[View]) -> list[tuple[str, str]]:
    """What the colours of the timeline mean."""
    key = list(zip(kinds, TASKS, strict=False))
    if len(kinds) > len(TASKS):
        key.append((f"{len(kinds) - len(TASKS)} other task types", OTHER))
    categories = {category for view in views for category in view.columns.rows}
    return key + [(told, color) for category, told, color in OTHERS if category in categories]


def compose(views: list[View], title: str, links: dict[str, str]) -> str:
    """The whole page, of one run or of two. `links`: what is beside it, by what it is: `picture` and `trace`."""
    folder = Path(__file__).parent
    environment = Environment(loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined)
    environment.filters["share_of"] = _share_of
    kinds = _kinds(views)
    packed = pack([view.packed(kinds) for view in views])
    return environment.get_template("report_page.html").render(
        title=title, links=links, key=_key(kinds, views), runs=[_facts(view) for view in views], packed=packed,
        comparison=_comparison(*views) if len(views) == 2 else None,
        columns={"types": _COLUMNS_OF_TYPES, "devices": _COLUMNS_OF_DEVICES, "constraints": _COLUMNS_OF_CONSTRAINTS},
        scripts=[(folder / f"report_{name}.js").read_text(encoding="utf-8") for name in ("runs", "timeline")],
    )  # fmt: skip
