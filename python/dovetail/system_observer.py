"""`--system`: a program is followed through the kernel's events, by a process of its own beside it (tools/observer).

The program is started as without it: by this process, with its descriptors, its signals and its group. It only waits until the observer knows it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import preload

PROGRAM = "dovetail-observer"
_READY = b"ready"
_LONGEST_SENTENCE = 4096
_NUMBER = struct.Struct("=i")
_LOST = struct.Struct("=Q")
# For an answer of the observer, which takes a millisecond. After that the program runs, or `dovetail` ends, without it.
_SECONDS = 10.0
# For loading what the kernel runs, and opening the files of a plan.
_SECONDS_TO_BEGIN = 60.0


class Unavailable(Exception):
    """The kernel's events cannot be had; the message says what is missing."""


def _program() -> str:
    found = preload.program(PROGRAM)
    if found is None:
        raise Unavailable(f"the program {PROGRAM} is not installed beside {Path(__file__).parent}")
    return found


class Observer:
    """The process that follows a program. It belongs to no terminal, so that it ends with this one alone."""

    def __init__(self, process: subprocess.Popen[bytes], channel: socket.socket) -> None:
        self._process = process
        self._channel = channel

    def run(self, words: list[str], beside: contextlib.AbstractContextManager[None] = preload.NOTHING_BESIDE) -> int:
        """Runs the program, whose reads are seen from its first on. `beside`: as for preload.wait_for. Its status, negative for a signal. Raises
        preload.Refused."""
        return preload.wait_for(words, dict(os.environ), self._introduce, beside)

    def _introduce(self) -> None:
        """In the process that is about to become the program. Without an answer it becomes it all the same."""
        # Whatever goes wrong here, the program runs.
        with contextlib.suppress(Exception):
            self._channel.settimeout(_SECONDS)
            self._channel.send(_NUMBER.pack(os.getpid()))
            self._channel.recv(1)

    def finish(self) -> int | None:
        """Waits until all is told. How many events were lost; None: the observer has ended before the program."""
        told = b""
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)
            self._channel.settimeout(_SECONDS)
            told = self._channel.recv(_LOST.size)
            # The answer to a program that did not wait for it any more.
            while len(told) == 1:
                told = self._channel.recv(_LOST.size)
        _end(self._process, 0 if len(told) != _LOST.size else _SECONDS)
        return _LOST.unpack(told)[0] if len(told) == _LOST.size else None


def _end(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Waits for its end, which comes by itself within so many seconds, and no longer: it may be held up by a device that does not answer."""
    for patience in (seconds, _SECONDS):
        try:
            process.wait(patience)
            break
        except subprocess.TimeoutExpired:
            process.kill()
    if process.stderr is not None:
        process.stderr.close()


def _sentence(process: subprocess.Popen[bytes], said: bytes) -> str:
    if said:
        return os.fsdecode(said)
    # What the loader says, of a library that is not there.
    assert process.stderr is not None
    lines = os.fsdecode(process.stderr.read(_LONGEST_SENTENCE)).strip().splitlines()
    return f"{PROGRAM} has ended: {lines[-1] if lines else f'exit status {process.wait()}'}"


@dataclass(frozen=True, slots=True)
class Memories:
    """Descriptors of what an observer gives advice by: a plan, with the paths of its files; rules; files that are watched for patterns. None: not by that."""

    plan: int | None = None
    paths: Sequence[str] = ()
    rules: int | None = None
    detection: int | None = None


@contextlib.contextmanager
def started(work: int | Memories) -> Iterator[Observer]:
    """An observer that waits for a program. `work`: the log that it writes, or what it gives advice by. Raises Unavailable."""
    asked = Memories(plan=work) if isinstance(work, int) else work
    words = [_program()]
    with contextlib.ExitStack() as stack:
        try:
            channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            stack.callback(channel.close)
            descriptors = [other.fileno()]
            words += ["--channel", str(other.fileno())]
            for option, memory in (("memory", asked.plan), ("rules", asked.rules), ("detection", asked.detection)):
                if memory is not None:
                    descriptors.append(memory)
                    words += [f"--{option}", str(memory)]
            if asked.paths:
                content = b"".join(os.fsencode(path) + b"\0" for path in asked.paths)
                names, _ = stack.enter_context(preload.shared_memory("dovetail-paths", content, len(content)))
                descriptors.append(names)
                words += ["--paths", str(names)]
            with other:
                process = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                    pass_fds=descriptors, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise Unavailable(f"{words[0]}: {error.strerror}") from error
        stack.callback(_end, process, _SECONDS)
        # It ends when the channel does.
        stack.callback(channel.close)
        channel.settimeout(_SECONDS_TO_BEGIN)
        try:
            said = channel.recv(_LONGEST_SENTENCE)
        except TimeoutError as error:
            process.kill()
            raise Unavailable(f"{PROGRAM} has not begun after {_SECONDS_TO_BEGIN:.0f} s") from error
        if said != _READY:
            raise Unavailable(_sentence(process, said))
        yield Observer(process, channel)
