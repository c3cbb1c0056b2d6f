"""Streaming by the size of its blocks, as the upper part of figure 13 of the paper on TAGASPI."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import matplotlib
import runs
from extrapolation import Window

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

# Section VI-C.
NODES, CHUNKS, ELEMENTS = 64, 250, 768 * 1024
BLOCKS = tuple(
    2**power for power in range(8, 15)
)  # elements of a block; the last one gives each rank without tasks a block
BYTES = 8  # of an element
# How often a stage applies its function. Once, as the example does, the link of a node bounds all variants. The paper does not say how long its
# functions take.
WORK = (1, 40)
# Of the recording: so large that what a message costs is small beside it.
ELEMENTS_OF_COST = 8192
WINDOW = Window(6, 8, 12, 4)  # of nodes and chunks

Simulate = Callable[..., float]


def recorded_cost(programs: runs.Programs) -> float:
    """Seconds of an element, of the function applied once."""
    with tempfile.TemporaryDirectory(prefix="dovetail-scaling-") as name:
        chain: list[object] = ["--chunks", 50, "--blocks", 8, "--block-bytes", BYTES * ELEMENTS_OF_COST]
        trace = runs.record_streaming(programs, chain, 4, "two-sided", Path(name))
        return runs.cost_of(trace, "block") / ELEMENTS_OF_COST


def seconds(simulate: Simulate, variant: str, ranks_per_node: int, block: int, cost: float) -> float:
    """Of all chunks through all nodes. `cost`: seconds of an element."""

    def simulated(nodes: int, chunks: int) -> float:
        which: list[object] = ["--application", "streaming", "--variant", variant]
        chain: list[object] = ["--ranks", nodes * ranks_per_node, "--stages", nodes, "--chunks", chunks]
        blocks: list[object] = ["--blocks", ELEMENTS // block, "--block-bytes", block * BYTES]
        return simulate(*which, *chain, *blocks, "--cost", f"block={cost * block!r}")

    return WINDOW.seconds(simulated, NODES, CHUNKS)


def rows(simulate: Simulate, ranks_per_node: dict[str, int], cost: float) -> list[dict[str, Any]]:
    """Throughput of each variant, of each size of blocks, light and heavy functions."""
    points = [(variant, work, block) for work in WORK for variant in runs.VARIANTS for block in BLOCKS]
    with ThreadPoolExecutor(max_workers=2) as pool:
        times = pool.map(
            lambda point: seconds(simulate, point[0], ranks_per_node[point[0]], point[2], cost * point[1]), points
        )
    return [
        {
            "variant": variant,
            "work": work,
            "block": block,
            "seconds": time,
            "gelements_s": ELEMENTS * CHUNKS / time / 1e9,
        }
        for (variant, work, block), time in zip(points, times, strict=True)
    ]


def draw(points: list[dict[str, Any]], colors: dict[str, str], target: Path) -> None:
    """The light function above, the heavy one below."""
    figure, places = plt.subplots(len(WORK), 1, figsize=(7, 7), sharex=True)
    for axes, work in zip(places, WORK, strict=True):
        for variant, color in colors.items():
            mine = [row for row in points if row["variant"] == variant and row["work"] == work]
            axes.plot(
                [row["block"] for row in mine],
                [row["gelements_s"] for row in mine],
                marker="o",
                color=color,
                label=variant,
            )
        times = "once" if work == 1 else f"{work} times"
        axes.set(ylabel="10⁹ elements a second", title=f"Streaming, {NODES} nodes, function applied {times} (model)")
        axes.set_ylim(0, 1.2 * max(row["gelements_s"] for row in points if row["work"] == work))
        axes.grid(alpha=0.3)
    places[0].legend(loc="lower left")
    places[-1].set_xscale("log", base=2)
    places[-1].set_xlabel("elements of a block")
    figure.savefig(target, dpi=120)
    plt.close(figure)
