"""A job of 4 ranks that is started again and reads its file from the tier, where the job before it has left all of it, beside the same from a disk of so many MB/s.

restart: the ranks open and read the file, of which nothing is on the disk. plain: they read a plain file that lies in the tier. global: the file was drained, and they read it from the disk. The page
cache has nothing of the files in it. back: as restart, with the logs in the page cache; cached: as plain, likewise.

Metrics: "<way>_open" and "<way>_read", seconds; "restart_times", how many times as long as restart global takes, with the opening; "back_of_tier", how many times as fast the ranks read in back as in cached,
once they have opened the file; "restart_of_tier", how many times as fast restart is as plain, with the opening. Each repeat has all in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "devices")]

from command import exit_status_of, forget, parser_of  # noqa: E402 (beside this file)
from harness.script import report  # noqa: E402 (beside this folder)
from slow_disk import SlowDisk  # noqa: E402 (beside this folder)

RANKS = 4
PART = 8 << 20


def configuration(folder: Path, tier: Path) -> Path:
    path = folder / "configuration.json"
    hints = {"e10_cache": "enable", "e10_cache_path": str(tier), "e10_cache_flush_flag": "flush_none"}
    path.write_text(json.dumps({"files": [{"names": ["file"], "hints": hints}]}))
    return path


def run(arguments: argparse.Namespace, what: str, file: Path, configured: Path | None) -> tuple[float, float]:
    """Seconds until all ranks have opened it, and until they have done the rest."""
    way = "staged" if configured else "as_it_is"
    program = arguments.build_dir / "bin" / f"staging_restart_{way}_{arguments.library}"
    environment = os.environ | ({"DOVETAIL_MPIIO_CONFIGURATION": str(configured)} if configured else {})
    words = [str(program), str(file), what, str(arguments.parts)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{way} {what}: exit status {done.returncode}: {done.stderr}")
    opened, rest = done.stdout.split()
    return float(opened), float(rest)


def measure(arguments: argparse.Namespace) -> int:
    metrics: dict[str, list[float]] = {}
    size = RANKS * arguments.parts * PART * 2 // (1 << 20) + 200
    with (
        SlowDisk(arguments.bandwidth, arguments.bandwidth, size, arguments.folder) as disk,
        tempfile.TemporaryDirectory(prefix="dovetail-tier-", dir=arguments.tier) as name,
    ):
        tier = Path(name)
        configured = configuration(tier, tier)
        file, plain = disk.path / "file", tier / "plain"

        def read(way: str, path: Path, with_tier: bool, is_cached: bool = False) -> float:
            if not is_cached:
                forget(tier)
                forget(disk.path)
            opened, rest = run(arguments, "read", path, configured if with_tier else None)
            metrics.setdefault(f"{way}_open", []).append(opened)
            metrics.setdefault(f"{way}_read", []).append(rest)
            return opened + rest

        for _ in range(arguments.repeat):
            run(arguments, "write", file, configured)
            run(arguments, "write", plain, None)
            restart = read("restart", file, True)
            read("back", file, True, is_cached=True)
            from_tier = read("plain", plain, False)
            read("cached", plain, False, is_cached=True)
            assert file.stat().st_size == 0, "it was drained"
            logs = [str(each) for each in tier.iterdir() if each.is_dir()]
            for log in sorted(logs):
                subprocess.run([arguments.build_dir / "bin" / "dovetail-staging", "recover", log], check=True)
            from_disk = read("global", file, False)
            file.unlink()
            plain.unlink()
            for metric, value in (
                ("restart_times", from_disk / restart),
                ("restart_of_tier", from_tier / restart),
                ("back_of_tier", metrics["cached_read"][-1] / metrics["back_read"][-1]),
            ):
                metrics.setdefault(metric, []).append(value)
    return report(metrics, arguments.json)


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--library", choices=("mpich", "openmpi"), default="mpich")
    parser.add_argument("--parts", type=int, default=8, help="of 8 MiB, of each rank")
    parser.add_argument("--build-dir", type=Path, default=HERE.parents[1] / "build" / "release")
    arguments = parser.parse_args()
    if min(arguments.parts, arguments.repeat) < 1:
        parser.error("parts and repeats are at least 1")
    return exit_status_of(measure, arguments)


if __name__ == "__main__":
    sys.exit(main())
