"""The devices that tasks of this process use, as the whole cluster knows them, and this process's leases on them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from .. import _core, mounts
from ..logger import logger
from .learning import LearnedType, Progress, Task
from .lease import Entry, Lease
from .ledger import Grant, Learned, Need, OfType
from .level import Ended
from .tuning import TunedTask, TunedType

NEED = "dovetail-need"
GRANT = "dovetail-grant"
"""Messages between the agents and the ledger in the scheduler, in the streams that Dask has open."""
_TICK = 0.25
# By which programs call devices, such as paths.
_MOST_NAMES = 1024
_OTHER_LABELS = "(other labels)"
# Of I/O tasks, in each process.
_EXECUTORS = 64


def _now() -> float:
    # Goes on while the machine sleeps, as the time does in which the ledger gives a lease away.
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Device(NamedTuple):
    key: str
    """The same for all processes of the cluster that use the same device."""
    name: str
    bandwidth: float
    """MB/s that are written."""
    shared: bool
    """By several machines."""


def find(name_or_path: str) -> Device:
    """As a task calls it. Measures, for half a second or more, if the bandwidth is not known. Raises `ValueError` if there is no such device."""
    name, paths, bandwidth, shared, configured = _core.storage_device(name_or_path, False)
    if bandwidth <= 0:
        bandwidth = _core.storage_device(name_or_path, True)[2]
    return Device(_key(name, paths[0] if paths else None, shared, configured), name, bandwidth, shared)


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


def automatic(storage_bw: float | str | None) -> tuple[float, ...] | None:
    """The bounds of a constraint that is learned by the paper's `auto`, which has none if it is unbounded; None: it is another constraint."""
    text = _without_spaces(storage_bw)
    if text == "auto":
        return ()
    if text.startswith("auto(") and text.endswith(")"):
        with contextlib.suppress(ValueError):
            return tuple(map(float, text[5:-1].split(",")))
    return None


def adaptive(storage_bw: float | str | None) -> bool:
    return _without_spaces(storage_bw) == "adaptive"


def _without_spaces(storage_bw: float | str | None) -> str:
    return str(storage_bw).replace(" ", "").replace("\t", "")


def asks_ledger(storage_bw: float | str | None) -> bool:
    """Whether the ledger of the cluster says when a task with this constraint begins."""
    return fixed(storage_bw) is not None or automatic(storage_bw) is not None or adaptive(storage_bw)


def waits_for_ledger(storage_bw: float | str | None, device: str | None) -> bool:
    """The same as this process knows the device; a node may know better."""
    if fixed(storage_bw) is not None or not asks_ledger(storage_bw):
        return asks_ledger(storage_bw)
    try:
        return bool(_core.storage_device(device or "", False)[3])
    except (ValueError, OSError):
        return True  # nodes have another `dovetail.toml`, or none has such a device


def progress(device: Device, label: str, bounds: tuple[float, ...]) -> Progress:
    """How far this process is with learning of a type of tasks."""
    for there in json.loads(_core.admission_report())["devices"]:
        types = [
            each for each in there["types"] if (each["device"], automatic(each["constraint"])) == (device.name, bounds)
        ]
        # A process that has seen many labels learns the rest as one type.
        for found in [each for name in (label, _OTHER_LABELS) for each in types if each["label"] == name]:
            registry = [
                Learned(min(1.0, each["mb_per_second"] / device.bandwidth), each["at_once"], each["seconds"])
                for each in found["registry"]
            ]
            return Progress(found["at_once"], () if found["learning"] else tuple(registry))
    return Progress(1, ())


def need_of(message: list[Any]) -> Need:
    """As it was before it was a message."""
    need = Need(*message)
    return need._replace(types=types_of(need.types))


def grant_of(message: list[Any]) -> Grant:
    """As it was before it was a message."""
    grant = Grant(*message)
    return grant._replace(types=types_of(grant.types))


def types_of(message: Any) -> tuple[OfType, ...]:
    return tuple(
        OfType(name, ready, tuple(Learned(*learned) for learned in registry), tuple(Ended(*each) for each in ended))
        for name, ready, registry, ended in message
    )


Holder = Lease | LearnedType | TunedType


class Claim:
    """Of one task on one device. `begin` is called once in the event loop, unless it is withdrawn before.

    begin: gets what is wrong, if the task cannot run; and the constraint in MB/s that it is to have in this process, if not its own. If it raises,
    the task's share goes back.
    """

    __slots__ = ("_begin", "_entry", "_holder", "_over")

    def __init__(self, begin: Callable[[BaseException | None, float | None], None]) -> None:
        self._begin = begin
        self._holder: Holder | None = None
        self._entry: Any = None
        self._over = False

    def enter(self, holder: Holder, entry: Any) -> None:
        if not self._over:
            self._holder, self._entry = holder, entry
            holder.enter(entry)

    def go(self, error: BaseException | None = None) -> None:
        """The ledger has nothing to say about it."""
        if not self._over:
            self._over = True
            self.begin(error, None)

    def begin(self, error: BaseException | None = None, mb_per_second: float | None = None) -> None:
        """Called when it has its share, and by `go`. Raises nothing: other tasks begin after it."""
        try:
            self._begin(error, mb_per_second)
        except Exception:
            logger.exception("a task that has its share of a device could not begin")
            asyncio.get_running_loop().call_soon(self.leave)

    def leave(self, failed: bool = True) -> None:
        """The task is over. Nothing is learned from one that has failed."""
        if self._holder is not None:
            self._entry.failed = failed
            self._holder.leave(self._entry)

    def withdraw(self) -> bool:
        """Whether the task had not begun: it never will."""
        if self._over:
            return False
        self._over = self._holder is None or self._holder.withdraw(self._entry)
        return self._over


