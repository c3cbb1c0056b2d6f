"""Messages of mpi4py as parts of tasks. A task that waits here gives its core to others.

    @dt.task(halo=dt.OUT)
    def receive(halo):
        dt.mpi.iwait(comm.Irecv(halo, source=left))  # the task completes when the message has come

    @dt.task
    def answer():
        return dt.mpi.wait(comm.irecv(source=left))  # the task pauses

Any request of mpi4py will do, under any MPI library that Dovetail was built for. MPI needs `MPI.THREAD_MULTIPLE`, which mpi4py asks for
by itself. A blocking call of mpi4py's own in a task, such as `comm.recv`, pauses the task only with `libdovetail-mpi.so`
(docs/messages.md).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from . import _core
from .errors import MpiError as Error
from .future import Future
from .tasks import task

__all__ = ["Error", "future", "iwait", "iwaitall", "start", "wait", "waitall"]


def _mpi() -> Any:
    """mpi4py.MPI, which a program with a request has imported. Importing it would initialise MPI."""
    try:
        return sys.modules["mpi4py.MPI"]
    except KeyError:
        raise TypeError("dovetail.mpi takes requests of mpi4py, and mpi4py.MPI has not been imported") from None


def _addresses(requests: Sequence[Any]) -> tuple[list[int], int]:
    """Where the handles lie, and the bytes of each."""
    mpi = _mpi()
    for request in requests:
        if not isinstance(request, mpi.Request):
            raise TypeError(f"not a request of mpi4py: {request!r}")
    return [mpi._addressof(request) for request in requests], mpi._sizeof(mpi.Request)


def wait(request: Any, status: Any = None) -> Any:
    """Pauses the task until the request has ended, and returns what `request.wait(status)` returns: the object that `comm.irecv` receives, else
    None. Outside of a task it blocks. Raises `mpi4py.MPI.Exception` as that does. For a persistent request, too."""
    return waitall([request], None if status is None else [status])[0]


def waitall(requests: Iterable[Any], statuses: list[Any] | None = None) -> list[Any]:
    """The same for all of them: what `MPI.Request.waitall(requests, statuses)` returns."""
    all_of_them = list(requests)
    addresses, size = _addresses(all_of_them)
    if _core.in_task():
        while not _core.wait_for_requests(addresses, size):
            # A rank has died. Of a request that has failed, MPI says so in a call that ends it.
            ended, received = _test_all(all_of_them, statuses)
            if ended:
                return received
    if len(all_of_them) == 1:
        return [all_of_them[0].wait(*(statuses or [])[:1])]
    return _each(all_of_them, _mpi().Request.waitall(all_of_them, statuses))


def _test_all(requests: list[Any], statuses: list[Any] | None) -> tuple[bool, list[Any]]:
    if len(requests) == 1:
        ended, received = requests[0].test(*(statuses or [])[:1])
        return ended, [received]
    ended, all_received = _mpi().Request.testall(requests, statuses)
    return ended, _each(requests, all_received)


def _each(requests: list[Any], received: list[Any] | None) -> list[Any]:
    return [None] * len(requests) if received is None else list(received)


def iwait(request: Any, buffers: Any = None) -> None:
    """The calling task completes no earlier than the request has ended, and fails with `Error` if it does. Returns at once. Only in a task.

    The request is taken over and becomes `MPI.REQUEST_NULL`; a persistent one stays, and can be started again when the task has completed.
    It is kept until then with the buffer that it knows, and so is `buffers`, whatever that is. Not for `comm.irecv`, whose object would be
    lost: `wait` returns it."""
    iwaitall([request], buffers)


def iwaitall(requests: Iterable[Any], buffers: Any = None) -> None:
    """The same for all of them."""
    mpi = _mpi()
    all_of_them = list(requests)
    for persistent in (False, True):
        some = [request for request in all_of_them if isinstance(request, mpi.Prequest) == persistent]
        if some:
            _core.bind_requests(*_addresses(some), not persistent, (some, buffers))


def start(request: Any, buffers: Any = None) -> None:
    """Starts a persistent request and binds its end to the calling task, as `iwait`."""
    if not isinstance(request, _mpi().Prequest):
        raise TypeError(f"not a persistent request of mpi4py: {request!r}")
    (address,), size = _addresses([request])
    _core.start_request(address, size, (request, buffers))


@task
def _wait(request: Any) -> Any:
    return wait(request)


def future(request: Any) -> Future[Any]:
    """A future of what `wait` would return. For `await` in `async def` tasks, for `dovetail.wait_for_any`, and as an argument of tasks."""
    _addresses([request])
    made: Future[Any] = _wait(request)
    return made
