"""The programs of tests/rma_ranks, on two nodes that reach each other by GASPI: started as gaspi_run starts ranks, and by `dovetail launch`.

Skipped where the library of GASPI (GPI-2) is not: DOVETAIL_GASPI_LIBRARY names it. With DOVETAIL_TEST_LONG all tests of ranks run there, which takes
minutes; else each program once, with four ranks.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
RANKS = SOURCE / "tests" / "rma_ranks"
sys.path.insert(0, str(SOURCE / "scripts"))

import hangs  # noqa: E402
import launcher  # noqa: E402
import nodes  # noqa: E402

ENDS, *PROGRAMS = sys.argv[1:]
RANKS_PROGRAM, DEATH, C_RANKS, PROGRAM_MEMORY, INBOX, SEGMENTS = PROGRAMS
SECONDS = 400
MOST_RANKS = 4
LIBRARY = os.environ.get("DOVETAIL_GASPI_LIBRARY", "libGPI2.so.0")
# A child would keep the ports and the connections of GPI-2, which expects neither.
BY_GASPI = {"DOVETAIL_FABRIC": "gaspi", "DOVETAIL_TEST_TRANSPORT": "GASPI", "DOVETAIL_TEST_NO_CHILD": "1"}


def of_gaspi(place: nodes.Nodes, folder: Path, rank: int | str, count: int | str, on_node: int | str) -> dict[str, str]:
    """What gaspi_run tells a rank. The file has the address of the node of each."""
    for size in range(1, MOST_RANKS + 1):
        lines = [place.addresses[number % 2] + "\n" for number in range(size)]
        (folder / f"machines{size}").write_text("".join(lines))
    told = {"RANK": rank, "NRANKS": count, "SOCKET": on_node, "MFILE": f"{folder}/machines{count}"}
    return {f"GASPI_{name}": str(value) for name, value in told.items()}


def node_command(place: nodes.Nodes, folder: Path) -> str:
    """Runs a rank of `dovetail launch` on its node, with what gaspi_run would tell it."""
    command = folder / "node"
    told = of_gaspi(place, folder, "$PMI_RANK", "$PMI_SIZE", "$((PMI_RANK / 2))")
    words = " ".join(f'{name}="{value}"' for name, value in told.items())
    command.write_text(f'#!/bin/sh\n{words} exec {place.command} "$@"\n')
    command.chmod(0o755)
    return str(command)


def run(environment: dict[str, str], *command: str) -> None:
    done = hangs.run(command, timeout=SECONDS, env=environment)
    if done.returncode != 0:
        sys.exit(f"{command}\nstatus {done.returncode}\n{done.stdout}\n{done.stderr}")


def run_as_gaspi_run(place: nodes.Nodes, folder: Path, count: int, program: str) -> None:
    """No other starter is there, and nothing chooses GASPI."""
    ranks = []
    for rank in range(count):
        told = {"DOVETAIL_TEST_TRANSPORT": "GASPI"} | of_gaspi(place, folder, rank, count, rank // 2)
        command = ["ip", "netns", "exec", place.names[rank % 2], program]
        ranks.append(subprocess.Popen(command, env=os.environ | told, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    said = [each.communicate(timeout=SECONDS)[0].decode() for each in ranks]
    statuses = [each.returncode for each in ranks]
    if any(statuses):
        sys.exit(f"{program}, as gaspi_run starts it: {statuses}\n" + "\n".join(said))


def main() -> None:
    try:
        ctypes.CDLL(LIBRARY)
    except OSError as missing:
        print(f"skipped: GASPI is not here ({missing}); DOVETAIL_GASPI_LIBRARY names its library")
        sys.exit(77)
    with nodes.two_nodes() as place, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for program in (RANKS_PROGRAM, C_RANKS):
            run_as_gaspi_run(place, folder, MOST_RANKS, program)
        command = node_command(place, folder)
        environment = os.environ | BY_GASPI | {"DOVETAIL_TEST_NODE": command}
        for program in (RANKS_PROGRAM, C_RANKS, PROGRAM_MEMORY, INBOX, SEGMENTS):
            run(environment, *launcher.command(MOST_RANKS, command, program))
        if os.environ.get("DOVETAIL_TEST_LONG"):
            run(environment, sys.executable, str(RANKS / "launch_test.py"), *PROGRAMS)
            run(environment, sys.executable, str(RANKS / "ends_test.py"), ENDS)


try:
    main()
except nodes.NoNodes as reason:
    print(f"skipped: {reason}")
    sys.exit(77)
