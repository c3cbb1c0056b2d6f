"""Ranks of MPI programs on one machine: what they need in their environment, and their end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

RANKS = 4
LIBRARIES = ("mpich", "openmpi")
# More ranks than cores, and as root where the program that starts them is run so.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


def end(starter: subprocess.Popen) -> None:
    """Ends a starter that leads a session of its own, with all that it has started. It ends its ranks when it is asked to, and may leave them when it is killed."""
    if starter.poll() is None:
        starter.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            starter.wait(timeout=5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(starter.pid, signal.SIGKILL)
