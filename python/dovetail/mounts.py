"""What file systems are mounted, and which of them have a device behind them."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterator

_TABLE = "/proc/self/mountinfo"
# File systems that have no device behind them, or whose content is made when it is read.
_WITHOUT_DEVICE = {
    "autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl",
    "hugetlbfs", "mqueue", "proc", "pstore", "ramfs", "securityfs", "sysfs", "tmpfs", "tracefs",
}  # fmt: skip
# Whose files lie on devices of this machine: to open one there has no effect but that.
_LOCAL = {
    "bcachefs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "iso9660", "jfs", "ntfs3", "overlay", "squashfs",
    "udf", "vfat", "xfs",
}  # fmt: skip


def local_devices() -> set[int]:
    """The numbers of mounted file systems of which a file may be opened without a trace elsewhere: none that fetches it from another machine then.
    An overlay counts, though what it lies on is not looked at. Btrfs does not: its files have the numbers of subvolumes, which are not in the list of mounts."""
    return {number for number, kind in file_systems() if kind in _LOCAL}


def devices() -> Iterator[tuple[int, bool]]:
    """The number of each mounted file system, and whether there is a device behind it."""
    for number, kind in file_systems():
        yield number, kind not in _WITHOUT_DEVICE


def file_systems() -> Iterator[tuple[int, str]]:
    """The number of each mounted file system, and its kind."""
    for number, kind, _ in _mounts():
        yield number, kind


def nfs() -> set[int]:
    """The numbers of file systems where another process that has a file open is noticed: the file cannot be removed as usual."""
    return {number for number, kind in file_systems() if kind.startswith("nfs")}


def source_of(number: int) -> tuple[str, str] | None:
    """The kind of a mounted file system, and what is mounted there, such as ("nfs4", "server:/export")."""
    return next(((kind, source) for mounted, kind, source in _mounts() if mounted == number), None)


def _mounts() -> Iterator[tuple[int, str, str]]:
    # A mount point may have any bytes in its name but those that the kernel writes in digits: white space and the backslash.
    with open(_TABLE, "rb") as file:
        lines = file.read().split(b"\n")
    for line in map(os.fsdecode, lines):
        if not line:
            continue
        before, _, after = line.partition(" - ")
        major, _, minor = before.split(" ")[2].partition(":")
        kind, source = after.split(" ")[:2]
        yield os.makedev(int(major), int(minor)), kind, source
