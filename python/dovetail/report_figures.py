"""The pictures of a report: those on the page as SVG, the timeline beside it as PNG."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .report_colors import CONSTRAINT, IDLE, INK, LEARNING, OTHER, REQUEST, STATES, TASKS, THROUGHPUT
from .report_data import Lane, Run

_MOST_LANES = 28
_MOST_SLICES = 6000  # in one lane; what is narrower than a pixel then is drawn with its neighbours


@dataclass
class Drawn:
    """SVG texts."""

    split: str = ""
    throughput: list[tuple[str, str]] = field(default_factory=list)  # device, picture
    constraints: list[tuple[str, str]] = field(default_factory=list)  # title, picture


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["text.parse_math"] = False  # labels are the program's: a dollar sign in one is a dollar sign
    from matplotlib import pyplot

    return pyplot


@contextmanager
def _axes(width: float, height: float, answer: list[Any], is_file: bool = False) -> Iterator[Any]:
    """`answer`: gets the picture, as SVG, or as PNG if it is a file of its own."""
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(width, height), layout="constrained")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8, colors=INK)
    yield axes
    picture = io.BytesIO()
    figure.savefig(picture, format="png" if is_file else "svg", dpi=144 if is_file else "figure")
    pyplot.close(figure)
    drawn = picture.getvalue()
    # The text before <svg> is for files of their own.
    answer[:] = [drawn if is_file else drawn[drawn.index(b"<svg") :].decode()]


def draw_split(run: Run) -> str:
    """One bar: computing and I/O, computing only, I/O only, neither."""
    answer: list[Any] = []
    parts = {
        "both": run.hidden,
        "computing only": run.computing - run.hidden,
        "I/O only": run.io - run.hidden,
        "neither": run.neither,
    }
    with _axes(10, 1.25, answer) as axes:
        left = 0.0
        for name, seconds in parts.items():
            axes.barh(0, seconds, left=left, color=STATES[name], label=f"{name}  {seconds:.2f} s")
            left += seconds
        axes.set_yticks([])
        axes.set_xlim(0, max(run.length, 1e-9))
        axes.set_xlabel("s", fontsize=8)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=4, frameon=False, fontsize=8.5)
    return str(answer[0])


def colors_of(run: Run) -> dict[str, str]:
    """The kinds of tasks that took longest have colours of their own."""
    order = sorted(run.kinds, key=lambda kind: -run.kinds[kind]["seconds"])
    return dict(zip(order, TASKS, strict=False))


def _thinned(lane: Lane, pixel: float) -> list[tuple[float, float, str]]:
    """Neighbours of one kind that are too close to be distinguished are one slice."""
    if len(lane.slices) <= _MOST_SLICES:
        return lane.slices
    result: list[tuple[float, float, str]] = []
    for begin, end, kind in lane.slices:
        if result and result[-1][2] == kind and begin - result[-1][1] < pixel:
            result[-1] = (result[-1][0], max(end, result[-1][1]), kind)
        elif not result or end - begin >= pixel or begin - result[-1][1] >= pixel:
            result.append((begin, end, kind))
    return result


def draw_timeline(run: Run, title: str) -> bytes:
    """A lane for each thread, and one for each request in flight."""
    answer: list[Any] = []
    colors = colors_of(run)
    lanes = run.lanes[:_MOST_LANES]
    requests = run.requests[: max(0, _MOST_LANES - len(lanes))]
    rows = [*lanes, *requests]
    with _axes(12, 1.2 + 0.27 * max(1, len(rows)), answer, is_file=True) as axes:
        for row, lane in enumerate(rows):
            by_color: dict[str, list[tuple[float, float]]] = {}
            for begin, end, kind in _thinned(lane, run.end / 1500):
                color = REQUEST if row >= len(lanes) else IDLE if kind == "idle" else colors.get(kind, OTHER)
                by_color.setdefault(color, []).append((begin, end - begin))
            for color, bars in by_color.items():
                axes.broken_barh(bars, (row - 0.42, 0.84), facecolors=color, edgecolors="white", linewidth=0.15)
        axes.set_yticks(range(len(rows)), [lane.name for lane in rows])
        axes.set_ylim(max(1, len(rows)) - 0.5, -0.5)
        axes.set_xlim(0, max(run.end, 1e-9))
        axes.set_xlabel("s", fontsize=8)
        left_out = len(run.lanes) + len(run.requests) - len(rows)
        axes.set_title(f"{title}{f'   ({left_out} more lanes)' if left_out else ''}", fontsize=10, loc="left")
        for kind, color in colors.items():
            axes.barh(0, 0, color=color, label=kind)
        if requests:
            axes.barh(0, 0, color=REQUEST, label="request in flight")
        if colors or requests:
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=8)
    return bytes(answer[0])


def smoothed(points: list[dict[str, float]], most: int = 60) -> list[dict[str, float]]:
    """Means over at most so many stretches of equal length, of which none is shorter than ten of the given intervals.

    What a task has transferred counts as spread evenly over its time, so that a short interval says little.
    """
    gaps = [b["seconds"] - a["seconds"] for a, b in zip(points, points[1:], strict=False)]
    interval = min((gap for gap in gaps if gap > 0), default=1.0)
    begin, end = points[0]["seconds"], points[-1]["seconds"] + interval
    count = max(1, min(most, int((end - begin) / (10 * interval))))
    width = (end - begin) / count
    result = [{"seconds": begin + k * width, "mb_per_second": 0.0, "running": 0.0} for k in range(count)]
    for point in points:
        stretch = result[min(count - 1, int((point["seconds"] - begin) / width))]
        for key in ("mb_per_second", "running"):
            stretch[key] += point[key] * interval / width
    return [*result, {**result[-1], "seconds": end}]


def draw_throughput(device: dict[str, Any]) -> str:
    """MB/s of a device, and how many tasks it had at once."""
    answer: list[Any] = []
    points = smoothed(device["throughput"])
    with _axes(10, 2.3, answer) as axes:
        times = [point["seconds"] for point in points]
        axes.step(times, [point["mb_per_second"] for point in points], where="post", color=THROUGHPUT, linewidth=1.3)
        axes.fill_between(times, [p["mb_per_second"] for p in points], step="post", color=THROUGHPUT, alpha=0.2)
        axes.set_ylabel("MB/s", fontsize=8, color=THROUGHPUT)
        axes.set_xlabel("s", fontsize=8)
        axes.set_ylim(bottom=0)
        right = axes.twinx()
        right.step(times, [point["running"] for point in points], where="post", color=REQUEST, linewidth=1)
        right.set_ylabel("tasks at once", fontsize=8, color=REQUEST)
        right.set_ylim(bottom=0)
        right.tick_params(labelsize=8)
        right.spines[["top"]].set_visible(False)
    return str(answer[0])


def draw_constraint(kind: dict[str, Any], until: float) -> str:
    """The constraint of a task type over time, as figures 12 and 15 to 19 of the paper on I/O-aware PyCOMPSs
    (docs/papers.md)."""
    answer: list[Any] = []
    history = kind["history"]
    in_numbers = any(change["mb_per_second"] > 0 for change in history)
    key, unit = ("mb_per_second", "constraint, MB/s") if in_numbers else ("at_once", "tasks at once")
    with _axes(10, 2.3, answer) as axes:
        times = [change["seconds"] for change in history]
        values = [change[key] for change in history]
        end = max([until, *times])
        axes.step([*times, end], [*values, values[-1]], where="post", color=CONSTRAINT, linewidth=1.5)
        for begin, change, stop in zip(times, history, [*times[1:], end], strict=True):
            if change["learning"]:
                axes.axvspan(begin, stop, color=LEARNING, alpha=0.18, linewidth=0)
        axes.set_ylabel(unit, fontsize=8)
        axes.set_xlabel("s since the first constrained task", fontsize=8)
        if in_numbers:
            axes.set_yscale("log", base=2)
            shown = sorted({value for value in values if value > 0})
            axes.set_yticks(shown[:: -(-len(shown) // 8)])
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:.4g}")
        else:
            axes.set_ylim(bottom=0)
    return str(answer[0])


def draw_all(run: Run) -> Drawn:
    """All that is on the page."""
    drawn = Drawn(draw_split(run))
    for device in run.devices:
        if device.get("throughput"):
            drawn.throughput.append((device["name"], draw_throughput(device)))
        for kind in device.get("types", []):
            if kind["history"] and kind["constraint"] != "none":
                until = max([change["seconds"] for change in device.get("throughput", kind["history"])], default=0.0)
                title_of = f"{kind['label']}: {kind['constraint']} on {device['name']}"
                drawn.constraints.append((title_of, draw_constraint(kind, until)))
    return drawn
