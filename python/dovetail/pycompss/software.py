"""`pycompss.api.software`: tasks whose decorators are in a JSON file."""

from __future__ import annotations

import builtins
import inspect
import json
import os
from collections.abc import Callable
from typing import Any

from . import parameter
from .around import epilog, prolog
from .binary import binary
from .compss import compss
from .constraint import constraint
from .container import container
from .http import http
from .mpi import mpi, mpmd_mpi
from .multinode import multinode
from .options import taken
from .task import PyCompssTask

__all__ = ["Software", "software"]

_TYPES: dict[str, Callable[..., Callable[[Any], PyCompssTask]]] = {
    "binary": binary,
    "mpi": mpi,
    "mpmd_mpi": mpmd_mpi,
    "multinode": multinode,
    "compss": compss,
    "http": http,
}
_PARTS = ("execution", "parameters", "prolog", "epilog", "constraints", "container")
_OLD = {"ppn": "processes_per_node"}


def software(**given: Any) -> Callable[[Any], PyCompssTask]:
    """What a task is, from a file: `@software(config_file="simulate.json")`, above @task or a function alone.

    The file has `execution`. Its `type` is `task`, `binary`, `mpi`, `mpmd_mpi`, `multinode`, `compss` or `http`; the rest are options of that decorator. The
    file may have `parameters` of @task, `prolog`, `epilog`, `constraints` and `container`.
    """
    path = os.path.expandvars(str(taken("@software", given, ("config_file",))["config_file"]))

    def decorate(target: Any) -> PyCompssTask:
        parts = _read(path)
        execution = {_OLD.get(name, name): value for name, value in parts.get("execution", {}).items()}
        task = _task(target, parts.get("parameters", {}), path)
        kind = str(execution.pop("type", "task")).lower()
        if kind not in ("task", *_TYPES):
            raise ValueError(
                f"@software, {path}: the type of execution must be task or one of {', '.join(_TYPES)}, not '{kind}'"
            )
        if kind != "task":
            task = _TYPES[kind](**execution)(task)
        for part, decorator in (
            ("container", container),
            ("constraints", constraint),
            ("prolog", prolog),
            ("epilog", epilog),
        ):
            if part in parts:
                task = decorator(**parts[part])(task)
        return task

    return decorate


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path) as file:
            parts = json.load(file)
    except json.JSONDecodeError as error:
        raise ValueError(f"@software, {path}, line {error.lineno}: {error.msg}") from error
    if not isinstance(parts, dict):
        raise TypeError(f"@software, {path}: there must be an object with {', '.join(_PARTS)}")
    for name in parts:
        if name not in _PARTS:
            raise TypeError(f"@software, {path}: '{name}' is not covered by Dovetail (which has {', '.join(_PARTS)})")
    return parts


def _task(target: Any, named: dict[str, Any], path: str) -> PyCompssTask:
    if isinstance(target, PyCompssTask):
        if not named:
            return target
        target = target.function
    if not inspect.isfunction(target):
        raise TypeError(f"@software must be above @task or a function, and stands above {target!r}")
    return PyCompssTask(target, {name: _value(name, value, path) for name, value in named.items()})


def _value(name: str, value: Any, path: str) -> Any:
    """Names of directions and types as what they name."""
    if not isinstance(value, str):
        return value
    if name == "returns":
        return getattr(builtins, value, value)
    try:
        return parameter.named(value)
    except KeyError:
        raise ValueError(
            f"@software, {path}: '{value}' of '{name}' is no direction of pycompss.api.parameter"
        ) from None


Software = software
