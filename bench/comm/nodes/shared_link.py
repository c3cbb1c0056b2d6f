"""Small messages beside large ones over one link (docs/admission.md): tasks that write blocks of 1 MiB without a constraint, with a number that lets two of
them run at once, and with `adaptive`, in turn. Needs root: the nodes are network namespaces, and the link has a limit (tbf)."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE / "scripts"))

import launcher  # noqa: E402
import nodes  # noqa: E402

CONTENDERS = ("none", "number", "adaptive")


def limit(place: nodes.Nodes, megabytes_per_second: int) -> None:
    for name in place.names:
        rate = ["rate", f"{8 * megabytes_per_second}mbit", "burst", "256kb", "latency", "100ms"]
        subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", place.interface, "root", "tbf", *rate], check=True)


def run(place: nodes.Nodes, program: Path, config: Path, constraint: str, blocks: int) -> list[float]:
    """Milliseconds of half a round trip, in the mean and of the slowest, and seconds for the blocks."""
    done = subprocess.run(
        launcher.command(2, place.command, str(program), constraint, str(blocks)),
        env=os.environ | {"DOVETAIL_CONFIG": str(config)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [float(word) for word in done.stdout.split()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--bandwidth", type=int, default=100, help="of the link, in MB/s")
    parser.add_argument("--blocks", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found: dict[str, list[list[float]]] = {name: [] for name in CONTENDERS}
    try:
        with nodes.two_nodes() as place, tempfile.TemporaryDirectory() as folder:
            limit(place, arguments.bandwidth)
            config = Path(folder) / "dovetail.toml"
            config.write_text(f'[[device]]\nname = "link"\nwrite = {arguments.bandwidth}\n')
            for _ in range(arguments.repeat):
                for name in CONTENDERS:
                    constraint = str(0.4 * arguments.bandwidth) if name == "number" else name
                    found[name].append(run(place, arguments.program, config, constraint, arguments.blocks))
    except nodes.NoNodes as reason:
        print(f"skipped: {reason}", file=sys.stderr)
        return 77
    keys = ("mean ms", "slowest ms", "seconds")
    report = {
        name: {key: statistics.median(column) for key, column in zip(keys, zip(*samples, strict=True), strict=True)}
        for name, samples in found.items()
    }
    if arguments.json:
        print(json.dumps(report | {"samples": found}))
    else:
        for name, figures in report.items():
            print(f"{name:9}", ", ".join(f"{key} {value:.3g}" for key, value in figures.items()))
    return 0


sys.exit(main())
