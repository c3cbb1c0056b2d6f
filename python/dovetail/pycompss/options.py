"""The options of decorators: which there are, which must be given, older spellings."""

from __future__ import annotations

import re
from typing import Any

from .tracking import warn


def snake(name: str) -> str:
    """`workingDir` as `working_dir`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def taken(
    decorator: str,
    given: dict[str, Any],
    must: tuple[str, ...] = (),
    may: tuple[str, ...] = (),
    old: tuple[str, ...] = (),
) -> dict[str, Any]:
    """The options by their present names. `old` are those that PyCOMPSs has given up.

    As under PyCOMPSs, an older spelling or an option that does not exist is told on standard error. One that is missing is a TypeError.
    """
    known = (*must, *may, *old)
    options: dict[str, Any] = {}
    for name, value in given.items():
        spelt = name if name in known or not name[:1].islower() else snake(name)
        if spelt not in known:
            warn(f"WARNING: Unexpected argument: {decorator} has no '{name}', which decides nothing")
            continue
        if spelt != name:
            warn(f"WARNING: Deprecated argument: {decorator} calls '{name}' now '{spelt}'")
        elif name in old:
            warn(f"WARNING: Deprecated argument: '{name}' of {decorator}")
        options[spelt] = value
    for name in must:
        if name not in options:
            raise TypeError(f"{decorator} must be given '{name}'")
    return options


def truth(value: Any) -> bool:
    """Of an option that may be a text."""
    return value.strip().lower() not in ("false", "no", "0", "") if isinstance(value, str) else bool(value)
