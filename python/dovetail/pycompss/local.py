"""`pycompss.api.local`."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from ..future import Future
from .api import compss_wait_on

__all__ = ["local"]


def local(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A function of the program that waits for its arguments. Variables of its caller that hold such an argument hold its value from then on."""
    if options:
        raise TypeError(f"@local: '{next(iter(options))}' is not covered by Dovetail (see docs/pycompss.md)")
    if function is None:
        return local
    wanted = function

    @functools.wraps(wanted)
    def synchronised(*args: Any, **kwargs: Any) -> Any:
        values = [compss_wait_on(value) for value in args]
        named = {name: compss_wait_on(value) for name, value in kwargs.items()}
        made = {
            id(before): now
            for before, now in zip((*args, *kwargs.values()), (*values, *named.values()), strict=True)
            if isinstance(before, Future)
        }
        if made:
            _put_into_variables(sys._getframe(1), made)
        return wanted(*values, **named)

    return synchronised


def _put_into_variables(caller: FrameType, made: Mapping[int, Any]) -> None:
    """Puts values in the place of futures, which are named by their identity and kept alive by who calls this."""
    variables = caller.f_locals  # of a module, its names
    for name in [name for name, value in variables.items() if isinstance(value, Future) and id(value) in made]:
        variables[name] = made[id(variables[name])]
    if sys.version_info < (3, 13):  # before, they are a copy
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(caller), ctypes.c_int(0))
