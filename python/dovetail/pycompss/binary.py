"""`pycompss.api.binary`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .command import Line
from .constraint import decorated
from .options import taken
from .task import PyCompssTask

__all__ = ["Binary", "binary"]


def binary(**given: Any) -> Callable[[Any], PyCompssTask]:
    """The task runs a program with its arguments, and returns its exit value: `@binary(binary="sed", args="-i {{what}} {{file}}")`."""
    options = taken(
        "@binary", given, ("binary",), ("working_dir", "args", "params", "fail_by_exit_value"), ("engine", "image")
    )
    line = Line("@binary", options)

    def decorate(target: Any) -> PyCompssTask:
        task = decorated(target, "binary")
        task.change("binary", program=line)
        return task

    return decorate


Binary = binary
