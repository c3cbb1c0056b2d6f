#!/usr/bin/env python3
"""Draws the maps of a sweep of dovetail-tiom: a PNG for each, and one page, index.html, with everything.

    report.py FOLDER        the folder that was given to dovetail-tiom --output

For each mode, pattern and number of series there are maps of
- the bandwidth of plain calls (as figure 2 of the TASIO paper, docs/papers.md),
- the speed-up of each variant (figures 3 and 4),
- the speed-up over the better of the plain variants,
- the efficiency against the model.

Exit status 1 when matplotlib or jinja2 is missing or nothing was measured, 2 for bad usage.
"""

from __future__ import annotations

import base64
import json
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

MAP_ORDER = ("bandwidth", "speedup", "over_baseline", "efficiency")
PLAIN = ("standalone", "threads")
FIGURES = (
    ("speedup", "over standalone"),
    ("over_baseline", "over the baseline"),
    ("efficiency", "efficiency"),
    ("efficiency_plain", "efficiency, plain bound"),
)
TITLES = {
    "bandwidth": "bandwidth in MiB/s",
    "speedup": "speed-up over standalone",
    "over_baseline": "speed-up over the baseline",
    "efficiency": "efficiency",
}


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
    """Slower than the baseline by more than the runs of either differ; the same rule as the program's."""
    figures = result["variants"][variant]
    if "over_baseline" not in figures:
        return False
    baseline = result["variants"][result["baseline"]]
    return figures["over_baseline"] < 1 - max(figures["spread"], baseline["spread"], noise)


def maps_of(plan: dict, results: dict[int, dict]) -> list[Map]:
    maps: dict[tuple, Map] = {}
    for result in results.values():
        point = result["point"]
        place = (point["block"], point["compute_ms"])
        for variant, figures in result["variants"].items():
            values = {kind: figures.get(kind) for kind in ("efficiency", "speedup", "over_baseline")}
            if variant in PLAIN or len(result["variants"]) == 1:
                values["bandwidth"] = figures["mib_per_second"]
            for kind, value in values.items():
                if value is None:
                    continue
                key = (point["mode"], point["pattern"], point["series"], MAP_ORDER.index(kind), variant)
                if key not in maps:
                    maps[key] = Map(kind, variant, point["mode"], point["pattern"], point["series"])
                maps[key].values[place] = value
                if kind in ("speedup", "over_baseline") and is_slower(result, variant, plan["noise"]):
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
        "over_baseline": ("RdYlGn", TwoSlopeNorm(vcenter=1.0, vmin=0.5, vmax=2.5), "{:.2f}"),
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


def settings_of(plan: dict) -> list[tuple[str, object]]:
    settings = plan["settings"]
    return [
        ("variants", ", ".join(settings["variants"])),
        ("file", f"{size_text(settings['size'])}, {'direct' if settings['direct'] else 'through the page cache'}"),
        ("engine", settings["engine"] or "auto"),
        ("workers", settings["workers"]),
        ("rounds", settings["rounds"]),
        ("calibration", f"{settings['iterations_per_ms']:.0f} turns of the loop in a millisecond"),
        ("time limit of a run", f"{settings['time_limit']:g} s"),
    ]


def write_page(folder: Path, plan: dict, maps: list[Map], pictures: Path) -> None:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    groups: dict[str, list[Map]] = defaultdict(list)
    for chart in maps:
        groups[f"{chart.mode} {chart.pattern}, {chart.series} series"].append(chart)
    summary = folder / "summary.json"
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["size"] = size_text
    # Inside of the page, so that the page is one file.
    environment.filters["picture"] = lambda chart: base64.b64encode((pictures / chart.file_name).read_bytes()).decode()
    page = environment.get_template("report.html").render(
        settings=settings_of(plan),
        summary=json.loads(summary.read_text()) if summary.is_file() else None,
        figures=FIGURES,
        groups=groups,
    )
    (folder / "index.html").write_text(page)


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
        print(f"report.py: {error}: `pip install matplotlib jinja2`, or use a Python that has it", file=sys.stderr)
        return 1
    except BadFolder as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 1
    print(f"{len(maps)} maps in {pictures}, all of them in {folder / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
