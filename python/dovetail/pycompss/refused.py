"""Decorators of PyCOMPSs for programming models that Dovetail does not start. They can be imported, and a task with one is refused when it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .constraint import decorated
from .options import taken
from .task import PyCompssTask

_COMMON = ("working_dir", "computing_nodes", "fail_by_exit_value")
# The option that must be given, and those that may be.
_OPTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ompss": (("binary",), _COMMON),
    "opencl": (("kernel",), _COMMON),
    "decaf": (("df_script",), (*_COMMON, "runner", "df_executor", "df_lib")),
    "julia": (("script",), (*_COMMON, "executor")),
}


def _refusing(name: str) -> Callable[..., Callable[[Any], PyCompssTask]]:
    def decorator(**given: Any) -> Callable[[Any], PyCompssTask]:
        taken(f"@{name}", given, *_OPTIONS[name])

        def decorate(target: Any) -> PyCompssTask:
            task = decorated(target, name)
            task.change(
                name,
                fault=f"task '{task.name}': the decorator @{name} of PyCOMPSs is not covered by Dovetail (see docs/pycompss.md)",
            )
            return task

        return decorate

    decorator.__name__ = decorator.__qualname__ = name
    return decorator


# Which module of pycompss.api has which names.
MODULES: dict[str, dict[str, Any]] = {
    module: dict.fromkeys((module, other), _refusing(module))
    for module, other in (
        ("ompss", "OmpSs"),
        ("opencl", "OpenCL"),
        ("decaf", "Decaf"),
        ("julia", "Julia"),
    )
}
