"""8 bytes and a notification between tasks on two nodes, against libfabric's own ping-pong (fi_pingpong, package libfabric-bin) over the same link and
provider, in turn. Needs root: the nodes are network namespaces."""

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

import launcher  # noqa: E402
import nodes  # noqa: E402


def one_sided(place: nodes.Nodes, program: Path, provider: str, rounds: int) -> float:
    """Nanoseconds of half a round trip."""
    command = launcher.command(2, place.command, str(program), str(rounds))
    environment = os.environ | {"DOVETAIL_FABRIC": provider}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0])


def libfabric(place: nodes.Nodes, provider: str, rounds: int) -> float:
    """The same of fi_pingpong, whose last column but one is microseconds for each transfer."""
    options = ["fi_pingpong", "-p", provider, "-e", "rdm", "-S", "8", "-I", str(rounds)]
    first, second = (["ip", "netns", "exec", name, *options] for name in place.names)
    with subprocess.Popen(first, stdout=subprocess.DEVNULL) as server:
        for _ in range(100):  # until the server listens
            done = subprocess.run([*second, place.addresses[0]], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                break
            if server.poll() is not None:
                sys.exit(f"fi_pingpong: {done.stderr}")
        else:
            server.kill()
            sys.exit(f"fi_pingpong: {done.stderr}")
    return float(done.stdout.splitlines()[-1].split()[-2]) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--provider", default="tcp;ofi_rxm")
    parser.add_argument("--rounds", type=int, default=5000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    ours: list[float] = []
    peers: list[float] = []
    try:
        with nodes.two_nodes() as place:
            for _ in range(arguments.repeat):
                ours.append(one_sided(place, arguments.program, arguments.provider, arguments.rounds))
                peers.append(libfabric(place, arguments.provider, arguments.rounds))
    except nodes.NoNodes as reason:
        print(f"skipped: {reason}", file=sys.stderr)
        return 77
    except FileNotFoundError as missing:
        print(f"{missing.filename} is missing: install libfabric-bin", file=sys.stderr)
        return 2
    ratio = statistics.median(our / peer for our, peer in zip(ours, peers, strict=True))
    report = {
        "provider": arguments.provider,
        "unit": "ns for half a round trip",
        "one-sided": {"median": statistics.median(ours), "samples": ours},
        "libfabric": {"median": statistics.median(peers), "samples": peers},
        "ratio": ratio,
    }
    if arguments.json:
        print(json.dumps(report))
    else:
        print(
            f"one-sided {statistics.median(ours):.0f} ns, libfabric {statistics.median(peers):.0f} ns, ratio {ratio:.2f}"
        )
    return 0


sys.exit(main())
