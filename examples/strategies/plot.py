"""Total time of each run as a bar, as in figures 10, 14, 21 and 22 of the paper on I/O-aware PyCOMPSs (docs/papers.md)."""

from __future__ import annotations

import re
from pathlib import Path

from strategy import color


def file_name(strategy: str) -> str:
    return re.sub(r"[^\w.]+", "-", strategy).strip("-")


def draw_totals(document: dict, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    runs = document["runs"]
    figure, axes = plt.subplots(figsize=(max(6.0, 1.6 + 0.85 * len(runs)), 4.2), layout="constrained")
    totals = [run["total_s"] for run in runs]
    places = range(len(runs))
    spread = [
        [run["total_s"] - min(run["all_s"]) for run in runs],
        [max(run["all_s"]) - run["total_s"] for run in runs],
    ]
    axes.bar(places, totals, color=[color(run["strategy"]) for run in runs], width=0.72)
    if any(len(run["all_s"]) > 1 for run in runs):
        axes.errorbar(places, totals, yerr=spread, fmt="none", ecolor="#1f2933", capsize=3, linewidth=1)
    base = next((run["total_s"] for run in runs if run["strategy"] == "baseline"), None)
    for place, total in zip(places, totals, strict=True):
        share = f"\n{total / base:.0%}" if base else ""
        axes.text(place, total, f"{total:.2f}{share}", ha="center", va="bottom", fontsize=8)
    if base:
        axes.axhline(base, color="#d64545", linewidth=0.8, linestyle="--")
    labels = [run["strategy"].replace("static:", "static\n").replace("auto(", "auto\n(") for run in runs]
    axes.set_xticks(list(places), labels, fontsize=8)
    axes.set_ylim(0, max(totals) * 1.16)
    axes.set_ylabel("total time, s")
    axes.set_title(f"{document['application']}, {document['device']}, {document['cores']} cores", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
    plt.close(figure)
