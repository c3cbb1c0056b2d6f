#!/usr/bin/env python3
"""Simulated against real runs of the examples heat and refinement on this machine: each cell is one variant with so many ranks.

What bodies cost is recorded first, with 4 ranks. Of refinement, the stages are timed, on a mesh that stays as it is. The real runs go in turn. Exit status: 0 also where a cell is missed, which is said; 1 if a run
failed, 2 for bad input.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import recording
import runs

LIMIT = 0.15  # a cell is right if the simulated time is at most this share away from the measured one
RANKS = (1, 2, 4)


# Blocks of two levels, of 32 KiB.
REFINEMENT = runs.Refinement(edge=8, variables=8, coarsest=2, finest=3)
Seconds = Callable[[str, int], float]  # of a variant with so many ranks


def cells_of(repeat: int, measure: Seconds, simulate: Seconds, facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Measured and simulated seconds of all variants and numbers of ranks. `facts` are part of each cell."""
    pairs = [(variant, ranks) for ranks in RANKS for variant in runs.VARIANTS]
    measured: dict[tuple[str, int], list[float]] = {pair: [] for pair in pairs}
    for _ in range(repeat):
        for variant, ranks in pairs:
            measured[variant, ranks].append(measure(variant, ranks))
    cells = []
    for variant, ranks in pairs:
        simulated = simulate(variant, ranks)
        median = statistics.median(measured[variant, ranks])
        cells.append(
            {
                **facts,
                "variant": variant,
                "ranks": ranks,
                "median_s": median,
                "fastest_s": min(measured[variant, ranks]),
                "slowest_s": max(measured[variant, ranks]),
                "simulated_s": simulated,
                "deviation": simulated / median - 1,
                "is_right": abs(simulated / median - 1) <= LIMIT,
            }
        )
    return cells


def heat_cells(
    programs: runs.Programs, heat: runs.Heat, repeat: int, machine: Path, folder: Path
) -> list[dict[str, Any]]:
    """Of one size of blocks."""
    short = runs.Heat(heat.rows, heat.columns, heat.block, min(heat.steps, 20))
    # What is recorded takes longer: the median of bodies that neither send nor receive is what counts.
    cost = runs.cost_of(runs.record_heat(programs, short, max(RANKS), "two-sided", folder), "update")
    return cells_of(
        repeat,
        lambda variant, ranks: runs.time_heat(programs, heat, ranks, variant, folder),
        lambda variant, ranks: float(runs.simulate(programs, heat.simulated(ranks, variant, cost), machine)["seconds"]),
        {"application": "heat", "block": heat.block, "update_s": cost},
    )


def refinement_cells(
    programs: runs.Programs, stages: int, repeat: int, machine: Path, folder: Path
) -> list[dict[str, Any]]:
    """Of one mesh."""
    problem = replace(REFINEMENT, stages=stages)
    costs = runs.refinement_costs(programs, replace(problem, stages=min(stages, 20)), max(RANKS), folder)
    return cells_of(
        repeat,
        lambda variant, ranks: runs.time_stages(programs, problem, ranks, variant),
        lambda variant, ranks: float(
            runs.simulate(programs, problem.simulated(ranks, variant, costs), machine)["seconds"]
        ),
        {"application": "refinement", "block": problem.edge, "update_s": costs["update"]},
    )


def show(cells: list[dict[str, Any]]) -> None:
    """As a table."""
    print(
        f"{'application':11} {'block':>5} {'variant':13} {'ranks':>5} {'median':>8} {'fastest':>8} {'slowest':>8} {'simulated':>9} {'off by':>7}"
    )
    for cell in cells:
        numbers = " ".join(f"{cell[name]:8.3f}" for name in ("median_s", "fastest_s", "slowest_s"))
        verdict = "" if cell["is_right"] else "  missed"
        print(
            f"{cell['application']:11} {cell['block']:5} {cell['variant']:13} {cell['ranks']:5} {numbers} {cell['simulated_s']:9.3f} "
            f"{cell['deviation']:+7.0%}{verdict}"
        )


def checked(arguments: argparse.Namespace) -> tuple[int, int, list[int]]:
    """Rows, columns and blocks. Raises BadInput for what would fail in the runs, or after them."""
    try:
        rows, columns = (int(number) for number in arguments.size.split("x"))
        blocks = [int(block) for block in arguments.blocks.split(",")]
    except ValueError as error:
        raise recording.BadInput(
            "--size must be ROWSxCOLUMNS, and --blocks must be numbers separated by commas"
        ) from error
    for name, numbers in {
        "--size": [rows, columns],
        "--blocks": blocks,
        "--steps": [arguments.steps],
        "--repeat": [arguments.repeat],
    }.items():
        if min(numbers) < 1:
            raise recording.BadInput(f"{name} must be above 0")
    for block in blocks:
        if math.ceil(rows / block) < max(RANKS):
            raise recording.BadInput(f"blocks of {block} cells give {max(RANKS)} ranks less than a row of blocks each")
    runs.check_readable(arguments.machine)
    if arguments.json:
        recording.check_writable(arguments.json)
    return rows, columns, blocks


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=Path, default=Path("build/release"))
    parser.add_argument("--machine", type=Path, default=runs.HERE / "here.json")
    parser.add_argument("--library", default="mpich", choices=("mpich", "openmpi"))
    parser.add_argument("--blocks", default="32,64", help="heat: sides of blocks in cells, separated by commas")
    parser.add_argument("--size", default="256x2048", help="heat: rows and columns of cells")
    parser.add_argument("--steps", type=int, default=200, help="heat: sweeps; refinement: stages")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path, help="a file for all numbers")
    arguments = parser.parse_args()
    before = os.getloadavg()[0]
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    try:
        rows, columns, blocks = checked(arguments)
        programs = runs.Programs(arguments.build_dir, arguments.library)
        runs.check_machine(programs, arguments.machine)
        cells: list[dict[str, Any]] = []
        for block in blocks:
            heat = runs.Heat(rows, columns, block, arguments.steps)
            with tempfile.TemporaryDirectory(prefix="dovetail-scaling-", dir=in_memory) as name:
                cells += heat_cells(programs, heat, arguments.repeat, arguments.machine, Path(name))
        with tempfile.TemporaryDirectory(prefix="dovetail-scaling-", dir=in_memory) as name:
            cells += refinement_cells(programs, arguments.steps, arguments.repeat, arguments.machine, Path(name))
    except (runs.Missing, recording.BadInput) as error:
        print(f"validate: {error}", file=sys.stderr)
        return recording.BAD_INPUT
    except runs.RunFailed as error:
        print(f"validate: {error}", file=sys.stderr)
        return 1
    show(cells)
    right = sum(cell["is_right"] for cell in cells)
    print(f"{right} of {len(cells)} cells within {LIMIT:.0%}; load {before:.1f} before, {os.getloadavg()[0]:.1f} after")
    if arguments.json:
        arguments.json.write_text(json.dumps({"load": [before, os.getloadavg()[0]], "cells": cells}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
