#!/usr/bin/env python3
"""Draws the maps of a sweep of dovetail-tiom: a PNG for each, and one page, index.html, with everything.

    report.py FOLDER        the folder that was given to dovetail-tiom --output

For each mode, pattern and number of series there is a map of the standalone bandwidth (as figure 2 of the TASIO paper), one
of the speed-up of each variant of Dovetail (figures 3 and 4), and one of its efficiency against the model. Exit status 1
when matplotlib is missing or nothing was measured, 2 for bad usage.
"""

from __future__ import annotations

import base64
import html
import json
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

MAP_ORDER = ("bandwidth", "speedup", "efficiency")
TITLES = {"bandwidth": "bandwidth in MiB/s", "speedup": "speed-up over standalone", "efficiency": "efficiency"}


class BadFolder(Exception):
    """The folder has no results; the message says what is wrong."""


def size_text(size: int) -> str:
    for shift, unit in ((20, "M"), (10, "K")):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return str(size)


@dataclass
class Map:
    """One heat map: values by block and compute time."""

    kind: str
    variant: str
    mode: str
    pattern: str
    series: int
    values: dict[tuple[int, float], float] = field(default_factory=dict)
    slower: set[tuple[int, float]] = field(default_factory=set)

    @property
    def title(self) -> str:
        return f"{self.mode} {self.pattern}, {self.series} series: {self.variant}, {TITLES[self.kind]}"

    @property
    def file_name(self) -> str:
        return f"{self.kind}-{self.mode}-{self.pattern}-{self.series}-{self.variant}.png"


def read_results(folder: Path) -> tuple[dict, dict[int, dict]]:
    """The plan, and the result that counts for each point: one that was measured again replaces the first."""
    path = folder / "points.jsonl"
    if not path.is_file():
        raise BadFolder(f"{folder} holds no sweep: there is no {path.name}")
    plan, chosen = None, {}
    with path.open() as lines:
        for line in lines:
            # The sweep may have been killed while it wrote the last line.
            if not line.endswith("\n"):
                break
            entry = json.loads(line)
            if plan is None:
                plan = entry
            elif "result" in entry:
                chosen[entry["index"]] = entry["result"]
    if plan is None or not chosen:
        raise BadFolder(f"{path} holds no measured point yet")
    return plan, chosen


def is_slower(result: dict, variant: str, noise: float) -> bool:
    """Slower than standalone by more than the runs of either differ; the same rule as the program's."""
    figures, standalone = result["variants"][variant], result["variants"].get("standalone")
    if standalone is None or "speedup" not in figures:
        return False
    return figures["speedup"] < 1 - max(figures["spread"], standalone["spread"], noise)


def maps_of(plan: dict, results: dict[int, dict]) -> list[Map]:
    maps: dict[tuple, Map] = {}
    for result in results.values():
        point = result["point"]
        place = (point["block"], point["compute_ms"])
        for variant, figures in result["variants"].items():
            values = {"efficiency": figures.get("efficiency"), "speedup": figures.get("speedup")}
            if variant == "standalone" or len(result["variants"]) == 1:
                values["bandwidth"] = figures["mib_per_second"]
            for kind, value in values.items():
                if value is None:
                    continue
                key = (point["mode"], point["pattern"], point["series"], MAP_ORDER.index(kind), variant)
                if key not in maps:
                    maps[key] = Map(kind, variant, point["mode"], point["pattern"], point["series"])
                maps[key].values[place] = value
                if kind == "speedup" and is_slower(result, variant, plan["noise"]):
                    maps[key].slower.add(place)
    return [maps[key] for key in sorted(maps)]


def draw(chart: Map, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.colors import Normalize, TwoSlopeNorm

    blocks = sorted({block for block, _ in chart.values})
    computes = sorted({compute for _, compute in chart.values})
    table = [[chart.values.get((block, compute), float("nan")) for block in blocks] for compute in computes]
    # Speed-ups keep one scale over all maps, so that they can be compared: green is faster, red is slower.
    colours, norm, form = {
        "bandwidth": ("viridis", Normalize(vmin=0), "{:.0f}"),
        "speedup": ("RdYlGn", TwoSlopeNorm(vcenter=1.0, vmin=0.5, vmax=2.5), "{:.2f}"),
        "efficiency": ("magma", Normalize(vmin=0, vmax=1.05), "{:.2f}"),
    }[chart.kind]
    figure, axes = plt.subplots(
        figsize=(max(2.2 + 0.62 * len(blocks), 5.5), 1.6 + 0.42 * len(computes)), layout="constrained"
    )
    image = axes.imshow(table, aspect="auto", origin="lower", cmap=colours, norm=norm)
    image.cmap.set_bad("#dddddd")
    axes.set_xticks(range(len(blocks)), [size_text(block) for block in blocks])
    axes.set_yticks(range(len(computes)), [f"{compute:g}" for compute in computes])
    axes.set_xlabel("block")
    axes.set_ylabel("computation, ms")
    axes.set_title(chart.title, fontsize=9)
    for row, compute in enumerate(computes):
        for column, block in enumerate(blocks):
            value = chart.values.get((block, compute))
            if value is None:
                continue
            red, green, blue, _ = image.cmap(image.norm(value))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            text = form.format(value) if value < 100000 else f"{value:.0e}"
            weight = "bold" if (block, compute) in chart.slower else "normal"
            axes.text(
                column,
                row,
                text,
                ha="center",
                va="center",
                fontsize=6.5,
                weight=weight,
                color="white" if dark else "black",
            )
            if (block, compute) in chart.slower:
                axes.add_patch(
                    plt.Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=1.5)
                )
    figure.colorbar(image, ax=axes, fraction=0.05)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def settings_table(plan: dict) -> str:
    settings = plan["settings"]
    rows = {
        "variants": ", ".join(settings["variants"]),
        "file": f"{size_text(settings['size'])}, {'direct' if settings['direct'] else 'through the page cache'}",
        "engine": settings["engine"] or "auto",
        "workers": settings["workers"],
        "rounds": settings["rounds"],
        "calibration": f"{settings['iterations_per_ms']:.0f} turns of the loop in a millisecond",
        "time limit of a run": f"{settings['time_limit']:g} s",
    }
    return "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>" for name, value in rows.items()
    )


