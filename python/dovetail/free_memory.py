"""How much memory is to be had: of the machine, and within the limits of the group of processes that this one is in."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_LIMIT = 1 << 40
# The files of a group by the version of control groups: its limit, what it has taken, and which lines say how much of that is page cache.
_VERSIONS = {
    2: ("memory.max", "memory.current", ("active_file", "inactive_file")),
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", ("total_active_file", "total_inactive_file")),
}


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def number(path: str) -> int | None:
    """The number that is all of a file; None if there is none, or no file."""
    try:
        return int(_text(path))
    except (OSError, ValueError):
        return None


def groups(listed: str, root: str = "/sys/fs/cgroup") -> Iterator[tuple[int, str]]:
    """The version and the folder of each group that may limit memory, from the innermost outwards. `listed`: as in /proc/self/cgroup."""
    for line in listed.splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            version, top = 2, root
        elif "memory" in controllers.split(","):
            version, top = 1, f"{root}/memory"
        else:
            continue
        folder = os.path.join(top, group.strip("/")).rstrip("/")
        while len(folder) > len(top):
            yield version, folder
            folder = os.path.dirname(folder)
        yield version, top


def free_in_group(version: int, folder: str) -> int | None:
    """Bytes that the group may still take, those of its page cache included, which can be had again. None: it has no limit."""
    limit, used, lines = _VERSIONS[version]
    most, taken = number(f"{folder}/{limit}"), number(f"{folder}/{used}")
    if most is None or taken is None or most >= _NO_LIMIT:
        return None
    try:
        counts = dict(line.split() for line in _text(f"{folder}/memory.stat").splitlines())
        cached = sum(int(counts.get(name, 0)) for name in lines)
    except (OSError, ValueError):
        cached = 0
    return max(0, most - max(0, taken - cached))


def free_memory() -> int:
    """Bytes that are to be had without taking them from another program. Those of the page cache count."""
    free = _NO_LIMIT
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) << 10
    for version, folder in groups(_text("/proc/self/cgroup")):
        left = free_in_group(version, folder)
        free = min(free, left if left is not None else free)
    return free