class Devices:
    """All of it is for the event loop. worker: of Dask, whose stream to the scheduler has the messages. See `of`."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self._loop = asyncio.get_running_loop()
        self._found: dict[str, asyncio.Future[Device]] = {}
        self._leases: dict[str, Lease] = {}
        self._timer: asyncio.TimerHandle | None = None
        worker.stream_handlers[GRANT] = self._granted

    def claim(self, device: str, storage_bw: float | str, label: str, claim: Claim) -> None:
        """Has a task begin when the ledger lets it. storage_bw: a number, or `auto` in one of its forms."""
        found = self._found.get(device)
        if found is None:
            found = self._found[device] = self._loop.run_in_executor(None, find, device)
            if len(self._found) > _MOST_NAMES:
                del self._found[next(iter(self._found))]

        def known(found: asyncio.Future[Device]) -> None:
            try:
                entered = self._entry(found.result(), storage_bw, label, claim)
            except Exception as error:
                self._found.pop(device, None)  # it may come to be
                claim.go(error)
            else:
                self._enter(claim, entered)

        if found.done():
            known(found)
        else:
            found.add_done_callback(known)

    def _entry(self, device: Device, storage_bw: float | str, label: str, claim: Claim) -> tuple[Holder, Entry] | None:
        """None: the ledger has nothing to say about it."""
        number, bounds = fixed(storage_bw), automatic(storage_bw)
        if number is not None:
            return self._lease(device), Entry(claim.begin, min(1.0, number / device.bandwidth))
        if not device.shared:
            return None
        # What has its share from the ledger takes as little in this process as lets all executors run.
        least = device.bandwidth / _EXECUTORS
        if bounds is not None:
            of_type = self._type(device, label, bounds)
            return of_type, Task(of_type, lambda: claim.begin(None, least), claim.begin)
        tuned = self._tuned(device, label)
        return tuned, TunedTask(tuned, lambda: claim.begin(None, least))

    def _enter(self, claim: Claim, entered: tuple[Holder, Entry] | None) -> None:
        if entered is None:
            claim.go()
        else:
            claim.enter(*entered)
            self._tick_later()

    def _type(self, device: Device, label: str, bounds: tuple[float, ...]) -> LearnedType:
        lease = self._lease(device)
        key = f"auto{bounds} {label}"
        found = lease.types.get(key)
        if not isinstance(found, LearnedType):
            found = LearnedType(key, lease, lambda: progress(device, label, bounds))
        return found

    def _tuned(self, device: Device, label: str) -> TunedType:
        lease = self._lease(device)
        made = TunedType(label, lease)
        found = lease.types.get(made.key)
        return found if isinstance(found, TunedType) else made

    def stop(self) -> None:
        """The agent ends, and has withdrawn what has not begun. What its bodies use goes back as they end."""
        for lease in self._leases.values():
            lease.stop()
        self._tick_later()

    def _lease(self, device: Device) -> Lease:
        lease = self._leases.get(device.key)
        if lease is None:
            lease = self._leases[device.key] = Lease(device.key, device.name, device.bandwidth, _now, self._send)
        return lease

    def _send(self, need: Need) -> None:
        # Dask loses it if there is no connection; it is sent again.
        self._worker.batched_send({"op": NEED, "node": self._worker.id, "need": list(need)})

    def _granted(self, grant: list[Any], **_: Any) -> None:
        # Dask ends a worker whose handler raises.
        try:
            told = grant_of(grant)
            lease = self._leases.get(told.device)
            if lease is not None:
                lease.granted(told)
                self._tick_later()
        except Exception:
            logger.exception("node %s: what the scheduler grants is not understood", self._worker.address)

    def _tick_later(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(_TICK, self._tick)

    def _tick(self) -> None:
        self._timer = None
        goes_on = False
        for lease in self._leases.values():
            try:
                goes_on = lease.tick() or goes_on
            except Exception:
                logger.exception("node %s: the lease of device '%s' failed", self._worker.address, lease.name)
                goes_on = True
            if lease.is_cut_off():
                logger.warning(
                    "node %s: the scheduler does not answer: no more tasks with a share of device '%s' begin here until it does",
                    self._worker.address,
                    lease.name,
                )
        if goes_on and self._worker.status.name != "closed":
            self._tick_later()


_of_process: Devices | None = None


def of(worker: Any) -> Devices:
    """Those of this process. A later agent of the same worker takes the leases over: the ledger knows them, and bodies of the earlier one may use them still."""
    global _of_process
    if _of_process is None or _of_process._worker is not worker:
        _of_process = Devices(worker)
    return _of_process
