"""`dovetail launch -n 4 program`: starts the processes of a program that communicate, on this node, without MPI. Each finds the others through
this one by PMI 1, the protocol of MPICH's starter. It has lines of `key=value` words on a descriptor that the process inherits."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

_SECONDS_TO_END = 5.0
_LONGEST_LINE = 4096  # bytes; several times what a question of the longest key and value has


def _tell(sentence: str) -> None:
    with contextlib.suppress(OSError):  # the reader of standard error may have ended; the ranks go on
        print(f"dovetail launch: {sentence}", file=sys.stderr, flush=True)


@dataclass
class _Rank:
    """One process, and what it has written of a line."""

    process: subprocess.Popen[bytes]
    connection: socket.socket
    begun: bytes = b""
    told_to_end: bool = False
    kill_at: float = math.inf  # by time.monotonic


@dataclass
class _Ranks:
    """All processes, and the exit status of the launch: that of the first failure. `keep`: the others go on when one fails."""

    keep: bool
    all: list[_Rank] = field(default_factory=list)
    status: int | None = None

    def start(self, command: list[str], count: int) -> None:
        for number in range(count):
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            told = {"PMI_FD": str(theirs.fileno()), "PMI_RANK": str(number), "PMI_SIZE": str(count)}
            with theirs:
                process = subprocess.Popen(command, env=os.environ | told, pass_fds=[theirs.fileno()])
            self.all.append(_Rank(process, ours))

    def fail(self, number: int, status: int, how: str) -> None:
        """Ends the rank, and the others unless they are to go on."""
        if not self.all[number].told_to_end:
            _tell(f"rank {number} {how}")
        if self.status is None:
            self.status = status
        for rank in [self.all[number]] if self.keep else self.all:
            if not rank.told_to_end:
                rank.told_to_end, rank.kill_at = True, time.monotonic() + _SECONDS_TO_END
                rank.process.send_signal(signal.SIGTERM)

    def ended(self, number: int) -> None:
        code = self.all[number].process.wait()
        if code != 0:
            status = code if code > 0 else 128 - code
            self.fail(number, status, f"ended with status {status}")
        self.all[number].kill_at = math.inf

    def kill_late(self) -> float | None:
        """Kills those that were told to end long ago. Returns the seconds until the next is to be killed."""
        now = time.monotonic()
        for rank in self.all:
            if rank.kill_at <= now:
                rank.kill_at = math.inf
                rank.process.kill()
        first = min(rank.kill_at for rank in self.all)
        return None if first == math.inf else first - now

    def pass_on(self, number: int) -> None:
        """The ranks are in the group of this process: in its foreground, the terminal sends Ctrl-C to them, too."""
        with contextlib.suppress(OSError), open("/dev/tty", "rb", buffering=0) as terminal:
            if number == signal.SIGINT and os.tcgetpgrp(terminal.fileno()) == os.getpgrp():
                return
        self.send(number)

    def send(self, number: int) -> None:
        for rank in self.all:
            with contextlib.suppress(PermissionError):  # it runs as another user now
                rank.process.send_signal(number)


@dataclass
class _Server:
    """Answers what the ranks ask. They have one table of words in common, and a barrier."""

    ranks: _Ranks
    table: dict[str, str] = field(default_factory=dict)
    at_barrier: set[int] = field(default_factory=set)
    barrier_result: str = "rc=0"
    asked: bool = False  # some rank has

    def receive(self, number: int) -> bool:
        """Takes what a rank has written. False: there is nothing, as its end of the connection is closed."""
        rank = self.ranks.all[number]
        data = b""
        with contextlib.suppress(ConnectionResetError):  # it has ended before it read an answer
            data = rank.connection.recv(_LONGEST_LINE)
        *lines, rest = (rank.begun + data).split(b"\n")
        rank.begun = rest[: _LONGEST_LINE + 1]  # enough to see that it is too long
        for line in lines:
            self._answer(number, line)
        return bool(data)

    def leave(self, number: int) -> None:
        """A rank has ended: no barrier will be complete any more."""
        if self.barrier_result == "rc=0":
            self.barrier_result = f"rc=-1 msg=rank_{number}_has_ended"
        self._open_barrier()

    def _answer(self, number: int, line: bytes) -> None:
        self.asked = True
        words: list[str] = []
        with contextlib.suppress(UnicodeDecodeError):
            words = line.decode().split() if len(line) <= _LONGEST_LINE else []
        question = dict(word.split("=", 1) for word in words if "=" in word)
        command, key, value = (question.get(word) for word in ("cmd", "key", "value"))
        if command == "barrier_in":
            self.at_barrier.add(number)
            if len(self.at_barrier) == len(self.ranks.all) or self.barrier_result != "rc=0":
                self._open_barrier()
        elif command == "put" and key is not None and value is not None:
            self.table[key] = value
            self._say(number, "cmd=put_result rc=0 msg=success")
        elif command == "put":
            self._say(number, "cmd=put_result rc=-1 msg=needs_key_and_value")
        elif command == "get":
            found = self.table.get(key or "")
            result = f"rc=0 msg=success value={found}" if found is not None else "rc=-1 msg=key_not_found value=unknown"
            self._say(number, f"cmd=get_result {result}")
        elif command == "abort":
            word = question.get("exitcode", "")
            code = int(word) if re.fullmatch(r"-?[0-9]{1,10}", word) else 1
            status = code & 255 or int(code != 0)  # what a shell sees of it, save that 256 is no success
            self.ranks.fail(number, status, f"asks for an abort with status {status}")
        else:
            self._say(number, _SIMPLE.get(command or "", f"cmd={command} rc=-1 msg=unknown_command"))

    def _open_barrier(self) -> None:
        while self.at_barrier:
            self._say(self.at_barrier.pop(), f"cmd=barrier_out {self.barrier_result}")

    def _say(self, number: int, line: str) -> None:
        data = line.encode() + b"\n"
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has ended, which is seen elsewhere
            try:
                sent = self.ranks.all[number].connection.send(data)
            except BlockingIOError:
                sent = 0
            if sent < len(data):  # the kernel's buffer has room for many answers, and clients of PMI wait for each
                self.ranks.fail(number, 1, "is ended: it asks without reading the answers")


_SIMPLE = {
    "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
    "get_maxes": "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0",
    "get_appnum": "cmd=appnum appnum=0 rc=0",
    "get_my_kvsname": "cmd=my_kvsname kvsname=dovetail rc=0",
    "get_universe_size": "cmd=universe_size size=-1 rc=0",
    "finalize": "cmd=finalize_ack rc=0",
}


def _serve(ranks: _Ranks, signals: socket.socket) -> int:
    """Until all have ended. Returns the exit status."""
    server = _Server(ranks)
    with selectors.DefaultSelector() as selector:
        selector.register(signals, selectors.EVENT_READ, ("signal", 0))
        for number, rank in enumerate(ranks.all):
            selector.register(rank.connection, selectors.EVENT_READ, ("asks", number))
            selector.register(os.pidfd_open(rank.process.pid), selectors.EVENT_READ, ("ends", number))
        running = len(ranks.all)
        while running > 0:
            for key, _ in selector.select(ranks.kill_late()):
                what, number = key.data
                if what == "signal":
                    for byte in signals.recv(4096):
                        ranks.pass_on(byte)
                elif what == "asks":
                    if not server.receive(number):
                        selector.unregister(key.fileobj)
                else:
                    selector.unregister(key.fileobj)
                    os.close(key.fd)
                    running -= 1
                    server.leave(number)
                    ranks.ended(number)
    if not server.asked and len(ranks.all) > 1 and not ranks.status:
        _tell(
            f"none of the {len(ranks.all)} processes looked for the others, so that each ran alone. A program of Open MPI needs "
            "its mpiexec; one of Python may have loaded Open MPI"
        )
    return ranks.status or 0


def _join_traces(count: int) -> None:
    """The ranks have written a trace each, if they were told to: one is made of them."""
    trace = os.environ.get("DOVETAIL_TRACE")
    if not trace or count == 1:
        return
    from .trace import describe
    from .trace_join import join
    from .trace_parts import UnusableTrace

    try:
        for sentence in describe(join(Path(trace)), Path(trace)):
            _tell(sentence)
    except UnusableTrace as error:
        _tell(str(error))


def launch(command: list[str], count: int, keep: bool = False) -> int:
    """Starts `count` processes of a program and waits for them. `keep`: the others go on when one fails. Returns the exit status."""
    ranks = _Ranks(keep)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, the kernel keeps no exit status
    signals, wake = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    # The loop passes signals on, so that none falls between the start of a process and its place in the list.
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    for passed in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(passed) != signal.SIG_IGN:  # nohup
            signal.signal(passed, lambda *_: None)
    try:
        ranks.start(command, count)
        status = _serve(ranks, signals)
        _join_traces(count)
        return status
    except Exception as error:
        ranks.send(signal.SIGKILL)
        for rank in ranks.all:
            rank.process.wait()
        sentence, status = f"all ranks were ended because of {type(error).__name__}: {error}", 1
        if isinstance(error, OSError) and error.filename is not None:  # of the program, if it cannot be executed
            sentence, status = f"{error.filename}: {error.strerror}", 2
        elif isinstance(error, OSError) and error.errno == errno.EMFILE:
            sentence = f"too few open files for {count} ranks: `ulimit -n {2 * count + 32}` allows enough"
        _tell(sentence)
        return status
    finally:
        signal.set_wakeup_fd(-1)


def register(app: typer.Typer) -> None:
    """Adds the sub-command."""

    @app.command(
        name="launch",
        rich_help_panel="Programs with tasks",  # as `command_groups` has it
        context_settings={"allow_interspersed_args": False},
        help="Starts the processes of a program on this node: of MPICH, or of one-sided communication without MPI. One of Open MPI needs its mpiexec.",
    )
    def command(
        program: Annotated[list[str], typer.Argument(help="The program and its arguments.")],
        count: Annotated[int, typer.Option("-n", "--ranks", min=1, help="How many processes.")] = 1,
        keep: Annotated[
            bool, typer.Option("--keep-going", help="When a process fails, the others are not ended.")
        ] = False,
    ) -> None:
        from . import preload  # the rest of this file needs nothing of the package

        try:
            words = preload.command(program)
        except preload.Refused as refusal:
            _tell(str(refusal))
            sys.exit(2)
        sys.exit(launch(words, count, keep))
