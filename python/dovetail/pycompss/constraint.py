"""`pycompss.api.constraint`."""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections.abc import Callable
from typing import Any

from .options import snake
from .task import PyCompssTask
from .units import units

__all__ = ["Constraint", "constraint"]

# Requirements for the choice of a machine: there is only one.
_OF_THE_MACHINE = {
    "is_local",
    "processor_name",
    "processor_speed",
    "processor_architecture",
    "processor_type",
    "processor_property_name",
    "processor_property_value",
    "processor_internal_memory_size",
    "memory_size",
    "memory_type",
    "storage_size",
    "storage_type",
    "operating_system_type",
    "operating_system_distribution",
    "operating_system_version",
    "wall_clock_limit",
    "host_queues",
    "app_software",
}


def decorated(target: Any, decorator: str) -> PyCompssTask:
    """The task below a decorator. Raises TypeError when there is none."""
    if not isinstance(target, PyCompssTask):
        raise TypeError(f"@{decorator} must be above @task, and stands above {target!r}")
    return target


def constraint(**options: Any) -> Callable[[Any], PyCompssTask]:
    """What a task needs: `@constraint(computing_units="2")`, `@constraint(storageBW=20)`, `@constraint(storageBW="auto")`."""
    wanted = {snake(name): os.path.expandvars(v) if isinstance(v, str) else v for name, v in options.items()}

    def decorate(target: Any) -> PyCompssTask:
        task = decorated(target, "constraint")
        for name, value in wanted.items():
            if name == "storage_bw":
                task.change("constraint", storage_bw=_bandwidth(value), io=True)
            elif name == "computing_units":
                _check_units(task, value)
            elif name == "processors":
                _check_processors(task, value)
            elif name not in _OF_THE_MACHINE:
                raise TypeError(
                    f"@constraint of '{task.name}': '{name}' is not covered by Dovetail (see docs/pycompss.md)"
                )
        return task

    return decorate


def _bandwidth(value: Any) -> float | str:
    if isinstance(value, str):
        text = value.strip()
        return float(text) if re.fullmatch(r"\d+(\.\d*)?", text) else text
    return float(value)


def _is_of_the_call(task: PyCompssTask, value: Any) -> bool:
    """Whether it is an expression of the task's parameters and of global names, which has a value only when the task is called."""
    try:
        tree = ast.parse(value, mode="eval")
    except (SyntaxError, TypeError, ValueError):
        return False
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    known = {*inspect.signature(task.function).parameters, *task.function.__globals__}
    return bool(names) and known.issuperset(names)


def _check_processors(task: PyCompssTask, value: Any) -> None:
    """A list of kinds of processors: each says which, and how many units of it."""
    if not isinstance(value, list | tuple) or not all(isinstance(entry, dict) for entry in value):
        raise TypeError(f"@constraint of '{task.name}': processors must be a list of dictionaries, not {value!r}")
    for entry in value:
        for key, content in entry.items():
            if snake(str(key)) == "computing_units":
                _check_units(task, os.path.expandvars(content) if isinstance(content, str) else content)
            elif snake(str(key)) not in _OF_THE_MACHINE:
                raise TypeError(
                    f"@constraint of '{task.name}': '{key}' in processors is not covered by Dovetail (see docs/pycompss.md)"
                )


def _check_units(task: PyCompssTask, value: Any) -> None:
    name = task.name
    if isinstance(value, str) and re.fullmatch(r"\s*\$(\w+|\{\w+\})\s*", value):
        # Libraries have tasks that most of their users never call.
        task.change("constraint", fault=f"@constraint of '{name}': the environment has no {value.strip(' ${}')}")
        return
    if isinstance(value, str) and _is_of_the_call(task, value):
        task.change("constraint", units=value)
        units.count()
        return
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = -1
    if number < 0:
        raise ValueError(
            f"@constraint of '{name}': computing_units must be a whole number and not negative, not {value!r}"
        )
    if number > 1:
        task.change("constraint", units=number)
        units.count()


Constraint = constraint
