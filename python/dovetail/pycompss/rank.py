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
from pathlib import Path
from typing import Any

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


def main() -> int:
    folder = Path(sys.argv[1])
    rank = _number(_RANK, "rank")
    size = _number(_SIZE, "number of ranks")
    install()
    tracking.in_body = True
    status = 0
    try:
        function, arguments, layouts = pickle.loads((folder / "call").read_bytes())
        for name, layout in layouts.items():
            arguments[name] = layout.part(arguments[name], rank, size)
        outcome = cloudpickle.dumps((True, _bound(function, arguments)))
    except Exception as error:
        traceback.print_exc()
        outcome = cloudpickle.dumps((False, error))
        status = 1
    (folder / f"rank{rank}").write_bytes(outcome)
    return status


if __name__ == "__main__":
    sys.exit(main())
