"""8 bytes and a notification between tasks on two nodes, against libfabric's own ping-pong (fi_pingpong, package libfabric-bin) over the same link and
provider, in turn. Where ucx_perftest is (package ucx-utils), UCX puts 8 bytes over the same link, too: without a notification, for which it would need
a fence and a second put. Needs root: the nodes are network namespaces."""

from __future__ import annotations

import argparse
import json
import os
import shutil
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
    printed = last_line(place, "fi_pingpong", "-p", provider, "-e", "rdm", "-S", "8", "-I", str(rounds))
    return float(printed[-2]) * 1000


def ucx(place: nodes.Nodes, rounds: int) -> float:
    """The same of ucx_perftest. Its columns are the test, the rounds, and the microseconds of each: half of them, the mean of late, of all."""
    printed = last_line(
        place, "env", "UCX_TLS=tcp", "ucx_perftest", "-t", "ucp_put_lat", "-s", "8", "-n", str(rounds), "-f"
    )
    return float(printed[3]) * 1000


def last_line(place: nodes.Nodes, *program: str) -> list[str]:
    """What the second process of the program prints at last, which is given the address of the first."""
    first, second = (["ip", "netns", "exec", name, *program] for name in place.names)
    with subprocess.Popen(first, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        for _ in range(100):  # until the server listens
            done = subprocess.run([*second, place.addresses[0]], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return done.stdout.splitlines()[-1].split()
            if server.poll() is not None:
                break
        server.kill()
        sys.exit(f"{program[0]}: {done.stderr}")


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
    puts: list[float] = []
    has_ucx = shutil.which("ucx_perftest") is not None
    try:
        with nodes.two_nodes() as place:
            for _ in range(arguments.repeat):
                ours.append(one_sided(place, arguments.program, arguments.provider, arguments.rounds))
                peers.append(libfabric(place, arguments.provider, arguments.rounds))
                if has_ucx:
                    puts.append(ucx(place, arguments.rounds))
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
    if has_ucx:
        report["ucx"] = {"median": statistics.median(puts), "samples": puts}
    if arguments.json:
        print(json.dumps(report))
    else:
        put = f"; a put of UCX {statistics.median(puts):.0f} ns" if has_ucx else ""
        print(
            f"one-sided {statistics.median(ours):.0f} ns, libfabric {statistics.median(peers):.0f} ns, ratio {ratio:.2f}{put}"
        )
    return 0


sys.exit(main())
