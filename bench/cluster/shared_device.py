"""What the ledger of a cluster is worth on a shared folder that congests: a constraint for the whole cluster against one for each node alone.

    python bench/cluster/shared_device.py [--nodes 3] [--tasks 72] [--rounds 5] [--json FILE]

Nodes are processes of this machine with addresses of their own. The folder is that of `bench/devices/congested_fs.py`, 100 MB/s for up to 4 writers. Each
task writes 4 MB and waits until they are stored. `cluster`: storage_bw=25, so four run at once in the cluster, which is best. `adaptive`: the ledger
finds how many. `node`: each node lets four run at once, by `most_at_once`. `none`: no constraint. Exit status 77 if this machine cannot mount the folder.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

BYTES = 4_000_000
PEAK = 100.0
AT_ONCE = 4
CONFIG = """
[[device]]
name = "cluster"
paths = ["{folder}/cluster", "{folder}/adaptive", "{folder}/none"]
write = {peak}
shared = true
[[device]]
name = "node"
paths = ["{folder}/node"]
write = {peak}
shared = true
most_at_once = {at_once}
"""


def write(path: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.pwrite(descriptor, bytes(BYTES), 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def measure(nodes: int, tasks: int, rounds: int, folder: Path, config: Path) -> dict[str, Any]:
    import distributed
    import dovetail as dt

    contenders = {
        "node": dt.io(write, device="node", label="node"),
        "cluster": dt.io(write, device="cluster", storage_bw=PEAK / AT_ONCE, label="cluster"),
        "adaptive": dt.io(write, device="cluster", storage_bw="adaptive", label="adaptive"),
        "none": dt.io(write, device="cluster", label="none"),
    }
    levels: list[int] = []
    workers = {
        number: {
            "cls": distributed.Nanny,
            "options": {
                "nthreads": 1,
                "host": f"127.0.0.{number + 1}",
                "dashboard_address": None,
                "env": {"DOVETAIL_CONFIG": str(config)},
            },
        }
        for number in range(nodes)
    }
    scheduler = {
        "cls": distributed.Scheduler,
        "options": {"host": "127.0.0.1", "port": 0, "dashboard_address": "127.0.0.1:0"},
    }
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    with distributed.SpecCluster(workers=workers, scheduler=scheduler) as cluster, dt.Cluster(cluster) as used:
        for task in contenders.values():  # not measured: what the first tasks load
            dt.wait([task(str(folder / task.label / f"first{number}")) for number in range(nodes)])
        for number in range(rounds):
            for name in contenders if number % 2 == 0 else reversed(contenders):
                started = time.perf_counter()
                dt.wait([contenders[name](str(folder / name / f"file{place}")) for place in range(tasks)])
                rates[name].append(tasks * BYTES / 1e6 / (time.perf_counter() - started))
            levels += [device["at_once"] for device in used.devices() if device["name"] == "cluster"]
    medians = {name: statistics.median(each) for name, each in rates.items()}
    return {
        "nodes": nodes,
        "tasks": tasks,
        "mb_per_second": {name: {"median": medians[name], "all": each} for name, each in rates.items()},
        "levels_of_adaptive": levels,
        "ratio": {name: medians[name] / medians["node"] for name in contenders},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=72)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="write the figures to this file")
    arguments = parser.parse_args()
    if min(arguments.nodes, arguments.tasks, arguments.rounds) < 1:
        parser.error("--nodes, --tasks and --rounds must be above 0")
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "devices"))
    from congested_fs import CongestedFs
    from fault_fs import FaultFsUnavailable

    with tempfile.TemporaryDirectory() as backing, tempfile.TemporaryDirectory() as settings:
        try:
            with CongestedFs(peak=PEAK, saturation=2, knee=AT_ONCE, penalty=0.15, backing=backing) as system:
                for name in ("cluster", "node", "adaptive", "none"):
                    (Path(system.path) / name).mkdir()
                config = Path(settings) / "dovetail.toml"
                config.write_text(CONFIG.format(folder=system.path, peak=PEAK, at_once=AT_ONCE))
                result = measure(arguments.nodes, arguments.tasks, arguments.rounds, Path(system.path), config)
        except FaultFsUnavailable as error:
            print(f"shared_device: {error}", file=sys.stderr)
            return 77
    for name, rate in result["mb_per_second"].items():
        print(f"{name}: {rate['median']:.1f} MB/s, {result['ratio'][name]:.2f} of `node`")
    print(f"levels of adaptive after each round: {result['levels_of_adaptive']}")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(result, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
