"""How much memory is to be had: of the machine, and within the limits of the group of processes that this one is in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_NO_LIMIT = 1 << 40
# The files of a group by the version of control groups: its limit, what it has taken, and which lines say how much of that is page cache.
_VERSIONS = {
    2: ("memory.max", "memory.current", ("active_file", "inactive_file")),
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", ("total_active_file", "total_inactive_file")),
}


def number(path: Path) -> int | None:
    """The number that is all of a file; None if there is none, or no file."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def groups(listed: str, root: Path = Path("/sys/fs/cgroup")) -> Iterator[tuple[int, Path]]:
    """The version and the folder of each group that may limit memory, from the innermost outwards. `listed`: as in /proc/self/cgroup."""
    for line in listed.splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            version, top = 2, root
        elif "memory" in controllers.split(","):
            version, top = 1, root / "memory"
        else:
            continue
        folder = top / group.lstrip("/")
        while folder.is_relative_to(top):
            yield version, folder
            folder = folder.parent


def free_in_group(version: int, folder: Path) -> int | None:
    """Bytes that the group may still take, those of its page cache included, which can be had again. None: it has no limit."""
    limit, used, lines = _VERSIONS[version]
    most, taken = number(folder / limit), number(folder / used)
    if most is None or taken is None or most >= _NO_LIMIT:
        return None
    try:
        counts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        cached = sum(int(counts.get(name, 0)) for name in lines)
    except (OSError, ValueError):
        cached = 0
    return max(0, most - max(0, taken - cached))


def free_memory() -> int:
    """Bytes that are to be had without taking them from another program. Those of the page cache count."""
    free = _NO_LIMIT
    found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    if found:
        free = int(found[1]) << 10
    for version, folder in groups(Path("/proc/self/cgroup").read_text()):
        left = free_in_group(version, folder)
        free = min(free, left if left is not None else free)
    return free
