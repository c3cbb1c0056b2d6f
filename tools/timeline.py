"""Draws a trace that Dovetail wrote as a picture: a lane for each thread, the requests in flight, and what overlapped.

As a command: timeline.py TRACE.json [PICTURE.png] [--title TEXT] [--seconds S]. As a module: `render`.
"""

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

try:
    import matplotlib
    import numpy as np
except ImportError as error:
    sys.exit(f"timeline.py needs {error.name}: run `make setup-all`, then use .venv/bin/python")

matplotlib.use("Agg")
matplotlib.rcParams["text.parse_math"] = False  # labels are the program's: a dollar sign in one is a dollar sign
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.colors import to_rgb  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402
from timeline_trace import Lane, TimelineError, Trace, coverage, moments, read_trace  # noqa: E402

__all__ = ["TimelineError", "render"]

INK, QUIET, LANE = "#1f2933", "#7b8794", "#f2f4f7"
IDLE = "#d5dae1"
TASKS = ["#2a9d8f", "#e9b949", "#7a6fb0", "#5fa8d3", "#b08968", "#8ab17d", "#d8738c", "#577590"]
READ, WRITE, OTHER = "#3a6ea5", "#e07a3f", "#a4478f"
STATES = {
    "computing, I/O in flight": "#2a7f62",
    "computing only": "#bcdccb",
    "I/O only: nothing hides it": "#d64545",
    "neither": LANE,
}
MOST_THREAD_LANES = 24
MOST_REQUEST_LANES = 12
MOST_TASK_KINDS = len(TASKS)
WIDTH, DOTS = 15.0, 144  # inches, and dots per inch
COLUMNS = 1760  # of pixels in a lane


def operation_color(operation: str) -> str:
    if "read" in operation:
        return READ
    return WRITE if "write" in operation else OTHER


class Palette:
    """A colour for each kind of task, the most frequent (in time) first; the rest share one."""

    def __init__(self, trace: Trace):
        self.seconds: Counter = Counter()
        for lane in trace.lanes:
            for kind in set(lane.kind) - {"idle"}:
                begin, end = lane.of(kind)
                self.seconds[kind] += float(np.sum(end - begin))
        ordered = [kind for kind, _ in self.seconds.most_common()]
        self.tasks = dict(zip(ordered, TASKS, strict=False))
        self.rest = ordered[MOST_TASK_KINDS:]

    def task(self, kind: str) -> str:
        return IDLE if kind == "idle" else self.tasks.get(kind, QUIET)


def paint(lane: Lane, color_of, edges: np.ndarray) -> np.ndarray:
    """One row of pixels. A column that is filled in part is lighter, but never invisible."""
    mixed = np.zeros((len(edges) - 1, 3))
    filled = np.zeros(len(edges) - 1)
    for kind in set(lane.kind):
        share = coverage(*lane.of(kind), edges)
        mixed += share[:, None] * np.array(to_rgb(color_of(kind)))
        filled += share
    seen = filled > 0
    mixed[seen] /= filled[seen, None]
    strength = np.where(seen, 0.25 + 0.75 * np.clip(filled, 0, 1), 0)[:, None]
    return strength * mixed + (1 - strength) * np.array(to_rgb(LANE))


def draw_lanes(axes, lanes: list[Lane], color_of, edges: np.ndarray, caption: str) -> None:
    for row, lane in enumerate(lanes):
        axes.imshow(
            paint(lane, color_of, edges)[None, :, :],
            extent=(edges[0], edges[-1], row + 0.44, row - 0.44),
            aspect="auto",
            interpolation="nearest",
        )
        write_labels(axes, lane, row, color_of, edges)
    axes.set_ylim(len(lanes) - 0.5, -0.5)
    axes.set_yticks(range(len(lanes)), [lane.name for lane in lanes])
    axes.set_ylabel(caption)


def write_labels(axes, lane: Lane, row: int, color_of, edges: np.ndarray) -> None:
    """Names the slices that are wide enough, and draws the line between neighbours that are wide enough to be distinguished."""
    column = edges[1] - edges[0]
    begin, end = np.clip(lane.begin, edges[0], edges[-1]), np.clip(lane.end, edges[0], edges[-1])
    width = (end - begin) / column
    axes.vlines(end[width > 5], row - 0.44, row + 0.44, color="white", linewidth=0.6)
    for i in np.flatnonzero(width > 12):
        text = lane.kind[i]
        if text != "idle" and width[i] > 9 * len(text) + 10:
            dark = sum(to_rgb(color_of(text))) > 1.9
            axes.text(
                (begin[i] + end[i]) / 2,
                row,
                text,
                ha="center",
                va="center",
                fontsize=7.5,
                clip_on=True,
                color=INK if dark else "white",
            )


