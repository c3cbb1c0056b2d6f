"""Messages between the program and its worker processes.

A message has bytes and open files, which are the memory of arrays. It goes over a Unix socket that keeps the bounds of messages. Bytes that do
not fit into one message travel as a file in memory.
"""

from __future__ import annotations

import array
import errno
import os
import socket
import struct

# Below what an unprepared system gives a socket for sending.
_LARGEST = 64 * 1024
# Far more than any message carries; the kernel takes at most 253.
_MOST_FILES = 250
_DESCRIPTOR = array.array("i").itemsize
_SPACE = socket.CMSG_SPACE(_MOST_FILES * _DESCRIPTOR)
_HEADER = struct.Struct("<cBQ")  # where the payload is; the kind of the message; its number
_INLINE = b"i"
_OUTLINE = b"o"


class FilesLost(OSError):
    """A message came without all of its files, since the receiving process may open no more."""

    def __init__(self) -> None:
        super().__init__(
            errno.EMFILE,
            f"{os.strerror(errno.EMFILE)}: large arrays travel as open files, and this process may open no more (ulimit -n)",
        )


class Packet:
    """A message that is ready to be sent. It holds the files that it carries until it is dropped."""

    __slots__ = ("_kind", "_number", "_outline", "_owners", "content", "files")

    def __init__(self, kind: int, number: int, payload: bytes, files: list[int], owners: object = None) -> None:
        self._kind = kind
        self._number = number
        self._owners = owners  # of `files`
        self._outline = -1
        if len(payload) <= _LARGEST:
            self.content = _HEADER.pack(_INLINE, kind, number) + payload
            self.files = files
        else:
            self._move_out(payload, files)

    def _move_out(self, payload: bytes, files: list[int]) -> None:
        self._outline = os.memfd_create("dovetail-message", os.MFD_CLOEXEC)
        view = memoryview(payload)
        while view:
            view = view[os.write(self._outline, view) :]
        self.content = _HEADER.pack(_OUTLINE, self._kind, self._number)
        self.files = [*files, self._outline]

    def move_out(self) -> bool:
        """Has the payload travel as a file. False if it does already."""
        if self._outline >= 0:
            return False
        self._move_out(self.content[_HEADER.size :], self.files)
        return True

    def __del__(self) -> None:
        if getattr(self, "_outline", -1) >= 0:
            os.close(self._outline)


class Message:
    """A message that has come. Its files belong to the receiver, which takes those that it wants out of `files` and then closes the message."""

    __slots__ = ("_complete", "_content", "_outline", "files", "kind", "number")

    def __init__(self, content: bytes, files: list[int], complete: bool) -> None:
        place, self.kind, self.number = _HEADER.unpack_from(content)
        self.files = files
        self._complete = complete
        self._content = content[_HEADER.size :] if place == _INLINE else None
        self._outline = files.pop() if complete and place == _OUTLINE else -1

    def payload(self) -> bytes:
        """Raises OSError if the message is not complete."""
        if not self._complete:
            raise FilesLost
        if self._content is None:
            size = os.fstat(self._outline).st_size
            content = bytearray(size)
            view = memoryview(content)
            while view:
                view = view[os.preadv(self._outline, [view], size - len(view)) :]
            self._content = bytes(content)
        return self._content

    def close(self) -> None:
        while self.files:
            os.close(self.files.pop())
        if self._outline >= 0:
            os.close(self._outline)
            self._outline = -1


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

    def send(self, packet: Packet, *, wait: bool) -> bool:
        """Returns false if there is no room and `wait` is false."""
        while True:
            flags = socket.MSG_NOSIGNAL if wait else socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT
            try:
                if packet.files:
                    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", packet.files))
                    self._socket.sendmsg([packet.content], [rights], flags)
                else:
                    self._socket.send(packet.content, flags)
                return True
            except BlockingIOError:
                return False
            except OSError as error:
                # This system gives sockets less room than others do.
                if error.errno != errno.EMSGSIZE or not packet.move_out():
                    raise

    def receive(self, *, wait: bool) -> Message | None:
        """None when the other end is gone. Raises BlockingIOError if there is nothing and it is not to wait."""
        flags = socket.MSG_CMSG_CLOEXEC if wait else socket.MSG_CMSG_CLOEXEC | socket.MSG_DONTWAIT
        while True:
            try:
                content, ancillary, received, _ = self._socket.recvmsg(_HEADER.size + _LARGEST, _SPACE, flags)
                break
            except ConnectionResetError:
                # The other end has gone with messages unread. The socket reports that once, before the messages that the other end had sent.
                continue
        if not content:
            return None
        files: list[int] = []
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                files += array.array("i", data[: len(data) // _DESCRIPTOR * _DESCRIPTOR])
        return Message(content, files, not received & socket.MSG_CTRUNC)

    def close(self) -> None:
        self._socket.close()
