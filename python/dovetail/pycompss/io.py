"""`pycompss.api.IO`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .constraint import decorated
from .task import PyCompssTask

__all__ = ["IO", "io"]


def IO(**options: Any) -> Callable[[Any], PyCompssTask]:  # noqa: N802 (PyCOMPSs' name)
    """Makes a task an I/O task, which takes no core."""
    if options:
        raise TypeError(f"@IO: '{next(iter(options))}' is not covered by Dovetail (see docs/pycompss.md)")

    def decorate(target: Any) -> PyCompssTask:
        task = decorated(target, "IO")
        task.change("IO", io=True)
        return task

    return decorate


io = IO
