"""What tasks access, as a trace writes it: "in 'memory' [4, 12), inout 'rank 3' [0, 1)"."""

from __future__ import annotations

import re
import sys

_ACCESS = re.compile(r"(in|out|inout|commutative) '(.*?)' \[(\d+), (\d+)\)(?=, |$)")
_VERBS = {"in": "reads", "out": "writes", "inout": "updates", "commutative": "updates in any order"}
_MEMORY = "memory"
# What tasks in Python access besides: each thing is a region of length 1 in a space of its kind.
_THINGS = {"file fffffffffffffffd": "file", "file fffffffffffffffe": "result", "file ffffffffffffffff": "object"}
_FILE = re.compile(r"file [0-9a-f]+")
_ALL = (1 << 40) - 1  # no region is longer in a trace: it is all of a file
_MOST_NAMED = 3

Access = tuple[str, str, int, int]  # mode, space, begin, end


def accesses_of(text: str) -> list[Access]:
    """All of a task's accesses."""
    return [
        (sys.intern(mode), sys.intern(space), int(begin), int(end)) for mode, space, begin, end in _ACCESS.findall(text)
    ]


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
    if space in _THINGS:
        return f"1 {_THINGS[space]}" if count == 1 else f"{count} {_THINGS[space]}s"
    kind = _MEMORY if space == _MEMORY else "a file" if _FILE.fullmatch(space) else f"'{space}'"
    if kind == f"'{space}'" and count <= _MOST_NAMED:
        return f"{kind} {', '.join(f'[{begin}, {end})' for begin, end in places)}"
    told = "1 region" if count == 1 else f"{count} regions"
    sizes = [end - begin for begin, end in places]
    if kind == f"'{space}'" or max(sizes) >= _ALL:
        return f"{told} of {kind}"
    return f"{told} of {kind} ({size_in_words(sum(sizes))})"
