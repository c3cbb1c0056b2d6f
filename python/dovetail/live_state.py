"""What a program that runs tells `dovetail top`: its tasks by type, and the devices that they are admitted to.

The program listens at a socket of the kernel's own names, which goes when the process does, however it ends. A thread waits there for somebody who asks. Until then
it costs nothing, and what it answers is counted in any case. Only the program's own user, and root, get an answer.
"""

from __future__ import annotations

import _socket  # `socket` takes longer to import than all of this package
import _thread
import os
import struct
import sys
import time
from collections.abc import Callable

from . import _core
from .imported import imported
from .logger import logger

PEER = struct.Struct("iII")  # process, user, group
_WAITING_READERS = 4
# A reader that takes nothing must not keep others from asking.
_SECONDS = 5.0

_listener: _socket.socket | None = None
_started = 0.0
_workers: Callable[[], int]


def name_of(user: int, process: int) -> str:
    """Of the socket, without the zero that begins such names."""
    return f"dovetail-program-{user}-{process}"


def tell_who_asks(workers: Callable[[], int]) -> None:
    """From now on `dovetail top` sees this process. `workers`: how many threads compute now. A program that may open no socket or start no thread runs without."""
    global _listener, _started, _workers
    if _listener is not None:
        return
    _started, _workers = time.monotonic(), workers
    try:
        listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
        try:
            listener.bind(b"\0" + name_of(os.getuid(), os.getpid()).encode())
            listener.listen(_WAITING_READERS)
            _thread.start_new_thread(_serve, (listener,))
        except BaseException:
            listener.close()
            raise
    except (OSError, RuntimeError) as error:
        logger.debug("dovetail top will not see this program: %s", error)
        return
    _listener = listener


def peer_of(connection: _socket.socket) -> tuple[int, int]:
    """Process and user at the other end."""
    process, user, _ = PEER.unpack(connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, PEER.size))
    return process, user


def _serve(listener: _socket.socket) -> None:
    while True:
        try:
            descriptor, _ = listener._accept()  # type: ignore[attr-defined]
        except OSError as error:
            # No descriptor is left for the reader, who waits in the queue: asking again at once would keep a core busy.
            logger.debug("dovetail top gets no answer for now: %s", error)
            time.sleep(_SECONDS)
            continue
        connection = _socket.socket(fileno=descriptor)
        try:
            if peer_of(connection)[1] in (os.getuid(), 0):
                connection.settimeout(_SECONDS)
                connection.sendall(_state().encode())
        except Exception as error:
            # The reader has gone, or a runtime ended meanwhile: the next one that asks gets an answer.
            logger.debug("dovetail top got no answer: %s", error)
        finally:
            connection.close()


def _state() -> str:
    import json  # takes long

    known = {
        "process": os.getpid(),
        "program": sys.orig_argv,
        "seconds": time.monotonic() - _started,
        "workers": _workers(),
        "worker_processes": []
        if (processes := imported("dovetail.processes")) is None
        else processes.worker_processes(),
        "types": [
            dict(zip(("label", "kind", "made", "running", "completed", "failed"), row, strict=True))
            for row in _core.task_types()
        ],
    }
    # As text: the reader takes it apart, not the program.
    return f'{json.dumps(known)[:-1]}, "admission": {_core.admission_report()}}}'


def _forget() -> None:
    """The socket is that of the parent of this fork, and its thread is not here."""
    global _listener
    if _listener is not None:
        _listener.close()
        _listener = None


os.register_at_fork(after_in_child=_forget)
