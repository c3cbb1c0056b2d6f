"""The devices that tasks of this process use, as the whole cluster knows them, and this process's leases on them."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from .. import _core, mounts
from ..logger import logger
from .lease import Entry, Lease
from .ledger import Grant, Need

NEED = "dovetail-need"
GRANT = "dovetail-grant"
"""Messages between the agents and the ledger in the scheduler, in the streams that Dask has open."""
_TICK = 0.25


class Device(NamedTuple):
    key: str
    """The same for all processes of the cluster that use the same device."""
    name: str
    bandwidth: float
    """MB/s that are written."""


def find(name_or_path: str) -> Device:
    """As a task calls it. Measures, for half a second or more, if the bandwidth is not known. Raises `ValueError` if there is no such device."""
    name, paths, bandwidth, shared, configured = _core.storage_device(name_or_path, False)
    if bandwidth <= 0:
        bandwidth = _core.storage_device(name_or_path, True)[2]
    return Device(_key(name, paths[0] if paths else None, shared, configured), name, bandwidth)


def _key(name: str, path: str | None, shared: bool, configured: bool) -> str:
    if shared and configured:
        return f"shared device {name}"
    number = None if path is None else _file_system(path)
    if shared and number is not None and (mount := mounts.source_of(number)) is not None:
        return f"file system {' '.join(mount)}"
    # Numbers of file systems are those of a kernel, also in its containers.
    kernel = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"device {name if configured else ''} on file system {number} of kernel {kernel}"


def _file_system(path: str) -> int | None:
    """The number of the file system on which the path lies, or will lie."""
    while True:
        with contextlib.suppress(OSError):
            return os.stat(path).st_dev
        above = os.path.dirname(path)
        if above == path:
            return None
        path = above


def fixed(storage_bw: float | str | None) -> float | None:
    """The constraint in MB/s, if it is a number."""
    with contextlib.suppress(ValueError):
        value = float(str(storage_bw).replace(" ", ""))
        if math.isfinite(value) and value > 0:
            return value
    return None


class Claim:
    """Of one task on one device. `begin` is called once in the event loop, unless it is withdrawn before; with an error if the task cannot run."""

    __slots__ = ("_begin", "_entry", "_lease", "_over")

    def __init__(self, begin: Callable[[BaseException | None], None]) -> None:
        self._begin = begin
        self._entry = Entry(lambda: begin(None))
        self._lease: Lease | None = None
        self._over = False

    def enter(self, lease: Lease, share: float) -> None:
        if not self._over:
            self._lease = lease
            self._entry.share = share
            lease.enter(self._entry)

    def fail(self, error: BaseException) -> None:
        if not self._over:
            self._over = True
            self._begin(error)

    def leave(self) -> None:
        """The task is over."""
        if self._lease is not None:
            self._lease.leave(self._entry)

    def withdraw(self) -> bool:
        """Whether the task had not begun: it never will."""
        if self._over:
            return False
        self._over = self._lease is None or self._lease.withdraw(self._entry)
        return self._over


class Devices:
    """All of it is for the event loop. worker: of Dask, whose stream to the scheduler has the messages."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self._loop = asyncio.get_running_loop()
        self._found: dict[str, asyncio.Future[Device]] = {}
        self._leases: dict[str, Lease] = {}
        self._timer: asyncio.TimerHandle | None = None
        worker.stream_handlers[GRANT] = self._granted

    def claim(self, device: str, mb_per_second: float, claim: Claim) -> None:
        """Has the task begin when the ledger lets it."""
        found = self._found.get(device)
        if found is None:
            found = self._found[device] = self._loop.run_in_executor(None, find, device)

        def known(found: asyncio.Future[Device]) -> None:
            if (error := found.exception()) is not None:
                self._found.pop(device, None)  # it may come to be
                claim.fail(error)
                return
            there = found.result()
            claim.enter(self._lease(there), min(1.0, mb_per_second / there.bandwidth))
            self._tick_later()

        if found.done():
            known(found)
        else:
            found.add_done_callback(known)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for lease in self._leases.values():
            lease.stop()

    def _lease(self, device: Device) -> Lease:
        lease = self._leases.get(device.key)
        if lease is None:
            lease = self._leases[device.key] = Lease(
                device.key, device.name, device.bandwidth, time.monotonic, self._send
            )
        return lease

    def _send(self, need: Need) -> None:
        # Dask loses it if there is no connection; it is sent again.
        self._worker.batched_send({"op": NEED, "node": self._worker.id, "need": list(need)})

    def _granted(self, grant: list[Any], **_: Any) -> None:
        told = Grant(*grant)
        lease = self._leases.get(told.device)
        if lease is not None:
            lease.granted(told)
            self._tick_later()

    def _tick_later(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(_TICK, self._tick)

    def _tick(self) -> None:
        self._timer = None
        goes_on = False
        for lease in self._leases.values():
            goes_on = lease.tick() or goes_on
            if lease.is_cut_off():
                logger.warning(
                    "node %s: the scheduler does not answer: no more tasks with a share of device '%s' begin here until it does",
                    self._worker.address,
                    lease.name,
                )
        if goes_on:
            self._tick_later()
