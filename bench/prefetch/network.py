"""Reads of a pattern (reader.c) from a GlusterFS volume over a link of so many Mbit/s: as they are, with a plan, with detection, and all cached. Each round
measures all of them in turn, cold at both ends but for the last. Metrics: seconds, and MB that came over the link.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "devices")]

from gluster_volume import GlusterVolume  # noqa: E402 (beside this file)
from measure import Metrics, Programs, Wrong, fill, in_turn, reported, size_of_data  # noqa: E402 (beside this file)


def measure(programs: Programs, arguments: argparse.Namespace) -> Metrics:
    metrics: Metrics = {}
    with (
        GlusterVolume(arguments.megabits, arguments.folder) as volume,
        tempfile.TemporaryDirectory(prefix="dovetail-bench-", dir=arguments.folder) as folder,
    ):
        data, plan = volume.path / "data", Path(folder) / "plan.json"
        fill(data, size_of_data(arguments))
        sizes = (arguments.reads, arguments.piece, arguments.compute)
        command = [*programs.reader, "read", arguments.pattern, data, *sizes]
        programs.dovetail("observe", "--output", plan, "--", *command)
        ways: dict[str, list[object]] = {
            "as_it_is": [],
            "with_plan": [*programs.command, "run", "--plan", plan, "--"],
            "detect": [*programs.command, "run", "--detect", "--"],
            "cached": [],
        }
        os.sync()
        for number in range(arguments.repeat):
            sums = set()
            for way in in_turn(list(ways), number):
                if way == "cached":
                    programs.output(*command)
                else:
                    Path("/proc/sys/vm/drop_caches").write_text("3\n")
                # The reader itself is in memory; its time has no start of Dovetail in it.
                before = volume.received()
                checksum, seconds = programs.output(*ways[way], *command)
                sums.add(checksum)
                metrics.setdefault(way, []).append(float(seconds))
                metrics.setdefault(f"{way}_mb", []).append((volume.received() - before) / 1e6)
            if len(sums) != 1:
                raise Wrong(f"the checksums are {sums}")
            for way in ("with_plan", "detect"):
                metrics.setdefault(f"{way}_ratio", []).append(metrics[way][-1] / metrics["as_it_is"][-1])
    return metrics


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pattern", choices=("strided", "near", "sequential", "backward", "random"), default="strided")
    parser.add_argument("--reads", type=int, default=1100)
    parser.add_argument("--piece", type=int, default=250_000, help="bytes of a read")
    parser.add_argument("--compute", type=float, default=0, help="microseconds after each read")
    parser.add_argument("--megabits", type=float, default=1000, help="Mbit/s of the link")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", help="where the files are made (default: a temporary folder)")
    parser.add_argument("--build-dir", type=Path, default=HERE.parents[1] / "build" / "release")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if min(arguments.reads, arguments.piece, arguments.repeat) < 1 or arguments.megabits <= 0:
        parser.error("reads, bytes and repeats are at least 1, and the link has a speed")
    programs = Programs(arguments.build_dir.resolve())
    return reported(lambda: measure(programs, arguments), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
