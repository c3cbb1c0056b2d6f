"""One rank of a task that is an MPI program in Python: `python -m dovetail.pycompss.rank FOLDER`, which `@mpi` starts.

The folder has the call; each rank writes what the function returned, or how it failed.
"""

from __future__ import annotations

import inspect
import os
import pickle
import sys
import traceback
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import cloudpickle

from . import install, tracking

# As starters of ranks tell them: of Open MPI, MPICH and those that speak PMI, Slurm.
_RANK = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
_SIZE = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")


def _number(names: tuple[str, ...], what: str) -> int:
    for name in names:
        if name in os.environ:
            return int(os.environ[name])
    sys.exit(f"dovetail: the starter of ranks does not tell the {what}: there is none of {', '.join(names)}")


def _bound(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Calls the function with arguments by name, those of `*args` and `**kwargs` among them."""
    bound = inspect.BoundArguments(inspect.signature(function), OrderedDict(arguments))
    return function(*bound.args, **bound.kwargs)


def _failure(error: BaseException, rank: int) -> bytes:
    """What the task raises. What would end its process, such as SystemExit, or cannot be sent there, is told by a RuntimeError."""
    if isinstance(error, Exception):
        with suppress(Exception):
            return bytes(cloudpickle.dumps((False, error)))
    return pickle.dumps((False, RuntimeError(f"rank {rank} ended by {type(error).__name__}: {error}")))


def _write(path: Path, outcome: bytes) -> None:
    """At once or not at all: the starter may end this rank at any time."""
    unfinished = path.with_name(f"unfinished-{path.name}")
    unfinished.write_bytes(outcome)
    unfinished.replace(path)


def _end_all() -> NoReturn:
    """Ends this rank at once, and by that the others, which may wait for it. An ordinary end would wait for them in MPI_Finalize."""
    sys.stdout.flush()
    sys.stderr.flush()
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized():
        mpi.COMM_WORLD.Abort(1)
    os._exit(1)


def main() -> int:
    folder = Path(sys.argv[1])
    rank = _number(_RANK, "rank")
    size = _number(_SIZE, "number of ranks")
    install()
    tracking.in_body = True
    try:
        function, arguments, layouts = pickle.loads((folder / "call").read_bytes())
        for name, layout in layouts.items():
            arguments[name] = layout.part(arguments[name], rank, size)
        outcome = cloudpickle.dumps((True, _bound(function, arguments)))
    except BaseException as error:
        traceback.print_exc()
        _write(folder / f"rank{rank}", _failure(error, rank))
        _end_all()
    _write(folder / f"rank{rank}", outcome)
    return 0


if __name__ == "__main__":
    sys.exit(main())
