"""The demo's heat diffusion, with the trace on or off: seconds of the solver, and of processor time with all that the trace needs."""

from __future__ import annotations

import argparse
import array
import json
import resource
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

SIDE = 512  # of the field file; heat scales it


def write_field(path: Path) -> None:
    """Hills and holes that need no package, the same each time."""
    cells = array.array(
        "d", (((row * 7919) ^ (column * 104729)) % 1009 / 3 for row in range(SIDE) for column in range(SIDE))
    )
    path.write_bytes(b"HEATFLD1" + struct.pack("<QQ", SIDE, SIDE) + cells.tobytes())


def run(heat: Path, folder: Path, arguments: argparse.Namespace) -> tuple[dict[str, float], str]:
    """What one run measured, and what is wrong with it."""
    trace = folder / "trace.json"
    with tempfile.TemporaryDirectory(dir=folder) as directory:
        report = Path(directory) / "report.json"
        command = [heat, "--field", folder / "field", "--directory", directory, "--json", report, "--workers", "2",
                   "--size", arguments.size, "--steps", arguments.steps, "--checkpoint-every", "50"]  # fmt: skip
        if arguments.trace == "on":
            command += ["--trace", trace]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = json.loads(report.read_text())
    cpu = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    wrong = ""
    if arguments.trace == "on":
        lost = json.loads(trace.read_text())["otherData"]["lost_events"]
        wrong = f"{lost} events of the trace were lost" if lost else ""
    return {"seconds": result["total_s"], "cpu_seconds": cpu}, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heat", type=Path, required=True, help="the example's program")
    parser.add_argument("--trace", choices=("on", "off"), required=True)
    parser.add_argument("--size", type=int, default=2048, help="rows and columns")
    parser.add_argument("--steps", type=int, default=150, help="sweeps over the field")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--warmup", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    samples: dict[str, list[float]] = {"seconds": [], "cpu_seconds": []}
    wrong = ""
    # In the current folder, since /tmp may be memory and the demo writes to a disk.
    with tempfile.TemporaryDirectory(prefix="dovetail-bench-", dir=".") as name:
        folder = Path(name).resolve()
        write_field(folder / "field")
        for turn in range(arguments.warmup + arguments.repeat):
            measured, problem = run(arguments.heat, folder, arguments)
            wrong = wrong or problem
            if turn >= arguments.warmup:
                for metric, value in measured.items():
                    samples[metric].append(value)
    if arguments.json:
        print(json.dumps({"correct": not wrong, "wrong": wrong, "metrics": samples}))
    else:
        print(f"trace {arguments.trace}: {sorted(samples['seconds'])[len(samples['seconds']) // 2]:.3f} s {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
