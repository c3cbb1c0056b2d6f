"""`pycompss.api.local`."""

from __future__ import annotations

import ctypes
import functools
import inspect
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
    """Puts values in the place of futures, which are named by their identity and kept alive by the caller."""
    variables = caller.f_locals  # of a module, its names
    changed = {
        name: made[id(value)]
        for name, value in list(variables.items())
        if isinstance(value, Future) and id(value) in made
    }
    if sys.version_info >= (3, 13) or not caller.f_code.co_flags & inspect.CO_OPTIMIZED:
        variables.update(changed)
        return
    # Of a function they are a copy, which its frame keeps until the function ends. What is in the copy is written back: only what has changed may
    # be there, since tasks and threads can have assigned the others meanwhile.
    is_held = sys.getrefcount(variables) > _REFERENCES
    content = {**variables, **changed}
    variables.clear()
    if changed:
        variables.update(changed)
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(caller), ctypes.c_int(0))
        variables.clear()
    if is_held:
        variables.update(content)


# To a copy that only the frame has: its own, that of the variable, and that of the argument. The program has another one if it called locals().
_REFERENCES = 3
