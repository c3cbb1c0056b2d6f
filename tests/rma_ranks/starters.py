"""The command that starts ranks: `dovetail launch`; or, where DOVETAIL_TEST_MPI is set, the starter of an MPI library, whose messages reach other nodes.

DOVETAIL_TEST_MPI is "ABI:MPIEXEC:LIBRARY"; the library (mpi_rank.cpp) initialises MPI in each rank and puts it on its node.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["DOVETAIL_SOURCE_DIR"], "scripts")))

import launcher  # noqa: E402

NODE = os.environ.get("DOVETAIL_TEST_NODE", "").split()  # runs a rank on its node; none: all run on this one
MPI = os.environ.get("DOVETAIL_TEST_MPI", "")
# The other ranks go on when one dies.
# MPICH's starter fails where it answers a rank that has ended: ranks ask it who has died. A shell keeps their connections open.
WRAPPER = ["bash", "-c", 'trap : USR1; "$@"; exit $?', "rank"]
KEEP = {"mpich": ["-disable-auto-cleanup"], "openmpi": ["--enable-recovery"]}


def has_nodes() -> bool:
    return bool(NODE or MPI)


def is_status(status: int, wanted: int) -> bool:
    """Whether the starter ends so where a rank does: that of MPI may end in any way after a death."""
    return status == wanted or bool(MPI and wanted > 128)


def command(count: int, *program: str, keep: bool = False) -> list[str]:
    """`keep`: the other ranks go on when one fails."""
    if not MPI:
        return launcher.command(count, *NODE, *program, keep=keep)
    abi, starter, library = MPI.split(":")
    ranks = ["env", f"LD_PRELOAD={library}", *program]
    if not keep:
        return [starter, "-n", str(count), *ranks]
    # What is left of MPI after a death may wait for the dead.
    return [starter, *KEEP[abi], "-n", str(count), *WRAPPER, "env", "DOVETAIL_TEST_NO_FINALIZE=1", *ranks]
