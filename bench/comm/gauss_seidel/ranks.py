"""The example heat_ranks, one variant: seconds until the last update, and processor time of all ranks. The checksum must be that of heat."""

from __future__ import annotations

import argparse
import array
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

SIDE = 128  # of the field file; heat scales it


def write_field(path: Path) -> None:
    """Hills and holes that need no package, the same each time."""
    cells = array.array(
        "d", (((row * 7919) ^ (column * 104729)) % 1009 / 3 for row in range(SIDE) for column in range(SIDE))
    )
    path.write_bytes(b"HEATFLD1" + struct.pack("<QQ", SIDE, SIDE) + cells.tobytes())


def run(command: list[object], folder: Path) -> dict:
    """The report of a run."""
    with tempfile.TemporaryDirectory(dir=folder) as directory:
        report = Path(directory) / "report.json"
        whole = [*command, "--field", folder / "field", "--directory", directory, "--json", report]
        subprocess.run([str(word) for word in whole], check=True, stdout=subprocess.DEVNULL)
        return json.loads(report.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heat", type=Path, required=True, help="the example's program for one process")
    parser.add_argument("--program", type=Path, required=True, help="the one for ranks")
    parser.add_argument("--starter", required=True, help="mpiexec of its library")
    parser.add_argument("--variant", required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1, help="of each rank")
    parser.add_argument("--size", default="256x4096", help="rows and columns")
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--steps", type=int, default=200, help="sweeps over the field")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--warmup", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    work: list[object] = ["--size", arguments.size, "--block", arguments.block, "--steps", arguments.steps]
    ranks: list[object] = [arguments.starter, "-n", arguments.ranks, arguments.program, "--variant", arguments.variant]
    samples: dict[str, list[float]] = {"seconds": [], "cpu_seconds": []}
    wrong = ""
    # In memory where there is some: the variants differ in their messages, and their files are the same.
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="dovetail-bench-", dir=in_memory) as name:
        folder = Path(name)
        write_field(folder / "field")
        expected = run([arguments.heat, *work], folder)["checksum"]
        for turn in range(arguments.warmup + arguments.repeat):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            report = run([*ranks, *work, "--workers", arguments.workers], folder)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if report["checksum"] != expected:
                wrong = f"checksum {report['checksum']}, and {expected} with one process"
            if turn >= arguments.warmup:
                samples["seconds"].append(report["seconds"])
                samples["cpu_seconds"].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    if arguments.json:
        print(json.dumps({"correct": not wrong, "wrong": wrong, "metrics": samples}))
    else:
        print(f"{arguments.variant}: {sorted(samples['seconds'])[len(samples['seconds']) // 2]:.3f} s {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
