"""The advisor that several programs of a user share: starting it, finding it, and asking how it does (tools/advisord)."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from . import advice_memory, preload
from .advice_configuration import ConfigurationError, read
from .plan_report import Advised

_GREETING = b"DTADV001"
_BAD_USAGE = 2
_SECONDS = 5.0
_PEER = struct.Struct("iII")


class NoAdvisor(Exception):
    """There is no advisor to be had; the message says why."""


def socket_path() -> Path:
    """Where the advisor of this user is: a folder that no other user can enter. Raises NoAdvisor."""
    chosen = os.environ.get("DOVETAIL_ADVISORD_SOCKET")
    if chosen:
        return Path(chosen)
    own = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(own) / "dovetail" if own and os.path.isdir(own) else Path(f"/tmp/dovetail-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise NoAdvisor(f"{folder}: {error.strerror}") from error
    # In a folder for all users another one may have made this name.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise NoAdvisor(f"{folder}: is not a folder that belongs to this user alone")
    return folder / "advisord.sock"


def serve(configuration: Path, stay: bool, program: str) -> NoReturn:
    """Becomes the advisor, whose program lies there. Ends with status 2 if there is something wrong."""
    try:
        content, size = advice_memory.content(read(configuration))
        path = socket_path()
    except (ConfigurationError, NoAdvisor) as error:
        print(f"dovetail advisord: {error}", file=sys.stderr)
        sys.exit(_BAD_USAGE)
    with preload.shared_memory("dovetail-advice", content, size) as (memory, _):
        os.set_inheritable(memory, True)
        sys.stdout.flush()
        words = [program, "--memory", str(memory), "--socket", str(path), *(["--stay"] if stay else [])]
        os.execv(program, words)


@contextlib.contextmanager
def connected(says: bytes) -> Iterator[tuple[int, int, socket.socket]]:
    """The memory of the advisor, its size, and the connection, which stays open meanwhile. `says`: `r` for a run, `s` for a look. Raises NoAdvisor."""
    path = socket_path()
    memories: list[int] = []
    with contextlib.ExitStack() as stack:
        try:
            connection = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            connection.settimeout(_SECONDS)
            connection.connect(str(path))
            peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
            if _PEER.unpack(peer)[1] != os.getuid():
                raise NoAdvisor(f"{path}: the advisor there is another user's")
            greeting, memories, _, _ = socket.recv_fds(connection, len(_GREETING), 1)
            for memory in memories:
                # The program must not inherit it.
                os.set_inheritable(memory, False)
                stack.callback(os.close, memory)
            if greeting != _GREETING or len(memories) != 1:
                raise NoAdvisor(f"{path}: what listens there is no advisor, or one of another version")
            connection.sendall(says)
        except TimeoutError as error:
            raise NoAdvisor(f"{path}: the advisor does not answer") from error
        except OSError as error:
            raise NoAdvisor(f"{path}: {error.strerror}") from error
        yield memories[0], os.fstat(memories[0]).st_size, connection


def watch(connection: socket.socket, memory: int) -> None:
    """From now on, if the advisor ends before the program, programs give their advice themselves."""

    def wait() -> None:
        connection.settimeout(None)
        # However it has ended: it says nothing.
        with contextlib.suppress(OSError):
            connection.recv(1)
        with contextlib.suppress(OSError):
            advice_memory.leave(memory)

    threading.Thread(target=wait, name="advisor", daemon=True).start()


def status() -> list[Advised]:
    """What the advisor has done for each file. Raises NoAdvisor."""
    with connected(b"s") as (memory, size, _):
        return list(advice_memory.advised(memory, size))
