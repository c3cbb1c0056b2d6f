"""How an application's checkpoints are scheduled: the runs that figures 10, 14, 21 and 22 of the paper on I/O-aware PyCOMPSs (docs/papers.md) compare."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dovetail as dt

COLORS = {
    "baseline": "#d64545",
    "unconstrained": "#e9b949",
    "static": "#5fa8d3",
    "auto": "#7a6fb0",
    "auto(": "#a99fd6",
    "adaptive": "#2a7f62",
}


def understood(text: str) -> str:
    """A strategy as it is written on the command line. Raises ValueError."""
    text = text.replace(" ", "")
    number = r"\d+(\.\d+)?"
    if text in ("baseline", "unconstrained", "auto", "adaptive") or re.fullmatch(f"static:{number}", text):
        return text
    if re.fullmatch(rf"auto\({number},{number},{number}\)", text):
        return text
    raise ValueError(
        f"'{text}' is no strategy: there is baseline, unconstrained, static:MB/s, auto, auto(min,max,delta), adaptive"
    )


def color(strategy: str) -> str:
    kind = "auto(" if strategy.startswith("auto(") else strategy.partition(":")[0]
    return COLORS[kind]


def io_task(strategy: str, folder: Path) -> Callable[[Callable[..., Any]], Any]:
    """The decorator for tasks that write to `folder`."""
    if strategy == "baseline":
        return dt.task
    if strategy == "unconstrained":
        return dt.io(device=folder)
    share = strategy.removeprefix("static:")
    return lambda function: dt.io(storage_bw=float(share) if share != strategy else share, device=folder)(function)


def write_durably(path: Path, data: Any, size: int) -> int:
    """Writes `data`, again and again until there are `size` bytes, past the system's buffers. Returns the bytes."""
    view = memoryview(data).cast("B")
    if len(view) == 0:
        raise ValueError(f"{path}: there is nothing to write")
    if len(view) < size:
        view = memoryview(bytes(view) * min(-(-(1 << 20) // len(view)), -(-size // len(view))))
    written = 0
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        while written < size:
            written += os.write(descriptor, view[: size - written])
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return written
