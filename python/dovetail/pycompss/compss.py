"""`pycompss.api.compss`: tasks that are PyCOMPSs programs of their own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .command import Call, Line
from .constraint import decorated
from .options import taken
from .task import PyCompssTask

__all__ = ["COMPSs", "compss"]


class _Nested(Line):
    """Another program under Dovetail, in a process of its own."""

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__("@compss", {**options, "binary": options["app_name"]})

    def words(self, call: Call, folder: Any) -> list[str]:
        return [sys.executable, "-m", "dovetail.cli", "run", "--pycompss", *super().words(call, folder)]


def compss(**given: Any) -> Callable[[Any], PyCompssTask]:
    """The task runs a PyCOMPSs program with its arguments, and returns the exit value: `@compss(app_name="other.py")`.

    Dovetail runs that, too, on this machine: `runcompss`, `flags`, `worker_in_master` and `computing_nodes` are of no effect.
    """
    options = taken(
        "@compss",
        given,
        ("app_name",),
        ("runcompss", "flags", "worker_in_master", "computing_nodes", "working_dir", "args", "fail_by_exit_value"),
    )
    program = _Nested(options)

    def decorate(target: Any) -> PyCompssTask:
        task = decorated(target, "compss")
        task.change("compss", program=program)
        return task

    return decorate


COMPSs = compss
