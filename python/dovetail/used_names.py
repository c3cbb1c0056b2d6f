"""What a function that is sent to other processes refers to: has it changed since?"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

_MISSING = object()
_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL")


def _names(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in _GLOBAL:
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _travels_by_name(function: FunctionType) -> bool:
    """Whether the receiver imports it. cloudpickle sends all others as they are."""
    module = sys.modules.get(function.__module__ or "")
    return (
        module is not None
        and function.__module__ != "__main__"
        and getattr(module, function.__name__, None) is function
    )


def _function_in(value: Any) -> Any:
    """The function that a method, a partial function or a task calls."""
    if isinstance(value, MethodType):
        return value.__func__
    if isinstance(value, functools.partial):
        return value.func
    own = type(value).__module__.partition(".")[0] == __package__
    return getattr(value, "function", value) if own else value


class UsedNames:
    """The global names and the variables of enclosing functions that a function uses, those of functions of the program that it calls included.

    Compared is which object a name stands for. What is changed in an object is not seen.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._globals: list[tuple[dict[str, Any], str, Any]] = []
        self._cells: list[tuple[Any, Any]] = []
        seen: set[int] = set()
        waiting: list[Any] = [function]
        while waiting:
            found = _function_in(waiting.pop())
            if not isinstance(found, FunctionType) or id(found) in seen or _travels_by_name(found):
                continue
            seen.add(id(found))
            names = found.__globals__
            for name in dict.fromkeys(_names(found.__code__)):
                value = names.get(name, _MISSING)
                self._globals.append((names, name, value))
                waiting.append(value)
            for cell in found.__closure__ or ():
                value = _content(cell)
                self._cells.append((cell, value))
                waiting.append(value)

    def have_changed(self) -> bool:
        return any(names.get(name, _MISSING) is not value for names, name, value in self._globals) or any(
            _content(cell) is not value for cell, value in self._cells
        )


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING
