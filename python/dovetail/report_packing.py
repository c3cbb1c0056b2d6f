"""Packs the columns of runs into the text that the page's script unpacks: report_timeline.js says `unpack`.

Layout, little-endian: length of the header as uint32, the header as JSON, then the columns that it names, each at a multiple of 8 bytes. Times are
whole nanoseconds as differences to the row before, which compress best. All of it is compressed (zlib) and written in base64, so that no text of
the program can end the element that holds it.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .report_colors import OTHER, TASKS
from .report_columns import Columns, Rows
from .report_data import kind_of
from .report_graph import Graph

_ALIGNMENT = 8
_COMPRESSION = 5
# What is only shown, such as how long a task waited, keeps 13 binary digits, or 0.01 %. The others would not compress.
_SHOWN_DIGITS = np.uint32(0xFFFFFC00)


@dataclass
class PackedRun:
    """One run of a page. `kinds`: task types, those that took longest first. `length`: of the timeline, in nanoseconds."""

    title: str
    length: int
    workers: int
    columns: Columns
    graph: Graph
    kinds: list[str]


class _Writer:
    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def put(self, values: NDArray[Any]) -> dict[str, Any]:
        """Where the column is, and of which type."""
        place = {"at": self._size, "count": len(values), "type": values.dtype.str[1:]}
        raw = values.tobytes()
        self._parts.append(raw + bytes(-len(raw) % _ALIGNMENT))
        self._size += len(self._parts[-1])
        return place

    def times(self, values: NDArray[Any]) -> dict[str, Any]:
        """Differences to the row before, in 64 bits, as pairs of 32: the upper ones are almost always zero."""
        return {**self.put(np.diff(values, prepend=np.int64(0)).astype("<i8").view("<u4")), "type": "times"}

    def whole(self, header: dict[str, Any]) -> str:
        text = json.dumps(header, separators=(",", ":")).encode("ascii")
        text += b" " * (-(len(text) + 4) % _ALIGNMENT)
        raw = b"".join([len(text).to_bytes(4, "little"), text, *self._parts])
        return base64.b64encode(zlib.compress(raw, _COMPRESSION)).decode("ascii")


def pack(runs: list[PackedRun]) -> str:
    """All runs, as base64."""
    writer = _Writer()
    return writer.whole({"runs": [_run(writer, run) for run in runs]})


def _smallest(values: NDArray[Any]) -> NDArray[Any]:
    most = int(values.max(initial=0))
    return values.astype("<u1" if most < 1 << 8 else "<u2" if most < 1 << 16 else "<u4")


def _run(writer: _Writer, run: PackedRun) -> dict[str, Any]:
    columns = run.columns
    names = columns.names.texts()
    kinds = {kind: number for number, kind in enumerate(run.kinds)}
    kind_of_name = _smallest(np.array([kinds.get(kind_of(name), len(kinds)) for name in names], dtype="<u4"))
    path = np.array(run.graph.path, dtype="<u4")
    # By the task that depends, so that the differences are small.
    edges = np.array(run.graph.edges, dtype="<i8").reshape(-1, 2)
    edges = edges[np.lexsort((edges[:, 0], edges[:, 1]))]
    return {
        "title": run.title,
        "length": run.length,
        "workers": run.workers,
        "lanes": [[lane.name, lane.process, lane.track, lane.is_thread] for lane in columns.lanes],
        "processes": {str(process): name for process, name in columns.processes.items()},
        "names": names,
        "kinds": [[kind, TASKS[n] if n < len(TASKS) else OTHER] for n, kind in enumerate(run.kinds)],
        "kindOfName": writer.put(kind_of_name),
        "rows": {category: _rows(writer, rows) for category, rows in columns.rows.items() if len(rows)},
        "counters": [
            {"name": name, "time": writer.times(np.array(times, dtype="<i8")), "value": writer.put(np.array(values))}
            for name, (times, values) in columns.counters.items()
        ],
        "tasks": len(columns.tasks),
        "path": writer.put(path),
        "pathLength": run.graph.length,
        "edgeTo": writer.times(edges[:, 1]),
        "edgeBack": writer.put((edges[:, 1] - edges[:, 0]).astype("<i4")),
        "edgesAreCut": run.graph.is_cut,
    }


def _rows(writer: _Writer, rows: Rows) -> dict[str, Any]:
    lane, begin = np.array(rows.lane), np.array(rows.begin)
    order = np.lexsort((begin, lane))
    packed: dict[str, Any] = {
        "lane": writer.put(_smallest(lane[order])),
        "begin": writer.times(begin[order]),
        "length": writer.put(np.array(rows.length)[order].astype("<i8").view("<u4")) | {"type": "lengths"},
        "name": writer.put(_smallest(np.array(rows.name)[order])),
        "facts": {},
        "texts": sorted(rows.texts),
    }
    if "task" not in rows.texts and any(rows.task):
        packed["task"] = writer.times(np.array(rows.task, dtype="<i8")[order])
    for key in rows.facts:
        column = np.array(rows.column(key))[order]
        packed["facts"][key] = _shown(writer, column, is_exact=key in rows.texts or not key.endswith("_us"))
    return packed


def _shown(writer: _Writer, column: NDArray[Any], is_exact: bool) -> dict[str, Any]:
    """Offsets, sizes and numbers of names are exact; durations need not be."""
    if is_exact:
        return writer.put(column.astype("<f8"))
    single = column.astype("<f4")
    return writer.put((single.view("<u4") & _SHOWN_DIGITS).view("<f4"))
