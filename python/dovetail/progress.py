"""A progress bar that shows computing and I/O apart: `dt.Runtime(progress=True)`, or `DOVETAIL_PROGRESS=1` for a program as it is."""

from __future__ import annotations

import sys
import threading
from typing import Any

from . import _core

_INTERVAL_SECONDS = 0.1


def _counts() -> dict[str, tuple[int, ...]]:
    """Of tasks that compute and of I/O tasks: how many were made, run, have completed, and have failed."""
    sums: dict[str, tuple[int, ...]] = {"compute": (0, 0, 0, 0), "I/O": (0, 0, 0, 0)}
    for _, kind, *numbers in _core.task_types():
        shown = "I/O" if kind == "I/O" else "compute"
        sums[shown] = tuple(a + b for a, b in zip(sums[shown], numbers, strict=True))
    return sums


class Progress:
    """Shown on standard error from `start` to `stop`, by a thread of its own."""

    def __init__(self, console: Any = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        self._bars = Bars(
            TextColumn("{task.description:>8}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[running]} running"),
            TextColumn("{task.fields[failed]}", style="red"),
            TimeElapsedColumn(),
            console=console or Console(file=sys.stderr),
            transient=False,
            auto_refresh=False,
        )
        self._lines = {kind: self._bars.add_task(kind, total=0, running=0, failed="") for kind in ("compute", "I/O")}
        self._before = _counts()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._show, name="dovetail-progress", daemon=True)

    def start(self) -> None:
        self._bars.start()
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        self._thread.join()
        self._update()
        self._bars.stop()

    def _show(self) -> None:
        while not self._end.wait(_INTERVAL_SECONDS):
            self._update()

    def _update(self) -> None:
        for kind, now in _counts().items():
            before = self._before[kind]
            made, begun, completed, failed = (a - b for a, b in zip(now, before, strict=True))
            self._bars.update(
                self._lines[kind],
                total=made,
                completed=completed,
                running=max(begun, 0),
                failed=f"{failed} failed" if failed else "",
            )
        self._bars.refresh()
