"""A rank that speaks PMI 1 by hand, well or badly: `launcher_rank.py what`. For launcher_test.py."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from pathlib import Path

RANK = int(os.environ["PMI_RANK"])
DESCRIPTOR = int(os.environ["PMI_FD"])
ENDLESS = 16 << 20


def write(data: bytes) -> None:
    while data:
        data = data[os.write(DESCRIPTOR, data) :]


def read() -> str:
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(DESCRIPTOR, 1)
        if not byte:
            sys.exit("the launcher has ended")
        line += byte
    return line.decode().rstrip()


def ask(question: bytes) -> str:
    write(question + b"\n")
    return read()


def say(text: object) -> None:
    os.write(1, f"{RANK}: {text}\n".encode())  # in one piece, between the lines of the others


def wait_forever() -> None:
    # Not `signal.pause()`: Python runs no handler for a signal that comes just before a call that blocks.
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    while True:
        woken.recv(1)


def resident() -> int:
    """The launcher's memory, in bytes."""
    lines = Path(f"/proc/{os.getppid()}/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def alone() -> None:
    """It asks nothing."""


def unread() -> None:
    ask(b"cmd=barrier_in")
    if RANK == 1:
        write(b"cmd=get_appnum\n")
        select.select([DESCRIPTOR], [], [])
        os.kill(os.getpid(), signal.SIGKILL)
    wait_forever()


def malformed() -> None:
    for question in (
        b"cmd=put kvsname=x key=k",
        b"cmd=put value=v",
        b"cmd=get",
        b"cmd=put key=\xff value=v",
        b"",
        b"x=1",
    ):
        say(ask(question))
    say(ask(b"cmd=put key=k value=" + b"v" * 5000))
    before = resident()
    write(b"x" * ENDLESS)
    say("kept" if resident() - before > ENDLESS // 2 else "dropped")
    say(ask(b""))
    say(ask(b"cmd=get key=k"))


def abort() -> None:
    def ended(*_: object) -> None:
        say(ask(b"cmd=get_appnum"))  # and no answer to the abort before
        os._exit(0)

    signal.signal(signal.SIGTERM, ended if RANK == 1 else signal.SIG_DFL)
    ask(b"cmd=barrier_in")
    if RANK == 1:
        write(b"cmd=abort" + b"".join(b" exitcode=" + word.encode() for word in sys.argv[2:]) + b"\n")
    elif len(sys.argv) == 2:
        say(ask(b"cmd=barrier_in"))
        return
    wait_forever()


def abort_and_exit() -> None:
    if RANK == 1:
        write(b"cmd=abort exitcode=9\n")
        return
    wait_forever()


def left() -> None:
    if RANK != 1:
        say(ask(b"cmd=barrier_in"))
        say(ask(b"cmd=barrier_in"))
        say(ask(b"cmd=finalize"))


def chatty() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ask(b"cmd=barrier_in")
    while RANK == 0:
        ask(b"cmd=get_appnum")
    sys.exit(7)


def flood() -> None:
    while RANK == 1:
        write(b"cmd=get_maxes\n" * 100)
    wait_forever()


def interrupted() -> None:
    times = 0

    def count(*_: object) -> None:
        nonlocal times
        times += 1
        say("interrupted")

    def end(*_: object) -> None:
        say(f"{times} in all")
        os._exit(0)

    signal.signal(signal.SIGINT, count)
    signal.signal(signal.SIGTERM, end)
    say("ready")
    wait_forever()


globals()[sys.argv[1]]()
