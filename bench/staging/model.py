"""The model of write-behind in docs/staging.md: what bandwidth a program of many nodes perceives that writes files through a tier on each node.

After equations 4.2 and 4.3 of G. Congiu's thesis (docs/papers.md). Units: bytes, seconds, bytes/s. Run as a program it prints the bandwidth for 1 to 64 nodes of
8 ranks, with the sizes and rates of the thesis' testbed, and draws it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class System:
    """`tier_rate`: what the tier of one node takes. `drain_rate`: what one node brings to the global file system. `global_rate`: what that takes from all
    nodes. `fixed`: seconds for each file in which all ranks wait whatever its size is (opening, closing, agreeing). `drain_fixed`: the same for its drain."""

    tier_rate: float
    drain_rate: float
    global_rate: float
    fixed: float = 0.0
    drain_fixed: float = 0.0

    def write_seconds(self, nodes: int, file_bytes: float) -> float:
        """T_c of the thesis: until all bytes of a file are on the tiers. Each rank writes what it has; nothing is exchanged."""
        return self.fixed + file_bytes / (nodes * self.tier_rate)

    def drain_seconds(self, nodes: int, file_bytes: float) -> float:
        """T_s: until they are in the file."""
        return self.drain_fixed + file_bytes / min(self.global_rate, nodes * self.drain_rate)


def waits(system: System, nodes: int, file_bytes: float, computing: Sequence[float]) -> list[float]:
    """Seconds for each file in which the program does not compute (equation 4.2). `computing`: how long it computes after each file, until it closes it."""
    write = system.write_seconds(nodes, file_bytes)
    drain = system.drain_seconds(nodes, file_bytes)
    return [write + max(0.0, drain - seconds) for seconds in computing]


def perceived(system: System, nodes: int, file_bytes: float, computing: Sequence[float]) -> float:
    """Bytes/s that the program perceives (equation 4.3)."""
    return len(computing) * file_bytes / sum(waits(system, nodes, file_bytes, computing))


def hidden_share(system: System, nodes: int, file_bytes: float, computing: Sequence[float]) -> float:
    """Of the time of all drains, that in which the program computes."""
    drain = system.drain_seconds(nodes, file_bytes)
    return sum(min(drain, seconds) for seconds in computing) / (len(computing) * drain)


# 64 nodes of 8 ranks, a SATA SSD of 500 MB/s in each, four storage targets that give 2 GB/s to a collective write; four files of 32 GB, 30 s of computation.
TESTBED = System(tier_rate=0.5e9, drain_rate=0.5e9, global_rate=2e9)
FILE_BYTES = 32e9
WITHOUT = 2e9  # what the program perceives without a tier
CASES = {
    "all drains hidden (figures 5.7, 5.8)": (30.0, 30.0, 30.0, 30.0),
    "the last drain exposed (figure 5.9)": (30.0, 30.0, 30.0, 0.0),
}
NODES = (1, 2, 4, 8, 16, 32, 64)


def table() -> list[dict]:
    return [
        {
            "case": case,
            "nodes": nodes,
            "perceived": perceived(TESTBED, nodes, FILE_BYTES, computing),
            "hidden_share": hidden_share(TESTBED, nodes, FILE_BYTES, computing),
        }
        for case, computing in CASES.items()
        for nodes in NODES
    ]


def draw(rows: list[dict], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    for case, style in zip(CASES, ("o-", "s--"), strict=True):
        chosen = [row for row in rows if row["case"] == case]
        axes.plot([row["nodes"] for row in chosen], [row["perceived"] / 1e9 for row in chosen], style, label=case)
    axes.plot(
        NODES, [TESTBED.tier_rate * nodes / 1e9 for nodes in NODES], ":", color="#7b8794", label="what the tiers take"
    )
    axes.axhline(WITHOUT / 1e9, color="#d64545", linewidth=1, label="without a tier")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    ticks = [0.25, 0.5, 1, 2, 4, 8, 16, 32]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks(NODES, [f"{nodes}\n{8 * nodes}" for nodes in NODES])
    axes.set_xlabel("nodes, ranks")
    axes.set_ylabel("perceived bandwidth, GB/s")
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", type=Path, help="a PNG file to draw it to")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = table()
    if arguments.json:
        print(json.dumps(rows))
    else:
        for row in rows:
            print(
                f"{row['nodes']:3d} nodes  {row['perceived'] / 1e9:6.2f} GB/s  {row['hidden_share']:4.0%} hidden  {row['case']}"
            )
    if arguments.picture:
        try:
            draw(rows, arguments.picture)
        except OSError as error:
            print(f"{arguments.picture}: {error.strerror}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
