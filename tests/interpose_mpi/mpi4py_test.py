"""mpi4py as it is, in tasks of Python, under both MPI libraries: one worker, so that a call that holds it hangs.

Called with the name of a library and the program that starts its ranks. Status 77: mpi4py is not there.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
BUILD = Path(os.environ["DOVETAIL_BUILD_DIR"])
sys.path.insert(0, str(SOURCE / "scripts"))

import hangs  # noqa: E402

# Open MPI 4 has none of the calls that MPI 4 has added.
PRELOADED = {"mpich": ("dovetail-mpi", "dovetail-mpi4"), "openmpi": ("dovetail-mpi",)}
PROGRAM = """
import numpy as np
from mpi4py import MPI

import dovetail as dt

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
after, before = (rank + 1) % size, (rank - 1) % size
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE


@dt.task
def receive(tag):
    return comm.recv(source=before, tag=tag)  # MPI_Mprobe, MPI_Mrecv


@dt.task
def send(tag):
    comm.ssend({"from": rank, "tag": tag}, dest=after, tag=tag)


@dt.task(into=dt.OUT)
def receive_array(into, tag):
    request = comm.Irecv(into, source=before, tag=tag)
    request.Wait()


@dt.task
def total(array):
    return float(array.sum())


@dt.task
def sums():
    return comm.allreduce(rank)


@dt.task
def sums_over_a_copy():
    copy = comm.Dup()  # has no form with a request
    try:
        return copy.allreduce(rank)
    finally:
        copy.Free()


for turn in range(20):
    received = [receive(tag) for tag in range(10)]
    sent = [send(tag) for tag in reversed(range(10))]
    assert dt.wait(received) == [{"from": before, "tag": tag} for tag in range(10)]
    dt.wait(sent)
    into = np.zeros(1000)
    receive_array(into, 100)
    result = total(into)
    comm.Send(np.full(1000, rank + turn, dtype=float), dest=after, tag=100)  # outside of a task
    assert dt.wait(result) == 1000.0 * (before + turn)
    assert dt.wait(sums()) == size * (size - 1) // 2
    assert dt.wait(sums_over_a_copy()) == size * (size - 1) // 2


# `dt.mpi` names requests that mpi4py has begun.
@dt.task
def too_long(tag):
    dt.mpi.wait(comm.Irecv(np.ones(1), source=before, tag=tag))


@dt.task
def bound_too_long(tag):
    dt.mpi.iwait(comm.Irecv(np.ones(1), source=before, tag=tag))


@dt.task
def one_of_two_too_long(tag):
    dt.mpi.waitany([MPI.Request(), comm.Irecv(np.ones(1), source=before, tag=tag)])


for tag, fails in ((200, too_long), (201, bound_too_long), (202, one_of_two_too_long)):
    name = f"MPI_Irecv from rank {before} with tag {tag} in MPI_COMM_WORLD"
    failed = fails(tag)
    comm.Send(np.ones(100), dest=after, tag=tag)
    try:
        dt.wait(failed)
    except dt.TaskFailed as failure:
        cause = failure.__cause__
        said = str(cause) + "".join(getattr(cause, "__notes__", []))
        assert name.replace("Irecv", "Irecv_c") in said or name in said, repr(said)
    else:
        raise AssertionError("a message that is too long was received")
if rank == 0:
    print("right", flush=True)
"""


def run(text: str, preloads: bool) -> int:
    """Runs the program `text` in two ranks; it prints "right" at its end. Returns the status of a test."""
    library, starter = sys.argv[1:]
    if importlib.util.find_spec("mpi4py") is None:
        print("mpi4py is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.py")
        program.write_text(text)
        # mpi4py asks for MPICH by the name that its own library has; Debian's has another one.
        debians = Path("/usr/lib", os.uname().machine + "-linux-gnu", "libmpich.so.12")
        if library == "mpich" and debians.exists():
            Path(folder, "libmpi.so.12").symlink_to(debians)
        environment = {
            **os.environ,
            "DOVETAIL_WORKERS": "1",
            "LD_LIBRARY_PATH": folder,
            "LD_PRELOAD": " ".join(str(BUILD / "lib" / f"lib{name}.so") for name in PRELOADED[library] if preloads),
            "MPI4PY_MPIABI": library,
            "PYTHONPATH": str(BUILD / "python"),
        }
        # The starter itself is not to be preloaded, nor to find the folder.
        command = [starter, "-n", "2", "env"]
        command += [f"{name}={environment.pop(name)}" for name in ("LD_PRELOAD", "LD_LIBRARY_PATH")]
        done = hangs.run([*command, sys.executable, program], env=environment, timeout=120)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert "right" in done.stdout, f"{done.stdout}{done.stderr}"
    return 0


if __name__ == "__main__":
    sys.exit(run(PROGRAM, preloads=True))
