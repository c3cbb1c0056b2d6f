"""The times of the variants as bars, one field for each application."""

from __future__ import annotations

from pathlib import Path

COLORS = {"messages-only": "#7b8794", "multiple": "#d64545", "two-sided": "#e0a030", "one-sided": "#2f80c0"}


def draw(document: dict, titles: dict[str, str], path: Path) -> None:
    """`titles`: of each application, by its name. The bars are medians; lines go from the fastest to the slowest run."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, fields = plt.subplots(1, len(titles), figsize=(5.2 * len(titles), 4.2), layout="constrained", squeeze=False)
    for axes, (name, title) in zip(fields[0], titles.items(), strict=True):
        runs = [run for run in document["runs"] if run["application"] == name]
        medians = [run["median_s"] for run in runs]
        spread = [
            [run["median_s"] - min(run["all_s"]) for run in runs],
            [max(run["all_s"]) - run["median_s"] for run in runs],
        ]
        places = range(len(runs))
        axes.bar(places, medians, color=[COLORS.get(run["variant"], "#52606d") for run in runs], width=0.72)
        axes.errorbar(places, medians, yerr=spread, fmt="none", ecolor="#1f2933", capsize=3, linewidth=1)
        for place, median in zip(places, medians, strict=True):
            axes.text(place + 0.05, median, f"{median:.3f}", ha="left", va="bottom", fontsize=8)
        axes.set_xticks(list(places), [run["variant"] for run in runs], fontsize=9)
        axes.set_ylim(0, max(max(run["all_s"]) for run in runs) * 1.1)
        axes.set_ylabel("time, s")
        axes.set_title(title, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(
        f"{document['ranks']} ranks on {document['cores']} cores, {document['library']}; medians in turn", fontsize=9
    )
    figure.savefig(path, dpi=130)
    plt.close(figure)
