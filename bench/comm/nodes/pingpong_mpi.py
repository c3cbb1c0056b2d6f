"""8 bytes and a notification between tasks on two nodes that reach each other by MPI's messages, against MPI alone, in turn. MPI itself goes through the
memory of this machine for both, so only the way through Dovetail differs. Needs root: the nodes are network namespaces. Targets: nodes_pingpong,
rma_mpi_rank_LIBRARY, pingpong_plain_LIBRARY."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE / "scripts"))

import nodes  # noqa: E402

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def one_sided(place: nodes.Nodes, build: Path, library: str, rounds: int) -> float:
    """Nanoseconds of half a round trip."""
    rank = build / "lib" / f"librma_mpi_rank_{library}.so"
    program = ["env", f"LD_PRELOAD={rank}", str(build / "bin" / "ranks" / "nodes_pingpong"), str(rounds)]
    environment = os.environ | AS_ROOT | {"DOVETAIL_FABRIC": "mpi", "DOVETAIL_TEST_NODES": " ".join(place.names)}
    command = [f"mpiexec.{library}", "-n", "2", *program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    nanoseconds, transport = done.stdout.split(maxsplit=1)
    if not transport.startswith("MPI"):
        sys.exit(f"the ranks reach each other by {transport.strip()} and not by MPI")
    return float(nanoseconds)


def alone(build: Path, library: str, rounds: int) -> float:
    """The same of MPI's own calls."""
    command = [str(build / "bin" / f"pingpong_plain_{library}"), "--rounds", str(rounds), "--repeat", "1", "--json"]
    done = subprocess.run(command, env=os.environ | AS_ROOT, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["metrics"]["ns"][0])


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=Path, default=Path("build/release"))
    parser.add_argument("--library", default="mpich", choices=("mpich", "openmpi"))
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    build = arguments.build_dir.resolve()
    ours: list[float] = []
    peers: list[float] = []
    try:
        with nodes.two_nodes() as place:
            for _ in range(arguments.repeat):
                ours.append(one_sided(place, build, arguments.library, arguments.rounds))
                peers.append(alone(build, arguments.library, arguments.rounds))
    except nodes.NoNodes as reason:
        print(f"skipped: {reason}", file=sys.stderr)
        return 77
    except FileNotFoundError as missing:
        print(f"{missing.filename} is missing: see --help for the targets", file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as failed:
        print(f"{failed.cmd[0]} failed: {failed.stderr.strip()[-500:]}", file=sys.stderr)
        return 1
    ratio = statistics.median(our / peer for our, peer in zip(ours, peers, strict=True))
    print(
        f"{arguments.library}: one-sided by MPI {statistics.median(ours):.0f} ns ({min(ours):.0f} to {max(ours):.0f}), MPI alone "
        f"{statistics.median(peers):.0f} ns ({min(peers):.0f} to {max(peers):.0f}), ratio {ratio:.2f}"
    )
    return 0


sys.exit(main())
