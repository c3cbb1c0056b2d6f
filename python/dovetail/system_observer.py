"""`--system`: a program is followed through the kernel's events, by a process of its own beside it (tools/observer).

The program is started as without it: by this process, with its descriptors, its signals and its group. It only waits until the observer knows it.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import preload

PROGRAM = "dovetail-observer"
_READY = b"ready"
_LONGEST_SENTENCE = 4096
_NUMBER = struct.Struct("=i")
_LOST = struct.Struct("=Q")
# For an answer of the observer, which takes a millisecond. After that the program runs, or `dovetail` ends, without it.
_SECONDS = 10.0


class Unavailable(Exception):
    """The kernel's events cannot be had; the message says what is missing."""


def _program() -> str:
    for prefix in (Path(__file__).absolute().parents[2], *preload.prefixes()):
        file = prefix / "bin" / PROGRAM
        if file.is_file():
            return str(file)
    found = shutil.which(PROGRAM)
    if found is None:
        raise Unavailable(f"the program {PROGRAM} is not installed beside {Path(__file__).parent}")
    return found


class Observer:
    """The process that follows a program. It belongs to no terminal, so that it ends with this one alone."""

    def __init__(self, process: subprocess.Popen[bytes], channel: socket.socket) -> None:
        self._process = process
        self._channel = channel

    def run(self, words: list[str]) -> int:
        """Runs the program, whose reads are seen from its first on. Its status, negative for a signal. Raises preload.Refused."""
        return preload.wait_for(words, dict(os.environ), self._introduce)

    def _introduce(self) -> None:
        """In the process that is about to become the program. Without an answer it becomes it all the same."""
        with contextlib.suppress(OSError):
            self._channel.send(_NUMBER.pack(os.getpid()))
            if select.select([self._channel], [], [], _SECONDS)[0]:
                self._channel.recv(1)

    def finish(self) -> int | None:
        """Waits until all is told. How many events were lost; None: the observer has ended before the program."""
        told = b""
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)
            self._channel.settimeout(_SECONDS)
            told = self._channel.recv(_LOST.size)
        if not told:
            # It may be held up by a device that does not answer.
            self._process.kill()
        self._process.wait()
        return _LOST.unpack(told)[0] if len(told) == _LOST.size else None


def _sentence(process: subprocess.Popen[bytes], said: bytes) -> str:
    if said:
        return os.fsdecode(said)
    # What the loader says, of a library that is not there.
    assert process.stderr is not None
    lines = os.fsdecode(process.stderr.read(_LONGEST_SENTENCE)).strip().splitlines()
    return f"{PROGRAM} has ended: {lines[-1] if lines else f'exit status {process.wait()}'}"


@contextlib.contextmanager
def started(memory: int, paths: Sequence[str] = ()) -> Iterator[Observer]:
    """An observer that waits for a program. `memory`: the log that it writes; or, with `paths`, the plan whose advice it gives, and the files of that plan.
    Raises Unavailable."""
    words = [_program()]
    with contextlib.ExitStack() as stack:
        channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stack.callback(channel.close)
        descriptors = [memory, other.fileno()]
        words += ["--memory", str(memory), "--channel", str(other.fileno())]
        if paths:
            content = b"".join(os.fsencode(path) + b"\0" for path in paths)
            names, _ = stack.enter_context(preload.shared_memory("dovetail-paths", content, len(content)))
            descriptors.append(names)
            words += ["--paths", str(names)]
        try:
            with other:
                process = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                    pass_fds=descriptors, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise Unavailable(f"{words[0]}: {error.strerror}") from error
        stack.enter_context(process)
        # It ends when the channel does.
        stack.callback(channel.close)
        said = channel.recv(_LONGEST_SENTENCE)
        if said != _READY:
            raise Unavailable(_sentence(process, said))
        yield Observer(process, channel)
