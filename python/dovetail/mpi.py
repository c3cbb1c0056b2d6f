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
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import _core
from .errors import MpiError as Error
from .future import Future
from .tasks import task

__all__ = ["Error", "future", "iwait", "iwaitall", "start", "wait", "waitall", "waitany"]


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


@contextmanager
def _noted(described: Any, count: int) -> Iterator[None]:
    """What MPI raises of requests says what they were."""
    try:
        yield
    except _mpi().Exception as failed:
        for text in filter(None, (described.text(number) for number in range(count))):
            failed.add_note(text if count == 1 else f"one of them: {text}")
        raise


def wait(request: Any, status: Any = None) -> Any:
    """Pauses the task until the request has ended, and returns what `request.wait(status)` returns: the object that `comm.irecv` receives, else
    None. Outside of a task it blocks. Raises `mpi4py.MPI.Exception` as that does; in a task, and with `libdovetail-mpi.so`, a note of the exception
    names the request's call, rank, tag and communicator. For a persistent request, too."""
    return waitall([request], None if status is None else [status])[0]


def waitall(requests: Iterable[Any], statuses: list[Any] | None = None) -> list[Any]:
    """The same for all of them: what `MPI.Request.waitall(requests, statuses)` returns."""
    all_of_them = list(requests)
    addresses, size = _addresses(all_of_them)
    if _core.in_task():
        described = _core.DescribedRequests(addresses, size)
        with _noted(described, len(all_of_them)):
            return _end_in_task(all_of_them, statuses, addresses, size)
    return _end(all_of_them, statuses)


def _end_in_task(requests: list[Any], statuses: list[Any] | None, addresses: list[int], size: int) -> list[Any]:
    while not _core.wait_for_requests(addresses, size):
        # A rank has died. Of a request that has failed, MPI says so in a call that ends it.
        ended, received = _test_all(requests, statuses)
        if ended:
            return received
    return _end(requests, statuses)


def _end(requests: list[Any], statuses: list[Any] | None) -> list[Any]:
    if len(requests) == 1:
        return [requests[0].wait(*(statuses or [])[:1])]
    return _each(requests, _mpi().Request.waitall(requests, statuses))


def _test_all(requests: list[Any], statuses: list[Any] | None) -> tuple[bool, list[Any]]:
    if len(requests) == 1:
        ended, received = requests[0].test(*(statuses or [])[:1])
        return ended, [received]
    ended, all_received = _mpi().Request.testall(requests, statuses)
    return ended, _each(requests, all_received)


def _each(requests: list[Any], received: list[Any] | None) -> list[Any]:
    return [None] * len(requests) if received is None else list(received)


def waitany(requests: Iterable[Any], status: Any = None) -> tuple[int, Any]:
    """Pauses the task until one of the requests has ended, and returns its place and what `wait` would return of it: what
    `MPI.Request.waitany(requests, status)` returns. The others stay as they are. Outside of a task it blocks."""
    all_of_them = list(requests)
    addresses, size = _addresses(all_of_them)
    if _core.in_task():
        described = _core.DescribedRequests(addresses, size)
        with _noted(described, len(all_of_them)):
            watched = [address for address, request in zip(addresses, all_of_them, strict=True) if request]
            while watched:
                place = _core.wait_for_one_request(watched, size)
                which, ended, received = _mpi().Request.testany(all_of_them, status)
                if ended:
                    return which, received
                if place < len(watched):
                    del watched[place]  # a persistent request that is not active
    which, received = _mpi().Request.waitany(all_of_them, status)
    return which, received


def iwait(request: Any, buffers: Any = None, status: Any = None) -> None:
    """The calling task completes no earlier than the request has ended, and fails with `Error` if it does. Returns at once. Only in a task.

    The request is taken over and becomes `MPI.REQUEST_NULL`; a persistent one stays, and can be started again when the task has completed.
    It is kept until then with the buffer that it knows, and so is `buffers`, whatever that is. `status` is an `MPI.Status`, which is written by then: for
    tasks that come after. Not for `comm.irecv`, whose object would be lost: `wait` returns it."""
    iwaitall([request], buffers, None if status is None else [status])


def iwaitall(requests: Iterable[Any], buffers: Any = None, statuses: Sequence[Any] | None = None) -> None:
    """The same for all of them. `statuses`: as many."""
    mpi = _mpi()
    all_of_them = list(requests)
    if statuses is not None and len(statuses) != len(all_of_them):
        raise ValueError(f"{len(statuses)} statuses for {len(all_of_them)} requests")
    for status in statuses or ():
        if not isinstance(status, mpi.Status):
            raise TypeError(f"not a status of mpi4py: {status!r}")
    for persistent in (False, True):
        places = [i for i, request in enumerate(all_of_them) if isinstance(request, mpi.Prequest) == persistent]
        if places:
            some = [all_of_them[i] for i in places]
            some_statuses = [statuses[i] for i in places] if statuses is not None else []
            _core.bind_requests(
                *_addresses(some),
                not persistent,
                [mpi._addressof(status) for status in some_statuses],
                mpi._sizeof(mpi.Status),
                (some, buffers, some_statuses),
            )


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
