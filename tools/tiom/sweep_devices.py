#!/usr/bin/env python3
"""Runs a sweep of dovetail-tiom on several devices: disks of given bandwidths, made for the purpose, and real ones.

    sweep_devices.py --output FOLDER [--disk 30 --disk 120/60] [--real FOLDER] [--budget SECONDS] [-- OPTION ...]

--disk N makes a loop device of N MB/s, N/M one that reads at N and writes at M (as root; bench/devices). --real names a
folder on a real disk or tmpfs. Without either: --disk 30 --disk 60 --disk 120 and the real disk below the output folder. The
budget is for all devices together, in equal parts. Arguments after -- go to dovetail-tiom. Every device gets a folder with
its results; a sweep that was stopped is continued when the same command is given again. Exit status: 0; 1 if a sweep failed;
2 for bad usage; 77 if no device could be made.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


def devices_folder() -> Path | None:
    """bench/devices of the source tree: next to this script there, or named by DOVETAIL_SOURCE_DIR."""
    candidates = [HERE.parents[1] / "bench" / "devices"]
    if "DOVETAIL_SOURCE_DIR" in os.environ:
        candidates.insert(0, Path(os.environ["DOVETAIL_SOURCE_DIR"]) / "bench" / "devices")
    return next((folder for folder in candidates if (folder / "slow_disk.py").is_file()), None)


@dataclass
class Disk:
    """A disk of given bandwidths in MB/s."""

    read: float
    write: float

    @property
    def name(self) -> str:
        return f"disk-{self.read:g}" if self.read == self.write else f"disk-{self.read:g}-{self.write:g}"


def disk_of(text: str) -> Disk:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(?:/(\d+(?:\.\d+)?))?", text)
    if not found or float(found[1]) < 0.01 or (found[2] and float(found[2]) < 0.01):
        raise argparse.ArgumentTypeError(f"'{text}' is not a bandwidth in MB/s, or two: 60, 120/60")
    return Disk(float(found[1]), float(found[2] or found[1]))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="folder for the results")
    parser.add_argument("--disk", type=disk_of, action="append", default=[], metavar="MB/S")
    parser.add_argument("--real", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument(
        "--budget", type=float, default=0, metavar="SECONDS", help="for all devices together (no limit)"
    )
    parser.add_argument("--size", default="64M", help="bytes of the file (64M)")
    parser.add_argument("--program", type=Path, help="dovetail-tiom (that of this build or installation)")
    parser.add_argument("options", nargs="*", metavar="-- OPTION", help="options of dovetail-tiom")
    arguments = parser.parse_args()
    if arguments.budget < 0:
        parser.error(f"--budget {arguments.budget:g}: at least 0")
    for folder in arguments.real:
        if not folder.is_dir():
            parser.error(f"--real {folder}: there is no such folder")
    if not re.fullmatch(r"\d+[KMG]?", arguments.size):
        parser.error(f"--size {arguments.size}: bytes, or a number and K, M or G")
    if not arguments.disk and not arguments.real:
        arguments.disk = [Disk(speed, speed) for speed in (30, 60, 120)]
        arguments.real = [arguments.output]
    arguments.program = arguments.program or find_program()
    if arguments.program is None or not arguments.program.is_file():
        parser.error("dovetail-tiom was not found: build it, or name it with --program")
    return arguments


def find_program() -> Path | None:
    """From the place of this script: installed, in a build folder, or in the source tree with its release build."""
    candidates = [
        HERE.parents[2] / "bin" / "dovetail-tiom",
        HERE.parents[1] / "build" / "release" / "bin" / "dovetail-tiom",
    ]
    return next((path for path in candidates if path.is_file()), None)


def bytes_of(size: str) -> int:
    shift = {"K": 10, "M": 20, "G": 30}.get(size[-1])
    return int(size) if shift is None else int(size[:-1]) << shift


def remaining_points(output: Path) -> int:
    """Points of a begun sweep that have no result yet."""
    lines = [line for line in (output / "points.jsonl").read_text().split("\n")[:-1] if line]
    done = {json.loads(line)["index"] for line in lines[1:]}
    return len(json.loads(lines[0])["points"]) - len(done)


def sweep(arguments: argparse.Namespace, output: Path, folder: Path, budget: float) -> int:
    output.mkdir(parents=True, exist_ok=True)
    file = folder / "dovetail-tiom.data"
    begun = output / "points.jsonl"
    head, newline, rest = (begun.read_text() if begun.is_file() else "").partition("\n")
    if newline:
        # A disk that was made anew is mounted elsewhere.
        plan = json.loads(head)
        if plan["settings"]["file"] != str(file):
            plan["settings"]["file"] = str(file)
            replacement = begun.with_suffix(".new")
            replacement.write_text(json.dumps(plan) + "\n" + rest)
            replacement.replace(begun)
        print(f"{output.name}: going on, {remaining_points(output)} points are left", flush=True)
        command = [arguments.program, "--resume", output]
    else:
        begun.unlink(missing_ok=True)  # killed while it wrote its first line
        command = [arguments.program, "--sweep", "--output", output, "--file", file, "--size", arguments.size]
        command += ["--budget", f"{budget:.0f}"] if budget > 0 else []
        command += arguments.options
    try:
        # The maps are drawn by the Python that runs this, which may be one that others do not find.
        environment = {"DOVETAIL_PYTHON": sys.executable, **os.environ}
        return subprocess.run(list(map(str, command)), check=False, env=environment).returncode
    finally:
        file.unlink(missing_ok=True)


def on_disk(disk: Disk, size: str, run: Callable[[Path], int]) -> int:
    folder = devices_folder()
    if folder is None:
        raise RuntimeError("bench/devices was not found: set DOVETAIL_SOURCE_DIR to the source tree")
    sys.path.insert(0, str(folder))
    from slow_disk import SlowDisk

    # Room for the file, for the one with which the curve is measured, and for the file system itself.
    size_mb = 2 * (bytes_of(size) >> 20) + 256
    with SlowDisk(disk.read, disk.write, size_mb) as made:
        return run(Path(made.path))


def main() -> int:
    arguments = parse_arguments()
    total = len(arguments.disk) + len(arguments.real)
    deadline = time.monotonic() + arguments.budget
    statuses: list[int] = []
    skipped = []

    def share() -> float:
        # The next devices get what this one leaves over. One that takes too long does not take their share.
        left = (deadline - time.monotonic()) / (total - len(statuses) - len(skipped))
        return max(left, arguments.budget / total / 2)

    for disk in arguments.disk:
        print(f"== {disk.name}: reads {disk.read:g}, writes {disk.write:g} MB/s", flush=True)
        try:
            status = on_disk(
                disk,
                arguments.size,
                lambda folder, name=disk.name: sweep(arguments, arguments.output / name, folder, share()),
            )
        except RuntimeError as reason:
            print(f"{disk.name}: skipped: {reason}", file=sys.stderr, flush=True)
            skipped.append(disk.name)
            continue
        statuses.append(status)
        if status in (2, 130):
            return status
    for number, folder in enumerate(arguments.real):
        name = "real" if len(arguments.real) == 1 else f"real-{number + 1}"
        print(f"== {name}: {folder}", flush=True)
        status = sweep(arguments, arguments.output / name, folder, share())
        statuses.append(status)
        if status in (2, 130):
            return status
    if not statuses:
        return 77
    return 1 if any(statuses) else 0


if __name__ == "__main__":
    sys.exit(main())
