"""`pycompss.api.reduction`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .constraint import decorated
from .task import PyCompssTask

__all__ = ["Reduction", "reduction"]


def reduction(*, chunk_size: int | str = 0, is_reduce: bool = True) -> Callable[[Any], PyCompssTask]:
    """The task takes a collection in parts of `chunk_size` items, then what it returned for them, until one value is left."""

    def decorate(target: Any) -> PyCompssTask:
        task = decorated(target, "reduction")
        try:
            size = int(os.path.expandvars(chunk_size) if isinstance(chunk_size, str) else chunk_size)
        except (TypeError, ValueError):
            size = -1
        if size < 0:
            raise ValueError(
                f"@reduction of '{task.name}': chunk_size must be a whole number and not negative, not {chunk_size!r}"
            )
        task.change("reduction", chunk_size=size if is_reduce else 0)
        return task

    return decorate


Reduction = reduction
