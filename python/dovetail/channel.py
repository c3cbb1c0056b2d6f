"""Messages between the program and its worker processes: bytes and open files (the memory of arrays) over a Unix socket that keeps the
bounds of messages. What does not fit into one message travels as a file in memory."""

from __future__ import annotations

import array
import mmap
import os
import socket

# Below what an unprepared system gives a socket for sending.
_LARGEST = 64 * 1024
_MOST_FILES = 200
_INLINE = b"i"
_OUTLINE = b"o"


class TooManyFiles(ValueError):
    """One message carries more arrays than the system allows."""


class Channel:
    """One end. One thread at a time sends, one at a time receives."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    @classmethod
    def pair(cls) -> tuple[Channel, socket.socket]:
        mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return cls(mine), other

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, payload: bytes, files: list[int]) -> None:
        """The descriptors in `files` stay the caller's."""
        if len(files) >= _MOST_FILES:
            raise TooManyFiles(
                f"{len(files)} large arrays in one call of a process task; the limit is {_MOST_FILES - 1}"
            )
        if len(payload) <= _LARGEST and not files:
            self._socket.send(_INLINE + payload)
            return
        if len(payload) <= _LARGEST:
            socket.send_fds(self._socket, [_INLINE + payload], files)
            return
        outline = os.memfd_create("dovetail-message", os.MFD_CLOEXEC)
        try:
            view = memoryview(payload)
            while view:
                view = view[os.write(outline, view) :]
            socket.send_fds(self._socket, [_OUTLINE], [*files, outline])
        finally:
            os.close(outline)

    def receive(self) -> tuple[bytes, list[int]] | None:
        """A message and its descriptors, which become the caller's. None when the other end is gone."""
        space = socket.CMSG_SPACE(_MOST_FILES * array.array("i").itemsize)
        while True:
            try:
                payload, ancillary, _, _ = self._socket.recvmsg(_LARGEST + 1, space, socket.MSG_CMSG_CLOEXEC)
                break
            except ConnectionResetError:
                # The other end has gone with messages unread. That is told once, and before what it had sent.
                continue
        if not payload:
            return None
        descriptors = array.array("i")
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(data)
        files = list(descriptors)
        if payload[:1] == _INLINE:
            return payload[1:], files
        outline = files.pop()
        try:
            with mmap.mmap(outline, 0, access=mmap.ACCESS_READ) as content:
                return content[:], files
        finally:
            os.close(outline)

    def close(self) -> None:
        self._socket.close()
