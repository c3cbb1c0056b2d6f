"""Programs as they are, and with a plan. Each launch measures one or more pairs in turn.

strided: 4 400 reads of 250 KB with gaps and steps back, from a disk of so many MB/s and requests a second; cold caches.
calls: a pread of one cached byte, ns above the C library's: of a file that no plan is about, of one in a plan, and while it is observed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "devices")]

from device_unavailable import DeviceUnavailable  # noqa: E402 (beside this folder)
from slow_disk import SlowDisk  # noqa: E402 (beside this folder)

PIECE = 250_000
Metrics = dict[str, list[float]]


class Wrong(Exception):
    """What was measured cannot be right."""


class Programs:
    def __init__(self, build: Path) -> None:
        self.reader = [str(build / "bin" / "prefetch_reader")]
        self._environment = os.environ | {"PYTHONPATH": str(build / "python")}

    def output(self, *words: object) -> list[str]:
        done = subprocess.run(
            [str(word) for word in words], env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise Wrong(f"{' '.join(map(str, words))}: exit status {done.returncode}: {done.stderr}")
        return done.stdout.split()

    def dovetail(self, *words: object) -> list[str]:
        return self.output(sys.executable, "-m", "dovetail.cli", *words)


def forget(file: Path) -> None:
    """Takes a file out of the page cache."""
    descriptor = os.open(file, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    Path("/proc/sys/vm/drop_caches").write_text("3\n")


def strided(programs: Programs, arguments: argparse.Namespace) -> Metrics:
    metrics: Metrics = {}
    size = arguments.reads * PIECE * 5 // 4 + (arguments.reads // 22 + 1) * (4 << 20)
    disk = SlowDisk(0, 0, (size >> 20) * 9 // 8 + 64, arguments.folder)
    with disk:
        data = disk.path / "data"
        block = os.urandom(4 << 20)
        with data.open("wb") as file:
            for _ in range(size // len(block) + 1):
                file.write(block)
        forget(data)
        plan = disk.path / "plan.json"
        command = [*programs.reader, "strided", data, arguments.reads, PIECE, arguments.compute]
        programs.dovetail("observe", "--output", plan, "--", *command)
        disk.set_bandwidth(arguments.bandwidth, 0, arguments.requests)
        for _ in range(arguments.repeat):
            forget(data)
            first, seconds = programs.output(*command)
            forget(data)
            second, with_plan = programs.dovetail("run", "--plan", plan, "--", *command)
            if first != second:
                raise Wrong(f"the checksums are {first} and {second}")
            metrics.setdefault("as_it_is", []).append(float(seconds))
            metrics.setdefault("with_plan", []).append(float(with_plan))
            metrics.setdefault("ratio", []).append(float(with_plan) / float(seconds))
    return metrics


def calls(programs: Programs, arguments: argparse.Namespace) -> Metrics:
    metrics: Metrics = {}
    # Where there is a device: nothing is observed of files in memory.
    with tempfile.TemporaryDirectory(prefix="dovetail-bench-", dir=arguments.folder or os.getcwd()) as folder:
        files = [Path(folder) / name for name in ("planned", "other")]
        for file in files:
            file.write_bytes(os.urandom(1 << 16))
        plan = Path(folder) / "plan.json"
        programs.dovetail("observe", "--output", plan, "--", *programs.reader, "calls", files[0], 1)
        command = [*programs.reader, "calls"]
        for _ in range(arguments.repeat):
            for name, file in (("extra_ns", files[1]), ("planned_ns", files[0])):
                plain, extra = programs.dovetail("run", "--plan", plan, "--", *command, file, arguments.pairs)
                metrics.setdefault(name, []).append(float(extra))
                metrics.setdefault("libc_ns", []).append(float(plain))
            observed = Path(folder) / "observed.json"
            _, extra = programs.dovetail(
                "observe", "--output", observed, "--", *command, files[1], min(arguments.pairs, 2000)
            )
            metrics.setdefault("observed_ns", []).append(float(extra))
    return metrics


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--way", choices=("strided", "calls"), default="strided")
    parser.add_argument("--reads", type=int, default=4400)
    parser.add_argument("--compute", type=float, default=0, help="microseconds after each read")
    parser.add_argument("--bandwidth", type=float, default=200, help="MB/s of the disk")
    parser.add_argument("--requests", type=int, default=500, help="a second")
    parser.add_argument("--pairs", type=int, default=5000, help="of batches of calls")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder", help="where the files are made (default: a temporary folder)")
    parser.add_argument("--build-dir", type=Path, default=HERE.parents[1] / "build" / "release")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if min(arguments.reads, arguments.repeat, arguments.pairs) < 1:
        parser.error("reads, pairs and repeats are at least 1")
    programs = Programs(arguments.build_dir.resolve())
    try:
        metrics = (strided if arguments.way == "strided" else calls)(programs, arguments)
    except DeviceUnavailable as reason:
        print(reason, file=sys.stderr)
        return 77
    except Wrong as reason:
        if not arguments.json:
            print(reason, file=sys.stderr)
            return 1
        print(json.dumps({"correct": False, "wrong": str(reason), "metrics": {}}))
        return 1
    if arguments.json:
        print(json.dumps({"correct": True, "wrong": "", "metrics": metrics}))
    else:
        for name, values in metrics.items():
            print(f"{name:12} {statistics.median(values):9.3f}   ({min(values):.3f} to {max(values):.3f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
