"""The applications that `make demo-mpi` runs: one entry each.

An application is one program for every MPI library, with an option `--variant`. It prints one object of JSON, or writes it to the file that its
arguments name `{run}/report.json`. That has `checksum`, which is the same for all variants, and either `seconds` or a list, `metrics.seconds`.
With `correct` false it says in `wrong` what is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "heat"))

import prepare_field  # noqa: E402

# What they are called in tables and pictures, and what they are. The others are compared with the first.
VARIANTS = {
    "messages-only": "MPI alone: one thread for each rank",
    "multiple": "tasks that call MPI each by itself (MPI_THREAD_MULTIPLE), and a function that polls: the paper's baseline",
    "two-sided": "tasks with the messages of <dovetail/mpi.hpp>",
    "one-sided": "tasks with the writes and notifications of <dovetail/rma.hpp>",
}


def nothing(_: Path) -> None:
    """For an application that needs no input."""


def heat_field(folder: Path) -> None:
    """The field that heat begins with."""
    prepare_field.prepare(folder / "heat-field")


@dataclass(frozen=True)
class Application:
    """`program` is below bin; `{library}` in it becomes mpich or openmpi. `large` and `small` are its arguments: `{data}` becomes the folder that
    `prepare` has filled, `{run}` an empty one of this run. `seconds` is about what a run takes, for the progress bar."""

    name: str
    program: str
    title: str
    large: tuple[str, ...]
    small: tuple[str, ...]
    variants: tuple[str, ...] = tuple(VARIANTS)
    prepare: Callable[[Path], None] = nothing
    seconds: float = 1.5


# Each run has a folder for its checkpoints, of which it writes the last one alone.
HEAT = ("--workers", "1", "--field", "{data}/heat-field", "--directory", "{run}", "--json", "{run}/report.json")
APPLICATIONS = (
    Application(
        "streaming",
        "ranks/streaming_{library}",
        "Streaming: blocks of 4 KiB through a chain of ranks",
        ("--chunks", "200", "--json"),
        ("--chunks", "4", "--blocks", "16", "--json"),
    ),
    Application(
        "heat",
        "heat_ranks_{library}",
        "Gauss-Seidel heat: blocks of 32 x 32 cells",
        (*HEAT, "--size", "256x2048", "--block", "32", "--steps", "300"),
        (*HEAT, "--size", "64x64", "--block", "16", "--steps", "4"),
        prepare=heat_field,
    ),
    Application(
        "refinement",
        "ranks/refinement_{library}",
        "Refinement: blocks of 4 x 4 x 4 cells, which follow a sphere",
        ("--edge", "4", "--refinements", "3", "--stages", "20", "--json"),
        ("--edge", "4", "--finest", "3", "--refinements", "2", "--stages", "3", "--json"),
    ),
)
