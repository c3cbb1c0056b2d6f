"""A program that computes and writes a checkpoint after each step, to a disk of so many MB/s: as it is, and by way of a tier.

as_it_is: it writes and syncs each file before it goes on. page_cache: it does not sync; what it wrote is lost with the machine. staged: the file is staged, synced on
the tier, and closed by a task while the program goes on. exposed: it waits for that close. on_tier: as it is, but to a disk that is the tier: no way
by it can take less.

Metrics: "waited", seconds for each file in which the program does not compute; "total", seconds until all is on the disk; "compute", seconds of computing for each step.
Each repeat has all ways in turn.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import dovetail as dt
import numpy

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "devices")]

from command import exit_status_of, parser_of  # noqa: E402 (beside this file)
from harness.script import report, report_wrong  # noqa: E402 (beside this folder)
from slow_disk import SlowDisk  # noqa: E402 (beside this folder)

PIECES = 4  # tasks that write one file


@dt.task
def write(file: dt.OpenFile, data: memoryview, offset: int) -> None:
    file.pwrite(data, offset)


@dt.task
def close(file: dt.OpenFile) -> None:
    file.close()


class Way:
    """How a file is written. `finish` waits for what is still under way."""

    def __init__(self, tier: Path) -> None:
        self._tier = tier
        self._closing: list[object] = []

    def as_it_is(self, path: Path, data: memoryview) -> None:
        with path.open("wb") as file:
            file.write(data)
            os.fsync(file.fileno())

    def on_tier(self, path: Path, data: memoryview) -> None:
        self.as_it_is(self._tier / path.name, data)

    def page_cache(self, path: Path, data: memoryview) -> None:
        with path.open("wb") as file:
            file.write(data)

    def staged(self, path: Path, data: memoryview) -> None:
        self._closing.append(self._closed(path, data))

    def exposed(self, path: Path, data: memoryview) -> None:
        dt.wait(self._closed(path, data))

    def _closed(self, path: Path, data: memoryview) -> object:
        file = dt.open(path, "w", staged=True, tier=self._tier)
        part = len(data) // PIECES
        dt.wait([write(file, data[at : at + part], at) for at in range(0, len(data), part)])
        file.fsync()
        return close(file)

    def finish(self, folder: Path) -> None:
        dt.wait(self._closing)
        self._closing.clear()
        for path in folder.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())


WAYS = ("as_it_is", "page_cache", "staged", "exposed", "on_tier")


def compute(seconds: float, matrix: numpy.ndarray) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        numpy.dot(matrix, matrix)


def run(
    way: Callable[[Path, memoryview], None], finish: Callable[[Path], None], folder: Path, arguments
) -> tuple[float, float]:
    """Seconds that the program waited for each file, and in all."""
    matrix = numpy.ones((64, 64))
    waited = 0.0
    begin = time.perf_counter()
    for step in range(arguments.steps):
        compute(arguments.compute, matrix)
        data = memoryview(bytes([step + 1]) * (arguments.megabytes * 1_000_000))
        before = time.perf_counter()
        way(folder / f"step{step}", data)
        waited += time.perf_counter() - before
    finish(folder)
    return waited / arguments.steps, time.perf_counter() - begin


def wrong(folder: Path, arguments: argparse.Namespace) -> str:
    for step in range(arguments.steps):
        if (folder / f"step{step}").read_bytes() != bytes([step + 1]) * (arguments.megabytes * 1_000_000):
            return f"step {step} has other bytes"
    return ""


def measure(arguments: argparse.Namespace) -> int:
    metrics: dict[str, list[float]] = {}
    size = arguments.megabytes * arguments.steps * 12 // 10 + 64
    with (
        SlowDisk(0, arguments.bandwidth, size, arguments.folder) as disk,
        tempfile.TemporaryDirectory(prefix="dovetail-tier-", dir=arguments.tier) as tier,
    ):
        way = Way(Path(tier))
        for number in range(arguments.repeat):
            for name in [*WAYS[number % len(WAYS) :], *WAYS[: number % len(WAYS)]]:
                folder = Path(tier) if name == "on_tier" else disk.path / name
                folder.mkdir(exist_ok=True)
                os.sync()
                waited, total = run(getattr(way, name), way.finish, folder, arguments)
                if reason := wrong(folder, arguments):
                    return report_wrong(f"{name}: {reason}", arguments.json)
                for path in folder.iterdir():
                    path.unlink()
                metrics.setdefault(f"{name}_waited", []).append(waited)
                metrics.setdefault(f"{name}_total", []).append(total)
            metrics.setdefault("share_of_tier", []).append(metrics["on_tier_waited"][-1] / metrics["staged_waited"][-1])
            for name in WAYS[1:4]:
                metrics.setdefault(f"{name}_times", []).append(
                    metrics["as_it_is_waited"][-1] / metrics[f"{name}_waited"][-1]
                )
    return report(metrics, arguments.json)


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=100, help="of each file")
    parser.add_argument("--compute", type=float, default=1.5, help="seconds before each file")
    arguments = parser.parse_args()
    if min(arguments.steps, arguments.megabytes, arguments.repeat) < 1:
        parser.error("steps, megabytes and repeats are at least 1")
    return exit_status_of(measure, arguments)


if __name__ == "__main__":
    sys.exit(main())
