"""Bytes that are on the tier and not drained yet: how fast the program reads them back, and a job that is started again, beside the file on a disk of so many MB/s.

back: a file is staged and read again; tier: a plain file of the tier is. restart: processes, each with a file that a process of the same number has left behind when it ended, open
and read it; global: they read the drained files from the disk. The page cache has nothing of the files in the last two.

Metrics: "back", "tier", MB/s; "back_of_tier"; "restart", "global", seconds until all have read; "restart_times", how many times as long the second takes. Each repeat has all in turn.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dovetail as dt

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "devices")]

from command import exit_status_of, forget, parser_of  # noqa: E402 (beside this file)
from harness.script import report  # noqa: E402 (beside this folder)
from slow_disk import SlowDisk  # noqa: E402 (beside this folder)

PIECE = 8 << 20
# A process of the job. The way, the file, the tier, the pieces. It says when it is ready, and begins when it is told.
PROCESS = """
import os, sys
import dovetail as dt
way, path, tier, pieces = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
PIECE = 8 << 20
def value(number):
    return bytes([number % 251 + 1]) * PIECE
if way == "leave":
    file = dt.open(path, "w", staged=True, tier=tier)
    for number in range(pieces):
        file.pwrite(value(number), number * PIECE)
        if number == 0:
            print("staged", flush=True)  # before a segment is full, and its drain begins
            sys.stdin.readline()
    os._exit(0)
print("ready", flush=True)
sys.stdin.readline()
file = dt.open(path, "r", staged=True, tier=tier) if way == "restart" else open(path, "rb", buffering=0)
back = bytearray(PIECE)
for number in range(pieces):
    if way == "restart":
        file.pread(back, number * PIECE)
    else:
        file.readinto(back)
    assert back[0] == back[-1] == number % 251 + 1, "other bytes were read"
os._exit(0)
"""


def start(way: str, path: Path, tier: Path, pieces: int) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROCESS, way, str(path), str(tier), str(pieces)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() in ("ready\n", "staged\n"), "a process has failed"
    return process


def run(way: str, paths: list[Path], tier: Path, pieces: int) -> float:
    """Seconds until all processes of the job have ended."""
    processes = [start(way, path, tier, pieces) for path in paths]
    begin = time.perf_counter()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    statuses = [process.wait() for process in processes]
    assert statuses == [0] * len(paths), f"a process has failed: {statuses}"
    return time.perf_counter() - begin


def read_back(final: Path, tier: Path, pieces: int) -> tuple[float, float]:
    """MB/s, of the staged file and of a plain one in the tier."""
    data = bytes(range(256)) * (PIECE // 256)
    staged = dt.open(final, "w", staged=True, tier=tier)
    plain = os.open(tier / "plain", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    for number in range(pieces):
        staged.pwrite(data, number * PIECE)
        os.pwrite(plain, data, number * PIECE)
    back = bytearray(PIECE)
    begin = time.perf_counter()
    for number in range(pieces):
        staged.pread(back, number * PIECE)
    middle = time.perf_counter()
    assert back == data, "other bytes were read"
    for number in range(pieces):
        os.preadv(plain, [back], number * PIECE)
    end = time.perf_counter()
    os.close(plain)
    (tier / "plain").unlink()
    staged.close()
    megabytes = pieces * PIECE / 1e6
    return megabytes / (middle - begin), megabytes / (end - middle)


def measure(arguments: argparse.Namespace) -> int:
    metrics: dict[str, list[float]] = {}
    pieces = max(arguments.mebibytes * (1 << 20) // PIECE, 1)
    size = arguments.mebibytes * arguments.processes * 2 + 200
    with (
        SlowDisk(arguments.bandwidth, arguments.bandwidth, size, arguments.folder) as disk,
        tempfile.TemporaryDirectory(prefix="dovetail-tier-", dir=arguments.tier) as name,
    ):
        tier = Path(name)
        paths = [disk.path / f"file{number}" for number in range(arguments.processes)]
        for _ in range(arguments.repeat):
            back, plain = read_back(paths[0], tier, min(pieces, 7))  # less than a segment: it is not drained meanwhile
            run("leave", paths, tier, pieces)
            forget(tier)
            restart = run("restart", paths, tier, pieces)
            for path in paths:
                dt.open(path, "r+", staged=True, tier=tier).close()
            forget(disk.path)
            from_disk = run("global", paths, tier, pieces)
            for path in paths:
                path.unlink()
            for metric, value in (
                ("back", back),
                ("tier", plain),
                ("back_of_tier", back / plain),
                ("restart", restart),
                ("global", from_disk),
                ("restart_times", from_disk / restart),
            ):
                metrics.setdefault(metric, []).append(value)
    return report(metrics, arguments.json)


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--mebibytes", type=int, default=56, help="of the file of each process")
    parser.add_argument("--processes", type=int, default=4)
    arguments = parser.parse_args()
    if min(arguments.mebibytes, arguments.processes, arguments.repeat) < 1 or arguments.mebibytes > 60:
        parser.error("mebibytes are from 1 to 60, processes and repeats at least 1")
    return exit_status_of(measure, arguments)


if __name__ == "__main__":
    sys.exit(main())
