"""Tasks that are MPI programs in Python: the arguments go to the ranks by a folder, and what each has returned comes back by it."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle

from .command import CommandFailed


@dataclass
class Layout:
    """Blocks of a list, which are dealt to the ranks by turns. `count` -1: one for each rank."""

    count: int
    length: int
    stride: int

    def part(self, items: list[Any], rank: int, size: int) -> Any:
        """The items of the rank's blocks; a single one is not in a list."""
        count = size if self.count == -1 else self.count
        starts = [block * self.stride for block in range(rank, count, size)]
        part = [items[place] for start in starts for place in range(start, start + self.length)]
        return part[0] if len(part) == 1 else part


def perform(
    folder: Path,
    function: Callable[..., Any],
    arguments: dict[str, Any],
    layouts: dict[str, Layout],
    count: int,
    start: Callable[..., None],
) -> list[Any]:
    """Has so many ranks call the function, and returns what each returned. `start` is given their command and variables of the environment.

    Raises what the lowest rank that failed has raised, and RuntimeError that names ranks which have left nothing.
    """
    (folder / "call").write_bytes(cloudpickle.dumps((function, arguments, layouts)))
    failed = None
    try:
        start(
            [sys.executable, "-m", "dovetail.pycompss.rank", str(folder)],
            PYTHONPATH=os.pathsep.join(path or "." for path in sys.path),
        )
    except CommandFailed as error:
        failed = error
    results = {}
    for path in sorted(folder.glob("rank*"), key=lambda path: int(path.name[4:])):
        succeeded, value = pickle.loads(path.read_bytes())
        if not succeeded:
            raise value from failed
        results[int(path.name[4:])] = value
    if failed is not None:
        raise failed
    missing = [str(rank) for rank in range(count) if rank not in results]
    if missing:
        raise RuntimeError(f"of {count} ranks, these ended without a result: {', '.join(missing)}")
    return [results[rank] for rank in range(count)]
