"""Refinement on 1 to 256 nodes, as figure 11 of the paper on TAGASPI."""

from __future__ import annotations

import math
import statistics
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib
import recording
import runs
from extrapolation import Window

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

# Section VI-B: ranks of a node, workers of a rank, and the values of a cell. The size of its mesh is not told.
RANKS = {"messages-only": 48, "two-sided": 4, "one-sided": 4}
WORKERS = {"messages-only": 1, "two-sided": 12, "one-sided": 12}
LARGE = runs.Refinement(edge=12, variables=20, coarsest=5, finest=6, radius=30, refinements=5, stages=20)
SMALL = replace(LARGE, coarsest=4, finest=5)  # on fewer nodes, as the paper has it
LARGE_FROM = 16  # nodes
# Stages: each one more takes as long as the one before. All ranks are simulated, since no two are alike.
STAGES = 3


@dataclass(frozen=True)
class Costs:
    """What was measured on this machine, in seconds."""

    bodies: dict[str, float]
    refining: float  # for each block of the whole mesh, whenever it changes: what each rank does with all of it


def recorded_costs(programs: runs.Programs) -> Costs:
    """Of blocks as they are in the figure."""
    with tempfile.TemporaryDirectory(prefix="dovetail-scaling-") as name:
        bodies = runs.refinement_costs(programs, replace(LARGE, coarsest=2), 4, Path(name))
        moving = replace(LARGE, coarsest=2, finest=3, refinements=4, stages=1)
        trace = runs.record_refinement(programs, moving, 4, "two-sided", Path(name))
        # Those that are whole blocks.
        pieces = [message for message in recording.read_recording(trace).messages if message.bytes == LARGE.bytes]
        bodies["piece"] = statistics.median(piece.receiving.seconds for piece in pieces if piece.receiving)
    # Of cells so small and few that they hardly count.
    mesh = replace(SMALL, edge=2, variables=1, stages=1)
    told = runs.run_refinement(programs, mesh, 1, "messages-only")
    changed = told["updates"] / (mesh.refinements + 1) * mesh.refinements
    return Costs(bodies, min(told["metrics"]["refining_seconds"]) / changed)


class Model:
    """Simulations on one machine."""

    def __init__(self, programs: runs.Programs, machine: Path, costs: Costs):
        self._programs = programs
        self._machine = machine
        self._costs = costs

    def row(self, variant: str, nodes: int) -> dict[str, Any]:
        """Of one run: seconds with and without what refinement takes, and updates of values."""
        problem = LARGE if nodes >= LARGE_FROM else SMALL
        # The mesh of the middle of the run stands for all.
        turn = problem.refinements // 2
        blocks = 0

        def part(name: str, stages: int) -> float:
            nonlocal blocks
            words = replace(problem, stages=stages).simulated(nodes * RANKS[variant], variant, self._costs.bodies)
            where: list[object] = ["--ranks-per-node", RANKS[variant], "--workers", WORKERS[variant]]
            which: list[object] = ["--turn", turn, "--part", name]
            found = runs.simulate(self._programs, [*words, *where, *which], self._machine)
            blocks = found["blocks"]
            return float(found["seconds"])

        window = Window(nodes, STAGES, nodes, 1)
        stages = window.seconds(lambda _, few: part("stages", few), nodes, problem.stages)
        moves = part("moves", 1) + (part("agreement", 1) if variant == "one-sided" else 0.0)
        refining = moves + blocks * self._costs.refining
        seconds = stages * (problem.refinements + 1)
        whole = seconds + refining * problem.refinements
        updates = blocks * problem.values * problem.stages * (problem.refinements + 1)
        return {
            "variant": variant,
            "nodes": nodes,
            "blocks": blocks,
            "seconds": whole,
            "seconds_nr": seconds,
            "moves_s": moves,
            "gupdates_s": updates / whole / 1e9,
            "gupdates_s_nr": updates / seconds / 1e9,
        }


def rows(model: Model, nodes: list[int]) -> list[dict[str, Any]]:
    """Throughput, speedup and efficiency; those that end with `_nr` assume that refinement takes no time."""
    points = [(variant, count) for count in nodes for variant in runs.VARIANTS]
    with ThreadPoolExecutor(max_workers=2) as pool:
        made = list(pool.map(lambda point: model.row(*point), points))
    for end in ("", "_nr"):
        first = {row["variant"]: row[f"gupdates_s{end}"] / row["nodes"] for row in reversed(made)}
        for row in made:
            row[f"speedup{end}"] = row[f"gupdates_s{end}"] / first["messages-only"]
            row[f"efficiency{end}"] = row[f"gupdates_s{end}"] / row["nodes"] / first[row["variant"]]
    return made


def draw(points: list[dict[str, Any]], colors: dict[str, str], target: Path) -> None:
    """Speedup above, efficiency below; dashed: refinement takes no time."""
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(7, 7), sharex=True)
    for variant, color in colors.items():
        mine = [row for row in points if row["variant"] == variant]
        nodes = [row["nodes"] for row in mine]
        for end, style in {"": "-", "_nr": "--"}.items():
            name = variant + (", without refinement" if end else "")
            line = {"marker": "o", "color": color, "linestyle": style}
            upper.plot(nodes, [row[f"speedup{end}"] for row in mine], label=name, **line)
            lower.plot(nodes, [row[f"efficiency{end}"] for row in mine], **line)
    upper.set(ylabel="speedup, of messages-only in one node", title="Refinement, strong scaling (model)")
    upper.set_xscale("log", base=2)
    upper.set_yscale("log", base=2)
    upper.legend(fontsize="small")
    highest = max(row["efficiency_nr"] for row in points)
    lower.set(xlabel="nodes", ylabel="efficiency, of itself in one node", ylim=(0, math.ceil(highest * 10 + 1) / 10))
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
    figure.savefig(target, dpi=120)
    plt.close(figure)
