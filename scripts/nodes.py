"""Two nodes on one machine, for tests and benchmarks: network namespaces with a link between them. Needs root and `ip` (iproute2)."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

# Nothing listens there: a refusal is an answer.
_REACH = """
import socket, sys
while True:
    try:
        socket.create_connection((sys.argv[1], 9), 1)
    except ConnectionRefusedError:
        break
    except OSError:
        continue
"""


class NoNodes(Exception):
    """This machine, or this user, makes no network namespaces."""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Nodes:
    """Two namespaces, of names that nothing else has, and the interface of both. `command`: a program that runs its arguments on the node of its rank,
    which is even on one of them."""

    def __init__(self, folder: Path) -> None:
        self.names = [f"dovetail{os.getpid()}-{number}" for number in range(2)]
        self.addresses = [f"192.0.2.{number + 1}" for number in range(2)]
        self.interface = f"dt{os.getpid()}"
        self.command = str(folder / "node")
        Path(self.command).write_text(f'#!/bin/sh\nexec ip netns exec dovetail{os.getpid()}-$((PMI_RANK % 2)) "$@"\n')
        Path(self.command).chmod(0o755)

    def begin(self) -> None:
        for name in self.names:
            ip("netns", "add", name)
        first, second = self.names
        ip(
            "link",
            "add",
            self.interface,
            "netns",
            first,
            "type",
            "veth",
            "peer",
            "name",
            self.interface,
            "netns",
            second,
        )
        for address, name in zip(self.addresses, self.names, strict=True):
            ip("-n", name, "address", "add", f"{address}/24", "dev", self.interface)
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", self.interface, "up")

    def end(self) -> None:
        for name in self.names:
            with contextlib.suppress(OSError, subprocess.CalledProcessError):
                ip("netns", "delete", name)

    def link(self, state: str) -> None:
        """`up` or `down`."""
        ip("-n", self.names[0], "link", "set", self.interface, state)

    def wait_until_reachable(self) -> None:
        """After `up`: each node reaches the other one. Connections that were tried while the link was down may fail for some
        seconds more."""
        for name, address in zip(self.names, reversed(self.addresses), strict=True):
            subprocess.run(["ip", "netns", "exec", name, sys.executable, "-c", _REACH, address], check=True)


@contextlib.contextmanager
def two_nodes() -> Iterator[Nodes]:
    """@raises NoNodes"""
    with tempfile.TemporaryDirectory() as folder:
        made = Nodes(Path(folder))
        try:
            try:
                made.begin()
            except (OSError, subprocess.CalledProcessError) as error:
                raise NoNodes(f"no network namespaces here: {error} {getattr(error, 'stderr', '')}") from error
            yield made
        finally:
            made.end()
