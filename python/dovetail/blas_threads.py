"""While several bodies compute at the same time, the threads of BLAS are shared out among the workers.

NumPy's and SciPy's BLAS computes each product with as many threads as there are cores. Where several tasks do that at once, these threads take the cores from each other, and
from the workers. A body that computes alone keeps all of them.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from . import _core
from .imported import imported
from .logger import logger

# If one of these is set, the number of threads is the user's.
VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
)


class SharedOut:
    """Called with True when a second body begins to compute, and with False when none computes any more. Under the interpreter's lock."""

    def __init__(self) -> None:
        self._libraries: list[Any] = []
        self._modules = 0  # that were imported when the libraries were looked for
        self._lowered: list[tuple[Any, int, int]] = []  # what had how many threads, and has how many now
        self._told = False

    def __call__(self, several: bool) -> bool:
        """Returns whether there are libraries that have fewer threads now."""
        if several:
            self._lower()
            return bool(self._lowered)
        lowered, self._lowered = self._lowered, []
        for library, before, now in lowered:
            if library.get_num_threads() == now:  # else the program has set it meanwhile
                _set(library, before)
        return False

    def _lower(self) -> None:
        if imported("numpy") is None or any(name in os.environ for name in VARIABLES):
            return
        most = max(1, len(os.sched_getaffinity(0)) // max(1, _core.workers()))
        for library in self._found():
            before = library.get_num_threads()
            if before is not None and before > most and _set(library, most):
                self._lowered.append((library, before, most))
        if self._lowered and not self._told:
            self._told = True
            logger.info("BLAS computes with %d of its threads while several tasks compute", most)

    def _found(self) -> list[Any]:
        if self._modules != len(sys.modules):
            with contextlib.suppress(ImportError):  # an installation without pip may lack it
                from threadpoolctl import ThreadpoolController

                self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            self._modules = len(sys.modules)
        return self._libraries


def _set(library: Any, threads: int) -> bool:
    """Whether that has taken effect. It does not while the program itself limits the library by `threadpoolctl` in another thread."""
    library.set_num_threads(threads)
    # Newer versions of OpenBLAS's controller leave the library to the thread that sets it, until that gives it back.
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread()
    return bool(library.get_num_threads() == threads)


_core.set_computing_reporter(SharedOut())
