"""Limits on a block device's bandwidth and read requests through the kernel's block I/O controller, cgroup version 1 or 2.

Version 1: groups do not inherit limits, and kernel threads of the root group write buffered data back. So the limit is set in the root group and
in the caller's own. Version 2: the root group takes no limit, so the caller moves into a group made for the purpose. The kernel charges
written-back pages to the group that dirtied them.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from device_unavailable import DeviceUnavailable


def _mounts() -> list[tuple[Path, str, set[str]]]:
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        found.append((Path(before.split(" ")[4]), kind, set(options.split(","))))
    return found


def _own_group(controller: str) -> str:
    """The caller's group, relative to the hierarchy's root; the controller is "" for version 2."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        if controller in controllers.split(","):
            return group.lstrip("/")
    return ""


class _VersionOne:
    def __init__(self, root: Path, device_number: str) -> None:
        self._device_number = device_number
        own = root / _own_group("blkio")
        self._groups = [root] if own == root or not own.is_dir() else [root, own]

    def record(self) -> dict:
        return {"version": 1, "device_number": self._device_number, "groups": [str(group) for group in self._groups]}

    def set(self, read_bytes_per_s: int, write_bytes_per_s: int, reads_per_s: int = 0) -> None:
        limits = (("read_bps", read_bytes_per_s), ("write_bps", write_bytes_per_s), ("read_iops", reads_per_s))
        for group in self._groups:
            for kind, value in limits:
                (group / f"blkio.throttle.{kind}_device").write_text(f"{self._device_number} {value}\n")


class _VersionTwo:
    def __init__(self, root: Path, device_number: str) -> None:
        self._device_number = device_number
        self._origin = root / _own_group("")
        self._group = root / f"dovetail-slow-disk-{os.getpid()}-{device_number.replace(':', '-')}"

    def record(self) -> dict:
        return {"version": 2, "group": str(self._group), "origin": str(self._origin)}

    def set(self, read_bytes_per_s: int, write_bytes_per_s: int, reads_per_s: int = 0) -> None:
        if not self._group.exists():
            # Without `memory` the kernel could not tell whose pages it writes back.
            (self._group.parent / "cgroup.subtree_control").write_text("+io +memory")
            self._group.mkdir()
        limits = (("rbps", read_bytes_per_s), ("wbps", write_bytes_per_s), ("riops", reads_per_s))
        values = (f"{name}={value or 'max'}" for name, value in limits)
        (self._group / "io.max").write_text(f"{self._device_number} {' '.join(values)}\n")
        (self._group / "cgroup.procs").write_text(str(os.getpid()))


def clear_throttle(record: dict) -> None:
    """Lift the limits that a record describes; what is already gone is no error."""
    with contextlib.suppress(OSError):
        if record["version"] == 1:
            for group in record["groups"]:
                for kind in ("read_bps", "write_bps", "read_iops"):
                    (Path(group) / f"blkio.throttle.{kind}_device").write_text(f"{record['device_number']} 0\n")
            return
        group = Path(record["group"])
        for process in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (Path(record["origin"]) / "cgroup.procs").write_text(process)
        group.rmdir()


def find_throttle(device_number: str) -> _VersionOne | _VersionTwo:
    """The controller that can limit this device ("major:minor"), or DeviceUnavailable with the reason."""
    mounts = _mounts()
    for path, kind, options in mounts:
        if kind == "cgroup" and "blkio" in options:
            if not (path / "blkio.throttle.write_bps_device").exists():
                raise DeviceUnavailable(f"{path}: the kernel was built without CONFIG_BLK_DEV_THROTTLING")
            return _VersionOne(path, device_number)
    for path, kind, _ in mounts:
        if kind == "cgroup2" and "io" in (path / "cgroup.controllers").read_text().split():
            return _VersionTwo(path, device_number)
    raise DeviceUnavailable(
        "no block I/O controller: neither a cgroup mount with blkio nor a cgroup2 mount with io"
        " (mount -t cgroup -o blkio none DIRECTORY, where the kernel has it)"
    )
