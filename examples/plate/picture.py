"""What the ranks do, and what has arrived on the slow disk, on one time axis for each run."""

from __future__ import annotations

from pathlib import Path

from runs import Run

# Distinguishable without colours, too: by brightness.
COLORS = {"compute": "#2f80c0", "checkpoint": "#d64545", "begin": "#c9a227", "end": "#c9a227"}
NAMES = {"compute": "compute", "checkpoint": "wait for a checkpoint", "end": "start, wait for the last drain"}


def draw(runs: dict[str, Run], checkpoint_bytes: int, path: Path) -> None:
    """A row for each run: a band of what all ranks do, and a line of the bytes that the disk has written."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    longest = max(run.seconds for run in runs.values())
    figure, rows = plt.subplots(
        len(runs), 1, figsize=(11, 1.9 * len(runs)), layout="constrained", sharex=True, squeeze=False
    )
    for axes, (name, run) in zip(rows[:, 0], runs.items(), strict=True):
        for phase in run.phases:
            place = [(phase.begin - run.begin, phase.end - phase.begin)]
            axes.broken_barh(place, (0, 1), facecolors=COLORS[phase.what], linewidth=0)
        arrived = axes.twinx()
        if run.written:
            arrived.plot(
                [moment - run.begin for moment, _ in run.written],
                [bytes_ / 1e6 for _, bytes_ in run.written],
                color="#1f2933",
                linewidth=1.6,
            )
        arrived.set_ylim(0, None)
        arrived.set_ylabel("MB on disk", fontsize=8)
        axes.set_ylim(0, 1.9)
        axes.set_yticks([])
        axes.set_xlim(0, longest * 1.02)
        done = sum(phase.what == "checkpoint" for phase in run.phases)
        axes.set_title(f"{name}: {run.seconds:.1f} s, {done} checkpoints", fontsize=10, loc="left")
        for side in ("top", "left"):
            axes.spines[side].set_visible(False)
            arrived.spines[side].set_visible(False)
    rows[-1, 0].set_xlabel("time, s")
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLORS[what]) for what in NAMES]
    handles.append(plt.Line2D([], [], color="#1f2933", linewidth=1.6))
    labels = [*NAMES.values(), "written by the slow disk"]
    figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=9, frameon=False)
    figure.suptitle(f"checkpoints of {checkpoint_bytes / 1e6:.0f} MB", fontsize=9, x=0.01, ha="left")
    figure.savefig(path, dpi=130)
    plt.close(figure)
