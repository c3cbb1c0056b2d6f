"""What tasks access, as a trace writes it: "in 'memory' [4, 12), inout 'rank 3' [0, 1)"."""

from __future__ import annotations

import re

_ACCESS = re.compile(r"(in|out|inout|commutative) '([^']*)' \[(\d+), (\d+)\)")
_VERBS = {"in": "reads", "out": "writes", "inout": "updates", "commutative": "updates in any order"}
_MEMORY = "memory"
_RESULTS = "file fffffffffffffffe"  # the results of tasks in Python: futures are regions of a space of their own
_FILE = re.compile(r"file [0-9a-f]+")
_ALL = 1 << 62  # longer regions are of a whole file
_MOST_NAMED = 3

Access = tuple[str, str, int, int]  # mode, space, begin, end


def accesses_of(text: str) -> list[Access]:
    """All of a task's accesses."""
    return [(mode, space, int(begin), int(end)) for mode, space, begin, end in _ACCESS.findall(text)]


def size_in_words(size: float) -> str:
    """Bytes with a unit."""
    for unit, one in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= one:
            return f"{size / one:.4g} {unit}"
    return f"{size:.0f} B"


def in_words(accesses: list[Access]) -> str:
    """ "reads 2 results and 1 region of memory (8 MB), writes 1 result"."""
    parts = []
    for mode, verb in _VERBS.items():
        regions: dict[str, list[tuple[int, int]]] = {}
        for one, space, begin, end in accesses:
            if one == mode:
                regions.setdefault(space, []).append((begin, end))
        if regions:
            parts.append(f"{verb} {' and '.join(_regions(space, places) for space, places in regions.items())}")
    return ", ".join(parts)


def _regions(space: str, places: list[tuple[int, int]]) -> str:
    count = len(places)
    if space == _RESULTS:
        return "1 result" if count == 1 else f"{count} results"
    kind = _MEMORY if space == _MEMORY else "a file" if _FILE.fullmatch(space) else f"'{space}'"
    if kind == f"'{space}'" and count <= _MOST_NAMED:
        return f"{kind} {', '.join(f'[{begin}, {end})' for begin, end in places)}"
    told = "1 region" if count == 1 else f"{count} regions"
    size = sum(end - begin for begin, end in places)
    if kind == f"'{space}'" or size >= _ALL:
        return f"{told} of {kind}"
    return f"{told} of {kind} ({size_in_words(size)})"