def draw_states(axes, trace: Trace, edges: np.ndarray) -> dict[str, float]:
    """The strip that says what each moment was spent on. Returns seconds of each state."""
    now = moments(trace)
    computing, flying = now.computing > 0, now.requests > 0
    chosen = dict(zip(STATES, (computing & flying, computing & ~flying, ~computing & flying), strict=False))
    row = np.ones((len(edges) - 1, 3)) * np.array(to_rgb(STATES["neither"]))
    for state, mask in chosen.items():
        share = coverage(now.begin[mask], now.end[mask], edges)[:, None]
        row += share * (np.array(to_rgb(STATES[state])) - np.array(to_rgb(STATES["neither"])))
    axes.imshow(
        np.clip(row, 0, 1)[None], extent=(edges[0], edges[-1], 0.44, -0.44), aspect="auto", interpolation="nearest"
    )
    axes.set_ylim(0.5, -0.5)
    axes.set_yticks([0], ["overlap"])
    length = now.end - now.begin
    seconds = {state: float(np.sum(length[mask])) for state, mask in chosen.items()}
    seconds["neither"] = max(0.0, trace.length - sum(seconds.values()))
    return seconds


def draw_in_flight(axes, trace: Trace, edges: np.ndarray) -> None:
    times, numbers = trace.in_flight
    middle = (edges[:-1] + edges[1:]) / 2
    most = int(numbers.max())
    # The mean over each column as an area, the most in it as a line above.
    area = np.concatenate([[0.0], np.cumsum(numbers[:-1] * np.diff(times))])
    mean = np.diff(np.interp(edges, times, area)) / np.diff(edges)
    peak = numbers[np.clip(np.searchsorted(times, edges[:-1], side="right") - 1, 0, None)] * (edges[:-1] >= times[0])
    inside = (times >= edges[0]) & (times < edges[-1])
    np.maximum.at(peak, np.searchsorted(edges, times[inside], side="right") - 1, numbers[inside])
    axes.fill_between(middle, mean, color=WRITE, alpha=0.45, linewidth=0, step="mid")
    axes.step(middle, peak, color=WRITE, linewidth=0.7, where="mid", alpha=0.9)
    axes.set_ylim(0, most * 1.15)
    axes.set_yticks([0, most])
    axes.set_ylabel("in flight")


