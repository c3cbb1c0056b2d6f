"""Is the model of model.py right? 4 ranks on 1, 2 and 4 "nodes": each has a tier of its own, a disk of so many MB/s, and all drain to one slow disk. The program is collective.cpp with a
segment for each rank. All tiers are mounted with `sync`, so that their disks and not the memory of this machine take the bytes.

Each repeat measures what a file of 1 MiB costs (`fixed` of the model), then files whose drain is hidden by computation, and files whose drain takes twice as long as that.
Metrics: "<nodes>_<case>", MB/s perceived; "<nodes>_<case>_of_model", in times of the model's.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "devices"), str(HERE.parents[1] / "examples" / "demonstration")]

from command import exit_status_of, parser_of  # noqa: E402 (beside this file)
from harness.script import report  # noqa: E402 (beside this folder)
from model import System, perceived  # noqa: E402 (beside this file)
from ranks import ENVIRONMENT, RANKS  # noqa: E402 (examples/demonstration)
from slow_disk import SlowDisk  # noqa: E402 (beside this folder)

NODES = (1, 2, 4)


def without_cache(disk: SlowDisk) -> Path:
    subprocess.run(["mount", "-o", "remount,sync", disk.path], check=True)
    return disk.path


def configuration(folder: Path, tier: Path) -> Path:
    path = folder / f"{tier.name}-{tier.parent.name}.json"
    hints = {"e10_cache": "enable", "e10_cache_path": str(tier)}
    path.write_text(json.dumps({"files": [{"names": ["file*"], "deferred_close": True, "hints": hints}]}))
    return path


def waited(
    arguments: argparse.Namespace, target: Path, configured: list[Path], kibibytes: int, compute: float
) -> float:
    """Seconds for each file. The ranks of a node follow each other."""
    build = arguments.build_dir
    words = [f"mpiexec.{arguments.library}"]
    for node, path in enumerate(configured):
        words += [":"] if node else []
        words += ["-n", str(RANKS // len(configured)), "env", f"DOVETAIL_MPIIO_CONFIGURATION={path}"]
        words += [f"LD_PRELOAD={build}/lib/libdovetail-mpiio-{arguments.library}.so"]
        words += [f"{build}/bin/ranks/staging_ranks_{arguments.library}", str(target), "segments", str(arguments.files)]
        words += [str(max(1, kibibytes // 1024)), str(compute)]
    done = subprocess.run(words, env=os.environ | ENVIRONMENT, capture_output=True, text=True, check=False)
    if done.returncode != 0 or done.stderr:
        raise RuntimeError(f"{' '.join(words)}: exit status {done.returncode}: {done.stderr}")
    for path in target.iterdir():
        path.unlink()
    os.sync()
    return float(done.stdout.split()[0])


def measure_nodes(arguments: argparse.Namespace, nodes: int, target: Path, metrics: dict[str, list[float]]) -> None:
    file_bytes = float(arguments.mebibytes << 20)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        size = 3 * arguments.mebibytes // nodes + 128
        tiers = [
            without_cache(stack.enter_context(SlowDisk(0, arguments.tier_bandwidth, size, arguments.folder)))
            for _ in range(nodes)
        ]
        configured = [configuration(folder, tier) for tier in tiers]
        drain = file_bytes / (arguments.bandwidth * 1e6)
        for _ in range(arguments.repeat):
            fixed = waited(arguments, target, configured, 1024, 0.5)
            system = System(
                tier_rate=arguments.tier_bandwidth * 1e6,
                drain_rate=float("inf"),
                global_rate=arguments.bandwidth * 1e6,
                fixed=fixed,
            )
            for case, compute in (("hidden", 2 * drain), ("exposed", drain / 2)):
                seconds = waited(arguments, target, configured, arguments.mebibytes << 10, compute)
                # The program has ended its measurement before the drain of its last file.
                computing = [compute] * (arguments.files - 1) + [float("inf")]
                expected = perceived(system, nodes, file_bytes, computing)
                metrics.setdefault(f"{nodes}_{case}", []).append(file_bytes / seconds / 1e6)
                metrics.setdefault(f"{nodes}_{case}_of_model", []).append(file_bytes / seconds / expected)


def measure(arguments: argparse.Namespace) -> int:
    metrics: dict[str, list[float]] = {}
    size = arguments.mebibytes * (arguments.files + 1) * 12 // 10 + 64
    with SlowDisk(0, arguments.bandwidth, size, arguments.folder) as disk:
        target = disk.path / "files"
        target.mkdir()
        for nodes in NODES:
            measure_nodes(arguments, nodes, target, metrics)
    return report(metrics, arguments.json)


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--library", choices=("mpich", "openmpi"), default="mpich")
    parser.add_argument("--tier-bandwidth", type=float, default=60, help="MB/s of the disk of each tier")
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--mebibytes", type=int, default=128, help="of each file, a power of 2")
    parser.add_argument("--build-dir", type=Path, default=HERE.parents[1] / "build" / "release")
    arguments = parser.parse_args()
    if min(arguments.files, arguments.mebibytes, arguments.repeat) < 1:
        parser.error("files, mebibytes and repeats are at least 1")
    if arguments.tier:
        parser.error("the tiers are disks that are made here")
    arguments.build_dir = arguments.build_dir.resolve()
    return exit_status_of(measure, arguments)


if __name__ == "__main__":
    sys.exit(main())