def point_text(point: dict) -> str:
    return f"{point['mode']} {point['pattern']} {size_text(point['block'])}, {point['compute_ms']:g} ms, {point['series']} series"


def summary_html(folder: Path) -> str:
    path = folder / "summary.json"
    if not path.is_file():
        return "<p>The sweep is not finished: there is no summary yet.</p>"
    summary = json.loads(path.read_text())
    lines = [
        f"<p>{summary['measured']} of {summary['points']} points measured, {summary['measured_again']} of them twice.</p>"
    ]
    best = summary["best"]
    if best:
        lines.append(
            f"<p><b>Best: {best['speedup']:.2f} &times; standalone</b>, {html.escape(best['variant'])}, "
            f"{html.escape(point_text(best['point']))}: {html.escape(best['why'])}.</p>"
        )
    rows = []
    for name, title in (
        ("speedup", "speed-up"),
        ("efficiency", "efficiency"),
        ("efficiency_plain", "efficiency, plain bound"),
    ):
        for variant, figures in summary[name].items():
            rows.append(
                f"<tr><td>{title}</td><td>{html.escape(variant)}</td><td>{figures['median']:.3f}</td><td>{figures['worst']:.3f}</td>"
                f"<td>{html.escape(point_text(figures['worst_at']['point']))}</td></tr>"
            )
    pausing = summary["pausing_to_bound"]
    if pausing:
        rows.append(
            f"<tr><td>pausing against bound</td><td></td><td>{pausing['median']:.3f}</td><td>{pausing['worst']:.3f}</td>"
            f"<td>{html.escape(point_text(pausing['worst_at']['point']))}</td></tr>"
        )
    lines.append(
        "<table><tr><th></th><th>variant</th><th>median</th><th>worst</th><th>worst at</th></tr>"
        + "".join(rows)
        + "</table>"
    )
    lines.append(f"<h2>Slower than standalone: {len(summary['slower'])} of {summary['comparisons']}</h2>")
    lines.append(
        f"<p>By more than the runs of either differ, and by more than {100 * summary['noise']:g} %. In the maps these fields have a frame.</p>"
    )
    if summary["slower"]:
        found = "".join(
            f"<tr><td>{html.escape(entry['variant'])}</td><td>{html.escape(point_text(entry['point']))}</td>"
            f"<td>{entry['speedup']:.3f}</td><td>{100 * entry['spread']:.1f} %</td></tr>"
            for entry in summary["slower"]
        )
        lines.append(
            f"<table><tr><th>variant</th><th>point</th><th>speed-up</th><th>runs differ by</th></tr>{found}</table>"
        )
    for entry in summary["failed"]:
        lines.append(f"<p>Not measured: {html.escape(point_text(entry['point']))}: {html.escape(entry['error'])}</p>")
    return "\n".join(lines)


STYLE = """body{font-family:sans-serif;margin:2em;max-width:110em}table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:left;
border-bottom:1px solid #ccc}.maps{display:flex;flex-wrap:wrap;gap:1em}img{max-width:100%}"""


def write_page(folder: Path, plan: dict, maps: list[Map], pictures: Path) -> None:
    groups: dict[str, list[Map]] = defaultdict(list)
    for chart in maps:
        groups[f"{chart.mode} {chart.pattern}, {chart.series} series"].append(chart)
    parts = [
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>TIOM sweep</title><style>{STYLE}</style>",
        "<h1>Task I/O Meter: a sweep</h1>",
        f"<table>{settings_table(plan)}</table><h2>Summary</h2>{summary_html(folder)}",
    ]
    for title, charts in groups.items():
        parts.append(f"<h2>{html.escape(title)}</h2><div class='maps'>")
        for chart in charts:
            # Inside of the page, so that it is one file that can be sent to somebody.
            data = base64.b64encode((pictures / chart.file_name).read_bytes()).decode()
            parts.append(f"<img alt='{html.escape(chart.title)}' src='data:image/png;base64,{data}'>")
        parts.append("</div>")
    (folder / "index.html").write_text("\n".join(parts))


def main() -> int:
    arguments = sys.argv[1:]
    if len(arguments) != 1 or arguments[0] in ("-h", "--help"):
        print(__doc__, file=sys.stdout if arguments in (["-h"], ["--help"]) else sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    folder = Path(arguments[0])
    try:
        plan, results = read_results(folder)
        maps = maps_of(plan, results)
        pictures = folder / "maps"
        pictures.mkdir(exist_ok=True)
        for chart in maps:
            draw(chart, pictures / chart.file_name)
        write_page(folder, plan, maps, pictures)
    except ImportError as error:
        print(f"report.py: {error}: `pip install matplotlib`, or use a Python that has it", file=sys.stderr)
        return 1
    except BadFolder as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 1
    print(f"{len(maps)} maps in {pictures}, all of them in {folder / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