def bytes_text(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def seconds_text(seconds: float) -> str:
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def facts_text(facts: dict) -> str:
    """What the recording says about itself, in one line."""
    parts = []
    for key, name in (("total_s", "total"), ("compute_s", "compute"), ("io_s", "I/O")):
        if key in facts:
            parts.append(f"{name} {seconds_text(facts[key])}")
    if min(facts.get("compute_s", 0), facts.get("io_s", 0)) > 0:
        parts.append(f"I/O hidden {facts.get('hidden_share', 0):.0%}")
    if facts.get("communication_s", 0) > 0:
        parts.append(f"communication {seconds_text(facts['communication_s'])}")
        parts.append(f"{facts['communication_hidden_share']:.0%} of it hidden")
    for key, name in (("bytes_read", "read"), ("bytes_written", "written")):
        if facts.get(key, 0) > 0:
            parts.append(f"{bytes_text(facts[key])} {name}")
    return "   ·   ".join(parts)


def legend(figure, entries: list[tuple[str, str]], bottom: float, title: str) -> None:
    """A row of coloured names, after a title; in smaller letters if there are too many for the width."""
    figure.text(0.012, bottom, title, fontsize=8.5, color=QUIET, va="center")
    handles = [Patch(facecolor=color, edgecolor="#c5ccd5", linewidth=0.4, label=text) for text, color in entries]
    for size in (8.5, 7.5, 6.5, 5.5):
        row = figure.legend(
            handles=handles,
            loc="center left",
            bbox_to_anchor=(0.093, bottom),
            ncols=len(handles),
            frameon=False,
            fontsize=size,
            labelcolor=INK,
            handlelength=1.1,
            handleheight=0.9,
            columnspacing=1.6 if size > 8 else 0.9,
            borderpad=0,
        )
        if row.get_window_extent(figure.canvas.get_renderer()).x1 <= figure.bbox.x1 or size == 5.5:
            return
        row.remove()


def draw(trace: Trace, title: str, length: float):
    edges = np.linspace(0, length, COLUMNS + 1)
    palette = Palette(trace)
    threads = trace.lanes[:MOST_THREAD_LANES]
    requests = trace.requests[:MOST_REQUEST_LANES]
    counted = len(trace.in_flight[0]) > 0

    # Inches from top to bottom; a panel that would be empty is left out.
    lane, head, foot, gap = 0.36, 0.92, 1.36, 0.14
    small = lane if len(requests) <= 4 else 0.2
    heights = {"states": lane, "threads": lane * max(1, len(threads))}
    if requests:
        heights["requests"] = small * len(requests)
    if counted:
        heights["in_flight"] = 0.75
    inches = head + foot + sum(heights.values()) + gap * (len(heights) - 1)
    figure = plt.figure(figsize=(WIDTH, inches), dpi=DOTS, facecolor="white")
    panels, top = {}, inches - head
    for name, height in heights.items():
        panels[name] = figure.add_axes((0.098, (top - height) / inches, 0.88, height / inches))
        top -= height + gap

    state_seconds = draw_states(panels["states"], trace, edges)
    draw_lanes(panels["threads"], threads, palette.task, edges, "")
    if requests:
        draw_lanes(panels["requests"], requests, operation_color, edges, "")
        if small < lane:
            panels["requests"].set_yticks([(len(requests) - 1) / 2], ["requests"])
    if counted:
        draw_in_flight(panels["in_flight"], trace, edges)
    for name, axes in panels.items():
        axes.set_xlim(0, length)
        axes.set_facecolor(LANE if name == "in_flight" else "white")
        axes.tick_params(length=0, labelsize=8.5, labelcolor=INK, pad=5)
        axes.spines[:].set_visible(False)
        axes.yaxis.label.set(fontsize=8.5, color=INK, rotation=0, ha="right", va="center")
        axes.yaxis.set_label_coords(-0.022, 0.5)
        axes.tick_params(labelbottom=False)
    last = list(panels.values())[-1]
    scale, unit = next(
        (f, u) for f, u in ((1, "s"), (1e3, "ms"), (1e6, "µs"), (1e9, "ns")) if length * f >= 1 or f == 1e9
    )
    last.xaxis.set_major_formatter(lambda value, _: f"{value * scale:g} {unit}")
    last.tick_params(labelbottom=True)

    def at(from_bottom: float) -> float:
        return from_bottom / inches

    figure.text(0.012, 1 - at(0.30), title, fontsize=15, fontweight="bold", color=INK, va="center")
    figure.text(0.012, 1 - at(0.62), facts_text(trace.facts), fontsize=10, color=INK, va="center")
    notes = []
    if len(trace.lanes) > len(threads):
        notes.append(f"{len(trace.lanes) - len(threads)} more threads are not drawn")
    if len(trace.requests) > len(requests):
        notes.append(f"{len(requests)} of at most {len(trace.requests)} requests in flight drawn; the curve has all")
    figure.text(0.978, 1 - at(0.30), "   ·   ".join(notes), fontsize=8.5, color=QUIET, va="center", ha="right")
    if trace.facts.get("lost_events", 0) > 0:
        lost = f"{trace.facts['lost_events']} older events were lost: the figures are about the later part"
        figure.text(
            0.978, 1 - at(0.62), lost, fontsize=9, color=STATES["I/O only: nothing hides it"], va="center", ha="right"
        )

    whole = max(trace.length, 1e-12)
    legend(
        figure,
        [(f"{state}  {state_seconds[state] / whole:.0%}", color) for state, color in STATES.items()],
        at(0.78),
        "overlap",
    )
    tasks = [(f"{kind}  {seconds_text(palette.seconds[kind])}", color) for kind, color in palette.tasks.items()]
    if palette.rest:
        tasks.append((f"{len(palette.rest)} other kinds", QUIET))
    legend(figure, [*tasks, ("idle", IDLE)], at(0.50), "tasks")
    operations = Counter()
    for each in trace.requests:
        operations.update(each.kind)
    legend(
        figure,
        [(f"{name}  {count}", operation_color(name)) for name, count in operations.most_common(8)],
        at(0.22),
        "requests",
    )
    return figure


def render(json_path, png_path, title: str = "", seconds: float | None = None) -> None:
    """Draws the trace at `json_path` as a PNG. `seconds` is the length of the time axis, for pictures to be compared;
    without it the axis is as long as the recording. Raises TimelineError, which names the file."""
    if seconds is not None and not 0 < seconds < float("inf"):
        raise TimelineError(f"the length of the time axis is {seconds} seconds: it must be greater than 0")
    trace = read_trace(Path(json_path))
    figure = draw(trace, title or Path(json_path).stem, seconds or max(trace.length, 1e-9))
    try:
        figure.savefig(png_path, format="png")
    except OSError as error:
        raise TimelineError(
            f"cannot write '{png_path}': {os.strerror(error.errno) if error.errno else error}"
        ) from error
    finally:
        plt.close(figure)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path, help="JSON file that dovetail::trace::write wrote")
    parser.add_argument("picture", type=Path, nargs="?", help="PNG file to write (the trace's name with .png)")
    parser.add_argument("--title", default="", help="heading (the trace's name)")
    parser.add_argument("--seconds", type=float, help="length of the time axis (the whole recording)")
    arguments = parser.parse_args(words)
    picture = arguments.picture or arguments.trace.with_suffix(".png")
    try:
        render(arguments.trace, picture, arguments.title, arguments.seconds)
    except TimelineError as error:
        print(f"timeline.py: {error}", file=sys.stderr)
        return 2
    print(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
