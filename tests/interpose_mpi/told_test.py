"""An MPI library that tells of a rank which has died (ULFM: Open MPI 5): tasks that wait for it fail, others go on. In C++ and by mpi4py.

Called with the program that starts its ranks, which is in the folder `bin` beside the library's `lib`, and the program that they run (ends.cpp).
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

from ends_test import RANKS, check_said, run

STARTER, PROGRAM = sys.argv[1:]
TOLD = "MPI_ERR_PROC_FAILED"
# The other ranks' tasks wait before rank 1 knows that they do, and dies.
BY_MPI4PY = """
import os
import signal
import sys

from mpi4py import MPI

import dovetail as dt

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
others = comm.Split(0 if rank != 1 else 1)


@dt.task
def waits():
    try:
        dt.mpi.wait(comm.irecv(source=1, tag=3))
    except MPI.Exception as error:
        return error.Get_error_string().split(":")[0]
    return "a message"


@dt.task
def ready():
    dt.mpi.wait(comm.isend(rank, dest=1, tag=6))


@dt.task
def sum_of_others():
    return dt.mpi.wait(others.irecv(source=1 - others.Get_rank(), tag=7))


if rank == 1:
    for _ in range(comm.Get_size() - 1):
        comm.recv(source=MPI.ANY_SOURCE, tag=6)
    open(sys.argv[2] + ".all_wait", "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
told = waits()
dt.wait(ready())  # on the only worker, after the other one has paused
print(f"rank {rank}: waits: {dt.wait(told)}", flush=True)
other = sum_of_others()
others.send(rank, dest=1 - others.Get_rank(), tag=7)
assert dt.wait(other) == 2 - rank
print(f"rank {rank}: went on", flush=True)
os._exit(0)  # MPI_Finalize would wait for the dead rank
"""


def check_mpi4py(command: list[str], environment: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.py")
        program.write_text(BY_MPI4PY)
        python = environment | {
            "DOVETAIL_WORKERS": "1",
            "MPI4PY_MPIABI": "openmpi",
            "PYTHONPATH": os.environ["DOVETAIL_BUILD_DIR"] + "/python",
        }
        done = run("mpi4py", [*command, sys.executable, str(program)], python)
    check_said("mpi4py", done, [f"waits: {TOLD}", "went on"])


def main() -> int:
    if not Path(STARTER).exists():
        print("skipped: no Open MPI 5 in .venv/ulfm, where `make setup` puts one")
        return 77
    environment = {
        "LD_LIBRARY_PATH": str(Path(STARTER).parents[1] / "lib"),
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    command = [STARTER, "--with-ft", "ulfm", "-n", str(RANKS)]
    done = run("are told", [*command, PROGRAM], environment)
    failed = "from rank 1 with tag {} in MPI_COMM_WORLD: " + TOLD + ": Process Failure"
    check_said(
        "are told",
        done,
        [
            "went on",
            f"receives: returned {TOLD}",
            f"sums: returned {TOLD}",
            "suspended: task 'suspended' failed: MPI_Recv " + failed.format(4),
            "bound: task 'bound' failed: MPI_Irecv " + failed.format(5),
            "went on",
        ],
    )
    if (
        importlib.util.find_spec("mpi4py")
        and Path(os.environ["DOVETAIL_BUILD_DIR"], "python/dovetail/_core.pyi").exists()
    ):
        check_mpi4py(command, environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
