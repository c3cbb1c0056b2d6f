#!/usr/bin/env python3
"""The model, drawn as figures 9, 11 and 13 of the paper on TAGASPI: Gauss-Seidel and refinement on 1 to 256 nodes, and Streaming by the size of its blocks.

Writes pictures and all numbers as JSON. Exit status 2 for bad input.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib
import recording
import refinement_figure
import runs
import streaming_figure
from extrapolation import Window

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

NODES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
COLORS = {"messages-only": "#7b8794", "two-sided": "#3a6ea5", "one-sided": "#2a9d8f"}
CELLS_OF_COST = 64 * 64  # of the block whose cost is recorded
# Of a node, as the paper has them.
RANKS = {"messages-only": 48, "two-sided": 2, "one-sided": 2}
WORKERS = 24


@dataclass(frozen=True)
class Problem:
    """A field of cells and what a run computes of it."""

    rows: int
    columns: int
    steps: int = 1000


# Section VI-A: the large one from 16 nodes on.
LARGE, SMALL = Problem(256 * 1024, 128 * 1024), Problem(64 * 1024, 32 * 1024)


class Model:
    """Simulations on one machine, each made once."""

    def __init__(self, programs: runs.Programs, machine: Path, cost: float):
        self._programs = programs
        self._machine = machine
        self._cost = cost
        self.simulate = lru_cache(maxsize=None)(self._simulate)

    def _simulate(self, *words: object) -> float:
        return float(runs.simulate(self._programs, list(words), self._machine)["seconds"])

    def heat(self, variant: str, nodes: int, problem: Problem) -> float:
        """Seconds. Blocks as the paper found them best: 1024 columns without tasks, else 512 x 512."""
        ranks = nodes * RANKS[variant]
        rows = problem.rows / ranks
        has_tasks = variant != "messages-only"
        block_rows, block_columns = (512, 512) if has_tasks else (math.ceil(rows), 1024)
        rows_of_blocks = max(1, round(rows / block_rows))
        # All workers of a rank have a block when enough steps are under way; until then the time is no straight line.
        full = math.ceil(2 * WORKERS / rows_of_blocks) + 4 if has_tasks else 4
        cost = self._cost * block_rows * block_columns / CELLS_OF_COST

        def simulated(some: int, few: int) -> float:
            shape: list[object] = [
                "--rows",
                rows_of_blocks * block_rows * some,
                "--columns",
                problem.columns,
                "--steps",
                few,
            ]
            blocks: list[object] = ["--block-rows", block_rows, "--block-columns", block_columns]
            which: list[object] = ["--application", "heat", "--variant", variant, "--ranks", some]
            # Rows that fill no block are in the cost, as if the blocks were lower.
            share = rows / (rows_of_blocks * block_rows)
            return self.simulate(*which, *shape, *blocks, "--cost", f"update={cost * share!r}")

        window = Window(8, 6 * full, 32, full) if has_tasks else Window(96, 2 * full, 192, full)
        return window.seconds(simulated, ranks, problem.steps)


def recorded_cost(programs: runs.Programs) -> float:
    """Seconds of an update of 64 x 64 cells."""
    with tempfile.TemporaryDirectory(prefix="dovetail-scaling-") as name:
        return runs.cost_of(
            runs.record_heat(programs, runs.Heat(256, 2048, 64, 20), 4, "two-sided", Path(name)), "update"
        )


def draw_heat(rows: list[dict[str, Any]], title: str, target: Path) -> None:
    """Speedup above, efficiency below."""
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(7, 7), sharex=True)
    for variant, color in COLORS.items():
        mine = [row for row in rows if row["variant"] == variant]
        nodes = [row["nodes"] for row in mine]
        upper.plot(nodes, [row["speedup"] for row in mine], marker="o", color=color, label=variant)
        lower.plot(nodes, [row["efficiency"] for row in mine], marker="o", color=color)
    upper.set(xscale="log", yscale="log", ylabel="speedup, of messages-only in one node", title=title)
    upper.set_xscale("log", base=2)
    upper.set_yscale("log", base=2)
    upper.legend()
    lower.set(xlabel="nodes", ylabel="efficiency, of itself in one node", ylim=(0, 1.1))
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
    figure.savefig(target, dpi=120)
    plt.close(figure)


def heat_rows(model: Model, nodes: list[int], is_weak: bool) -> list[dict[str, Any]]:
    """Weak: each node has what it has of the large problem in 64 nodes."""
    points = [(variant, count) for variant in runs.VARIANTS for count in nodes]

    def problem(count: int) -> Problem:
        if is_weak:
            return Problem(LARGE.rows // 64 * count, LARGE.columns, LARGE.steps)
        return LARGE if count >= 16 else SMALL

    with ThreadPoolExecutor(max_workers=2) as pool:
        seconds = list(pool.map(lambda point: model.heat(point[0], point[1], problem(point[1])), points))
    rows = []
    for (variant, count), time in zip(points, seconds, strict=True):
        work = problem(count)
        rows.append(
            {
                "variant": variant,
                "nodes": count,
                "seconds": time,
                "gupdates_s": work.rows * work.columns * work.steps / time / 1e9,
            }
        )
    first = {row["variant"]: row["gupdates_s"] / row["nodes"] for row in reversed(rows)}
    for row in rows:
        row["speedup"] = row["gupdates_s"] / first["messages-only"]
        row["efficiency"] = row["gupdates_s"] / row["nodes"] / first[row["variant"]]
    return rows


def checked(arguments: argparse.Namespace) -> list[int]:
    """Numbers of nodes. Makes the folder. Raises BadInput for what would fail in the runs, or after them."""
    try:
        nodes = [int(count) for count in arguments.nodes.split(",")]
    except ValueError as error:
        raise recording.BadInput("--nodes must be numbers separated by commas") from error
    if min(nodes) < 1:
        raise recording.BadInput("--nodes must be above 0")
    runs.check_readable(arguments.machine)
    try:
        arguments.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise recording.BadInput(f"cannot make the folder {arguments.output}: {error.strerror}") from error
    recording.check_writable(arguments.output / "scaling.json")
    return nodes


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=Path, default=Path("build/release"))
    parser.add_argument("--machine", type=Path, default=runs.HERE / "paper.json")
    parser.add_argument("--library", default="mpich", choices=("mpich", "openmpi"))
    parser.add_argument("--nodes", default=",".join(map(str, NODES)), help="separated by commas")
    parser.add_argument("--output", type=Path, required=True, help="a folder")
    arguments = parser.parse_args()
    try:
        nodes = checked(arguments)
        programs = runs.Programs(arguments.build_dir, arguments.library)
        runs.check_machine(programs, arguments.machine)
        cost = recorded_cost(programs)
        model = Model(programs, arguments.machine, cost)
        strong, weak = heat_rows(model, nodes, False), heat_rows(model, nodes, True)
        draw_heat(strong, "Gauss-Seidel, strong scaling (model)", arguments.output / "gauss-seidel-strong.png")
        draw_heat(weak, "Gauss-Seidel, weak scaling (model)", arguments.output / "gauss-seidel-weak.png")
        cost_of_element = streaming_figure.recorded_cost(programs)
        streaming = streaming_figure.rows(model.simulate, RANKS, cost_of_element)
        streaming_figure.draw(streaming, COLORS, arguments.output / "streaming.png")
        refined = refinement_figure.recorded_costs(programs)
        refinement = refinement_figure.rows(refinement_figure.Model(programs, arguments.machine, refined), nodes)
        refinement_figure.draw(refinement, COLORS, arguments.output / "refinement.png")
    except (runs.Missing, recording.BadInput, runs.RunFailed, OSError, ValueError) as error:
        print(f"figures: {error}", file=sys.stderr)
        return 1 if isinstance(error, runs.RunFailed) else recording.BAD_INPUT
    rows = {"gauss-seidel-strong": strong, "gauss-seidel-weak": weak, "streaming": streaming, "refinement": refinement}
    costs = {
        "update_s": cost,
        "element_s": cost_of_element,
        "refinement_s": refined.bodies | {"refining": refined.refining},
    }
    (arguments.output / "scaling.json").write_text(json.dumps({**costs, **rows}, indent=1) + "\n")
    for name, points in rows.items():
        print(name)
        for row in points:
            print(
                "  "
                + "  ".join(
                    f"{key} {value:.4g}" if isinstance(value, float) else f"{value}" for key, value in row.items()
                )
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
