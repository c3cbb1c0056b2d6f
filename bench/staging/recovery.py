"""What is brought into its file after a program has ended early: `dovetail staging recover`, beside `cp` and a sync of as many bytes.

The file is on a disk of so many MB/s. The caches are empty before each of the two.

Metrics: "recovered", "copied", seconds; "of_copy", how many times as long the recovery takes as the copy.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dovetail as dt

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "devices")]

from command import exit_status_of, parser_of  # noqa: E402 (beside this file)
from harness.script import report, report_wrong  # noqa: E402 (beside this folder)
from slow_disk import SlowDisk  # noqa: E402 (beside this folder)

PIECE = 8 << 20


@dt.task
def write(file: dt.OpenFile, data: bytes, offset: int) -> None:
    file.pwrite(data, offset)


def piece(number: int) -> bytes:
    return bytes([number % 251 + 1]) * PIECE


def leave_behind(disk: SlowDisk, path: Path, tier: Path, pieces: int, bandwidth: float) -> None:
    """A process writes so many pieces, and ends before any of them is drained."""
    disk.set_bandwidth(0, 0.01)
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        file = dt.open(path, "w", staged=True, tier=tier)
        dt.wait([write(file, piece(number), number * PIECE) for number in range(pieces)])
        os.write(write_end, b".")
        os._exit(0)
    os.close(write_end)
    is_written = os.read(read_end, 1) == b"."
    os.close(read_end)
    disk.set_bandwidth(0, bandwidth)  # the system does not end a process that waits for a disk
    os.waitpid(child, 0)
    if not is_written:
        raise RuntimeError("the program that is to end early has failed")


def without_caches(command: list[object]) -> float:
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")
    begin = time.perf_counter()
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def staged_bytes(tier: Path) -> int:
    return sum(path.stat().st_size for path in tier.rglob("*.log"))


def measure(arguments: argparse.Namespace) -> int:
    metrics: dict[str, list[float]] = {}
    pieces = arguments.mebibytes * (1 << 20) // PIECE
    program = arguments.build_dir / "bin" / "dovetail-staging"
    with (
        SlowDisk(0, arguments.bandwidth, arguments.mebibytes * 2 + 200, arguments.folder) as disk,
        tempfile.TemporaryDirectory(prefix="dovetail-tier-", dir=arguments.tier) as name,
    ):
        tier = Path(name)
        for _ in range(arguments.repeat):
            final = disk.path / "file"
            leave_behind(disk, final, tier, pieces, arguments.bandwidth)
            if staged_bytes(tier) < pieces * PIECE:
                return report_wrong("some of it was drained before the program ended", arguments.json)
            recovered = without_caches([program, "recover", next(each for each in tier.iterdir() if each.is_dir())])
            with final.open("rb") as file:
                if any(file.read(PIECE) != piece(number) for number in range(pieces)):
                    return report_wrong("the recovered file has other bytes", arguments.json)
            copy = tier / "copy"
            shutil.copyfile(final, copy)
            final.unlink()
            copied = without_caches(["sh", "-c", f"cp {copy} {final} && sync {final}"])
            final.unlink()
            copy.unlink()
            metrics.setdefault("recovered", []).append(recovered)
            metrics.setdefault("copied", []).append(copied)
            metrics.setdefault("of_copy", []).append(recovered / copied)
    return report(metrics, arguments.json)


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--mebibytes", type=int, default=1024, help="of what is left behind")
    parser.add_argument("--build-dir", type=Path, default=HERE.parents[1] / "build" / "release")
    arguments = parser.parse_args()
    if arguments.mebibytes < PIECE >> 20 or arguments.repeat < 1:
        parser.error("there is at least one repeat, of at least 8 MiB")
    return exit_status_of(measure, arguments)


if __name__ == "__main__":
    sys.exit(main())
