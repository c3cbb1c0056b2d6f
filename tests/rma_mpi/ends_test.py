"""What ranks say when a group ends whose nodes reach each other by an MPI library: by every way of ending, and where it cannot begin."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
sys.path[:0] = [str(SOURCE / "scripts"), str(SOURCE / "tests" / "rma_ranks")]

STARTER, PROGRAM = sys.argv[1:3]
os.environ["DOVETAIL_TEST_MPI"] = STARTER
ABI = STARTER.split(":")[0]
ONLY = sys.argv[3:]  # cases; none: all

import hangs  # noqa: E402
import launcher  # noqa: E402
import nodes  # noqa: E402
import starters  # noqa: E402

BY_MPI = {"DOVETAIL_FABRIC": "mpi"}
NAME = {"mpich": r"MPI \(MPICH [\d.]+\)", "openmpi": r"MPI \(Open MPI [\d.]+\)"}[ABI]
LEFT = "rank 1 (process P) has ended its group"
DIED = "rank 1 (process P) has died"


def check(
    environment: dict[str, str],
    ranks: int,
    case: str,
    wanted: dict[str, list[int]],
    *,
    keep: bool = False,
    command: list[str] | None = None,
) -> None:
    """`wanted`: what ranks say, in any order. A backquote in it stands for anything, NAME for that of the library."""
    if ONLY and case not in ONLY:
        return
    done = hangs.run(
        command or starters.command(ranks, PROGRAM, case, keep=keep), timeout=200, env=os.environ | environment
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("rank ")]
    said = sorted(re.sub(r"process \d+", "process P", line) for line in lines)
    expected = sorted(f"rank {rank}: {line}" for line, of in wanted.items() for rank in of)

    def fits(pattern: str, line: str) -> bool:
        return re.fullmatch(re.escape(pattern).replace("`", ".*").replace("NAME", NAME), line) is not None

    # What stands behind a backquote changes the order.
    same = len(said) == len(expected) and all(any(fits(pattern, line) for line in said) for pattern in expected)
    if not same or (done.returncode != 0 and not keep):
        sys.exit(f"{case}\nstatus {done.returncode}\n{done.stdout}\n{done.stderr}\nwanted\n" + "\n".join(expected))


def main() -> None:
    with nodes.two_nodes() as place:
        node = {"DOVETAIL_TEST_NODES": " ".join(place.names)}
        by_mpi = node | BY_MPI
        check(by_mpi, 2, "again", {"right: NAME": [0, 1]})
        check(by_mpi, 4, "again", {"right: NAME": [0, 1, 2, 3]})
        check(by_mpi, 2, "notified", {"right": [0, 1]})
        check(by_mpi, 4, "beside", {"right": [0, 1, 2, 3]})
        check(by_mpi, 2, "left", {f"writes failed: {LEFT}": [0], "next group: right": [0, 1]})
        check(
            by_mpi,
            2,
            "finalised",
            {
                "before: nothing failed": [0],
                f"from it: rma::Error: notification 0 of segment 0 from rank 1 will not come: {LEFT}": [0],
                f"write: rma::Error: nothing can be sent: {LEFT}": [0],
                "write: rma::Error: `": [1],
            },
        )
        check(by_mpi, 4, "stopped", {"went on": [0], "right": [0, 1, 2, 3]})
        check(
            by_mpi,
            4,
            "died",
            {
                f"writes failed: {DIED}": [0],
                f"waits: rma::Error: notification 1 of segment 0 from rank 1 will not come: {DIED}": [2, 3],
                "went on": [0, 2, 3],
            },
            keep=True,
        )
        check(by_mpi, 2, "skipped", {f"barrier: rma::Error: ` {DIED}": [0], "ended": [0]}, keep=True)
        # By Open MPI itself, the ranks would find each other in that channel.
        if ABI == "mpich":
            check(
                by_mpi,
                4,
                "without channel",
                {
                    "start: Rank 1 has no channel by MPI_Comm_idup of MPI_COMM_WORLD, and says why": [0, 2, 3],
                    "start: MPI_Comm_idup of MPI_COMM_WORLD has failed": [1],
                    "right": [0, 1, 2, 3],
                },
            )
        # Where libfabric cannot be loaded, nobody has to ask for MPI. Open MPI's ranks find each other by MPI, if its starter knows of several nodes.
        if ABI == "mpich":
            check(node | {"DOVETAIL_TEST_NO_LIBFABRIC": "1"}, 2, "again", {"right: NAME": [0, 1]})
            check(
                by_mpi | {"DOVETAIL_TEST_LEVEL": "serialized"},
                2,
                "started",
                {"start: MPI cannot reach other nodes: it has been initialised without MPI_THREAD_MULTIPLE": [0, 0]},
            )
        else:
            # Another starter than that of the library: each process is one of its own for MPI.
            library = STARTER.split(":")[2]
            command = launcher.command(2, place.command, "env", f"LD_PRELOAD={library}", PROGRAM, "started", keep=True)
            check(
                BY_MPI,
                2,
                "started",
                {
                    "start: MPI cannot reach other nodes: this process is rank 0 of 1 in MPI_COMM_WORLD, and rank ` of 2 for its starter; the mpiexec of "
                    "the MPI library that the program uses must start it": [0, 0],
                },
                command=command,
            )


try:
    main()
except nodes.NoNodes as reason:
    print(f"skipped: {reason}")
    sys.exit(77)
