"""Where a tier cannot help: how much longer a program takes with it than without, until its files are durable in their place.

tiny_files: many files of 1 KiB. sync_each: a sync after each 4 KiB. read_back: a file is written, read at once, and closed. full_tier: the tier takes a
third of the file. slow_tier: the tier is the slow disk and the file is not. Files are on a disk of so many MB/s, except in the last.

Metrics: "<case>_plain", "<case>_staged", seconds; "<case>_of_plain", how many times as long it takes. Each repeat has both ways of a case in turn.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dovetail as dt

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "devices")]

from command import exit_status_of, parser_of  # noqa: E402 (beside this file)
from harness.script import report  # noqa: E402 (beside this folder)
from slow_disk import SlowDisk  # noqa: E402 (beside this folder)

PIECE = 8 << 20
Open = Callable[[Path], Any]


class PlainFile:
    """The calls of a staged file, made to the system."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)

    def pwrite(self, data: bytes, offset: int) -> None:
        os.pwrite(self._descriptor, data, offset)

    def pread(self, target: bytearray, offset: int) -> None:
        os.preadv(self._descriptor, [target], offset)

    def fsync(self) -> None:
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.fsync(self._descriptor)
        os.close(self._descriptor)


def tiny_files(opened: Open, folder: Path, size: int) -> None:
    for number in range(size):
        file = opened(folder / f"tiny{number}")
        file.pwrite(b"t" * 1024, 0)
        file.close()


def sync_each(opened: Open, folder: Path, size: int) -> None:
    file = opened(folder / "synced")
    for number in range(size):
        file.pwrite(b"s" * 4096, number * 4096)
        file.fsync()
    file.close()


def large(opened: Open, folder: Path, size: int, reads: bool) -> None:
    data = bytes(range(1, 251)) * (PIECE // 250 + 1)
    data = data[:PIECE]
    file = opened(folder / "large")
    for number in range(size):
        file.pwrite(data, number * PIECE)
    if reads:
        back = bytearray(PIECE)
        for number in range(size):
            file.pread(back, number * PIECE)
            assert back == data, "other bytes were read"
    file.close()


def read_back(opened: Open, folder: Path, size: int) -> None:
    large(opened, folder, size, reads=True)


def written_once(opened: Open, folder: Path, size: int) -> None:
    large(opened, folder, size, reads=False)


def seconds(case: Callable[[Open, Path, int], None], opened: Open, folder: Path, size: int) -> float:
    os.sync()
    begin = time.perf_counter()
    case(opened, folder, size)
    taken = time.perf_counter() - begin
    for path in folder.iterdir():
        if path.is_file():
            path.unlink()
    return taken


@contextmanager
def small_tier(mebibytes: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="dovetail-tier-") as name:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", name], check=True)
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", name], check=True)


def measure(arguments: argparse.Namespace) -> int:
    metrics: dict[str, list[float]] = {}
    pieces = max(arguments.megabytes // 8, 3)
    with (
        SlowDisk(0, arguments.bandwidth, arguments.megabytes * 3 + 200, arguments.folder) as disk,
        tempfile.TemporaryDirectory(prefix="dovetail-fast-", dir=arguments.folder) as fast,
        tempfile.TemporaryDirectory(prefix="dovetail-tier-", dir=arguments.tier) as tier,
        small_tier(max(arguments.megabytes // 3, 1)) as small,
    ):
        files = disk.path / "files"
        slow_tier = disk.path / "tier"
        for folder in (files, slow_tier):
            folder.mkdir()
        cases = {
            "tiny_files": (tiny_files, files, Path(tier), arguments.files),
            "sync_each": (sync_each, files, Path(tier), arguments.files),
            "read_back": (read_back, files, Path(tier), pieces),
            "full_tier": (written_once, files, small, pieces),
            "slow_tier": (written_once, Path(fast), slow_tier, pieces),
        }
        for number in range(arguments.repeat):
            for name, (case, folder, its_tier, size) in cases.items():
                ways: dict[str, Open] = {
                    "plain": PlainFile,
                    "staged": lambda path, tier=its_tier: dt.open(path, "w", staged=True, tier=tier),
                }
                taken = {way: seconds(case, ways[way], folder, size) for way in sorted(ways, reverse=bool(number % 2))}
                for way, value in taken.items():
                    metrics.setdefault(f"{name}_{way}", []).append(value)
                metrics.setdefault(f"{name}_of_plain", []).append(taken["staged"] / taken["plain"])
    return report(metrics, arguments.json)


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--megabytes", type=int, default=200, help="of a large file")
    parser.add_argument("--files", type=int, default=200, help="tiny files, and syncs")
    arguments = parser.parse_args()
    if min(arguments.megabytes, arguments.files, arguments.repeat) < 1:
        parser.error("megabytes, files and repeats are at least 1")
    return exit_status_of(measure, arguments)


if __name__ == "__main__":
    sys.exit(main())
