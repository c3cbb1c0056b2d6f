"""A program of 4 ranks that computes and writes files by MPI-IO, to a disk of so many MB/s: as it is, and by way of a tier. The program is collective.cpp with a pattern, or one of
examples/checkpoints.

as_it_is: the MPI library alone. The file system has no cache of the bytes: each run mounts it with `sync`, as a server without one would do. staged: with `deferred_close`, so
that the drain goes on while the program computes. exposed: each close waits for it.

Metrics: "waited", seconds for each file in which the ranks do not compute; "total", seconds of the whole program, with all drains; "times", how many times shorter it waits.
Each repeat has all ways in turn, and all leave the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "devices")]

from command import exit_status_of, parser_of  # noqa: E402 (beside this file)
from harness.script import report, report_wrong  # noqa: E402 (beside this folder)
from slow_disk import SlowDisk  # noqa: E402 (beside this folder)

WAYS = ("as_it_is", "staged", "exposed")


def configuration(folder: Path, name: str, tier: Path) -> Path:
    path = folder / f"{name}.json"
    hints = {"e10_cache": "enable", "e10_cache_path": str(tier), "e10_cache_flush_flag": "flush_immediate"}
    path.write_text(json.dumps({"files": [{"names": ["file*"], "deferred_close": name == "staged", "hints": hints}]}))
    return path


def digest(folder: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()


def run(arguments: argparse.Namespace, way: str, target: Path, configured: Path | None) -> tuple[float, float]:
    """Seconds that the ranks waited for each file, and those of the whole program."""
    started = way if way == "as_it_is" else "staged"
    program = arguments.build_dir / "bin" / f"staging_{arguments.program}_{started}_{arguments.library}"
    # Those that can read as well are told to write.
    what = arguments.pattern if arguments.program == "ranks" else "write"
    words = [program, target, what, arguments.files, arguments.mebibytes, arguments.compute]
    environment = os.environ | ({"DOVETAIL_MPIIO_CONFIGURATION": str(configured)} if configured else {})
    begin = time.perf_counter()
    done = subprocess.run([str(word) for word in words], env=environment, capture_output=True, text=True, check=False)
    total = time.perf_counter() - begin
    if done.returncode != 0 or done.stderr:
        raise RuntimeError(f"{way}: exit status {done.returncode}: {done.stderr}")
    return float(done.stdout.split()[0]), total


def measure(arguments: argparse.Namespace) -> int:
    metrics: dict[str, list[float]] = {}
    size = arguments.mebibytes * arguments.files * 12 // 10 + 64
    with (
        SlowDisk(0, arguments.bandwidth, size, arguments.folder) as disk,
        tempfile.TemporaryDirectory(prefix="dovetail-tier-", dir=arguments.tier) as tier,
    ):
        subprocess.run(["mount", "-o", "remount,sync", disk.path], check=True)
        for number in range(arguments.repeat):
            digests = set()
            for name in [*WAYS[number % len(WAYS) :], *WAYS[: number % len(WAYS)]]:
                target = disk.path / name
                target.mkdir()
                os.sync()
                configured = None if name == "as_it_is" else configuration(Path(tier), name, Path(tier))
                waited, total = run(arguments, name, target, configured)
                digests.add(digest(target))
                for path in target.iterdir():
                    path.unlink()
                target.rmdir()
                metrics.setdefault(f"{name}_waited", []).append(waited)
                metrics.setdefault(f"{name}_total", []).append(total)
            if len(digests) != 1:
                return report_wrong("the ways leave different bytes", arguments.json)
            for name in WAYS[1:]:
                metrics.setdefault(f"{name}_times", []).append(
                    metrics["as_it_is_waited"][-1] / metrics[f"{name}_waited"][-1]
                )
    return report(metrics, arguments.json)


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--library", choices=("mpich", "openmpi"), default="mpich")
    parser.add_argument("--program", choices=("ranks", "flash_hdf5", "flash_netcdf"), default="ranks")
    parser.add_argument("--pattern", choices=("blocks", "pieces", "segments"), default="blocks")
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--mebibytes", type=int, default=128, help="of each file")
    parser.add_argument("--compute", type=float, default=3.0, help="seconds before each file")
    parser.add_argument("--build-dir", type=Path, default=HERE.parents[1] / "build" / "release")
    arguments = parser.parse_args()
    if min(arguments.files, arguments.mebibytes, arguments.repeat) < 1:
        parser.error("files, mebibytes and repeats are at least 1")
    return exit_status_of(measure, arguments)


if __name__ == "__main__":
    sys.exit(main())
