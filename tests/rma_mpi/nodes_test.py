"""The programs of tests/rma_ranks, on two nodes that reach each other by the messages of an MPI library.

With DOVETAIL_TEST_LONG all tests of ranks run there, which takes minutes; else each program once, with two ranks.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
RANKS = SOURCE / "tests" / "rma_ranks"
sys.path[:0] = [str(SOURCE / "scripts"), str(RANKS)]

STARTER, ENDS, *PROGRAMS = sys.argv[1:]
os.environ["DOVETAIL_TEST_MPI"] = STARTER

import hangs  # noqa: E402
import nodes  # noqa: E402
import starters  # noqa: E402

SECONDS = 400
PACKAGE = Path(os.environ["DOVETAIL_BUILD_DIR"], "python")
HAS_PYTHON = Path(PACKAGE, "dovetail", "_core.pyi").exists()
RANKS_PROGRAM, DEATH, C_RANKS, PROGRAM_MEMORY, INBOX, SEGMENTS = PROGRAMS
BY_MPI = {"DOVETAIL_FABRIC": "mpi", "DOVETAIL_TEST_TRANSPORT": "MPI"}


def run(environment: dict[str, str], *command: str) -> None:
    done = hangs.run(command, timeout=SECONDS, env=environment)
    if done.returncode != 0:
        sys.exit(f"{command}\nstatus {done.returncode}\n{done.stdout}\n{done.stderr}")


def main() -> None:
    with nodes.two_nodes() as place:
        environment = os.environ | BY_MPI | {"DOVETAIL_TEST_NODES": " ".join(place.names)}
        is_long = bool(os.environ.get("DOVETAIL_TEST_LONG"))
        for ranks in (2, 4) if is_long else (2,):
            for program in (RANKS_PROGRAM, C_RANKS, PROGRAM_MEMORY, INBOX, SEGMENTS):
                run(environment, *starters.command(ranks, program))
            if HAS_PYTHON:
                python = environment | {"PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}
                run(python, *starters.command(ranks, sys.executable, str(RANKS / "python_ranks.py")))
        if is_long:
            run(environment, sys.executable, str(RANKS / "launch_test.py"), *PROGRAMS)
            run(environment, sys.executable, str(RANKS / "ends_test.py"), ENDS)


try:
    main()
except nodes.NoNodes as reason:
    print(f"skipped: {reason}")
    sys.exit(77)
