"""A program that writes to a disk of so many MB/s while a drain writes there, too: how long its writes take, and what the drain loses.

alone: pieces of 1 MiB, each written and synced, with nothing else on the disk. beside: while a drain of another file goes on. capped: the same, and the drain has a limit
(`DOVETAIL_DRAIN_BANDWIDTH`). idle: the drain, and no program beside it. best: the highest rate that 1, 2, 4 or 8 threads reach which write files and sync them.

Metrics: "<way>_median" and "<way>_longest", seconds for a piece; "<way>_drain", MB/s; "best", MB/s; "idle_of_best", "beside_of_idle", "capped_of_idle".
Each repeat has all ways in turn.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "devices")]

from command import exit_status_of, parser_of  # noqa: E402 (beside this file)
from harness.script import report  # noqa: E402 (beside this folder)
from slow_disk import SlowDisk  # noqa: E402 (beside this folder)

MEBIBYTE = 1 << 20
PIECES_ALONE = 40
# In a process of its own, as the limit is one of its environment. It says when all is staged, and drains when it is told.
DRAIN = """
import sys, time
import dovetail as dt
path, tier, megabytes = sys.argv[1], sys.argv[2], int(sys.argv[3])
data = bytes(range(250)) * (1_000_000 // 250)
file = dt.open(path, "w", staged=True, tier=tier)
for number in range(megabytes):
    file.pwrite(data, number * len(data))
print("staged", flush=True)
sys.stdin.readline()
begin = time.perf_counter()
file.close()
print(time.perf_counter() - begin, flush=True)
"""


class Drain:
    """Begins when it is made."""

    def __init__(self, path: Path, tier: Path, megabytes: int, limit: float) -> None:
        environment = dict(os.environ)
        if limit:
            environment["DOVETAIL_DRAIN_BANDWIDTH"] = str(round(limit))
        self._megabytes = megabytes
        self._process = subprocess.Popen(
            [sys.executable, "-c", DRAIN, str(path), str(tier), str(megabytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert self._process.stdout is not None and self._process.stdin is not None
        assert self._process.stdout.readline() == "staged\n", "the file could not be staged"
        os.sync()
        self._process.stdin.write("drain\n")
        self._process.stdin.flush()

    def goes_on(self) -> bool:
        return self._process.poll() is None

    def rate(self) -> float:
        """Waits. In MB/s."""
        text, _ = self._process.communicate()
        assert self._process.returncode == 0, "the drain has failed"
        return self._megabytes / float(text)


def write_piece(descriptor: int, data: bytes, number: int) -> float:
    begin = time.perf_counter()
    os.pwrite(descriptor, data, number * len(data))
    os.fdatasync(descriptor)
    return time.perf_counter() - begin


def pieces(path: Path, drain: Drain | None) -> list[float]:
    """Seconds for each, of a fixed number or for as long as the drain goes on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    data = os.urandom(MEBIBYTE)
    taken: list[float] = []
    while drain.goes_on() if drain else len(taken) < PIECES_ALONE:
        taken.append(write_piece(descriptor, data, len(taken) % PIECES_ALONE))
    os.close(descriptor)
    return taken


def rate_of_writers(folder: Path, writers: int, megabytes: int) -> float:
    """Threads that write a file each, and sync it."""
    data = bytes(MEBIBYTE)

    def write(path: Path) -> None:
        with path.open("wb") as file:
            for _ in range(megabytes // writers):
                file.write(data)
            os.fsync(file.fileno())

    threads = [threading.Thread(target=write, args=(folder / f"writer{number}",)) for number in range(writers)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return megabytes // writers * writers * MEBIBYTE / 1e6 / (time.perf_counter() - begin)


def measure(arguments: argparse.Namespace) -> int:
    metrics: dict[str, list[float]] = {}

    def put(name: str, value: float) -> None:
        metrics.setdefault(name, []).append(value)

    with (
        SlowDisk(0, arguments.bandwidth, arguments.megabytes * 3 + 200, arguments.folder) as disk,
        tempfile.TemporaryDirectory(prefix="dovetail-tier-", dir=arguments.tier) as tier,
    ):
        staged = disk.path / "staged"

        def empty() -> None:
            for path in disk.path.iterdir():
                if path.is_file():
                    path.unlink()
            os.sync()

        def beside(way: str, limit: float) -> None:
            drain = Drain(staged, Path(tier), arguments.megabytes, limit)
            taken = pieces(disk.path / "program", drain)
            put(f"{way}_median", statistics.median(taken))
            put(f"{way}_longest", max(taken))
            put(f"{way}_drain", drain.rate())

        def alone() -> None:
            taken = pieces(disk.path / "program", None)
            put("alone_median", statistics.median(taken))
            put("alone_longest", max(taken))

        def best() -> None:
            rates = []
            for writers in (1, 2, 4, 8):
                rates.append(rate_of_writers(disk.path, writers, arguments.megabytes))
                empty()
            put("best", max(rates))

        steps = [
            alone,
            lambda: beside("beside", 0),
            lambda: beside("capped", arguments.limit),
            lambda: put("idle_drain", Drain(staged, Path(tier), arguments.megabytes, 0).rate()),
            best,
        ]
        for number in range(arguments.repeat):
            for step in steps[number % len(steps) :] + steps[: number % len(steps)]:
                empty()
                step()
            put("idle_of_best", metrics["idle_drain"][-1] / metrics["best"][-1])
            for way in ("beside", "capped"):
                put(f"{way}_of_idle", metrics[f"{way}_drain"][-1] / metrics["idle_drain"][-1])
    return report(metrics, arguments.json)


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--megabytes", type=int, default=300, help="that are drained")
    parser.add_argument("--limit", type=float, default=30, help="of the drain that is capped, MB/s")
    arguments = parser.parse_args()
    if min(arguments.megabytes, arguments.repeat, arguments.limit) < 1:
        parser.error("megabytes, repeats and the limit are at least 1")
    return exit_status_of(measure, arguments)


if __name__ == "__main__":
    sys.exit(main())
