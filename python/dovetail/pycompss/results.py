"""What a task returns is a value of its own: a later task that changes it changes no argument of this one."""

from __future__ import annotations

import copy
import pickle
import types
from typing import Any

from ..imported import imported

# Values of these types are never copied: they cannot be changed, or a program expects the same object, as with functions and classes.
_SHARED = frozenset(
    (
        type(None),
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        type,
        types.FunctionType,
        types.BuiltinFunctionType,
        types.ModuleType,
    )
)
_CONTAINERS = (list, tuple, dict)


def _memory_of(value: Any) -> Any:
    """The object that has the value's memory: of a view of an array, that array."""
    numpy = imported("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        while isinstance(value.base, numpy.ndarray):
            value = value.base
    return value


def _parts(value: Any) -> list[Any]:
    """The items of a list, tuple or dictionary that could be changed."""
    if type(value) not in _CONTAINERS:
        return []
    items = value.values() if type(value) is dict else value
    # Of a million numbers this takes a third of the time that looking at each would.
    return [] if _SHARED.issuperset(map(type, items)) else [item for item in items if type(item) not in _SHARED]


def own(result: Any, arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    """The result, with copies in the place of what is an argument, a part of a container among them, or memory of one."""
    if type(result) in _SHARED:
        return result
    known: dict[int, Any] = {}
    waiting = [value for value in (*arguments[0], *arguments[1].values()) if type(value) not in _SHARED]
    while waiting:
        value = waiting.pop()
        memory = _memory_of(value)
        if id(memory) not in known:
            known[id(memory)] = memory
            waiting += _parts(value)
    try:
        return _own(result, known) if known else result
    except RecursionError:  # it contains itself, or lists in lists without end
        return result


def copied(value: Any) -> Any:
    """A copy, with nothing shared; the value itself if it cannot be copied."""
    numpy = imported("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray) and value.dtype != object:
        return value.copy()
    try:
        return pickle.loads(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))  # several times faster than the other
    except Exception:
        try:
            return copy.deepcopy(value)
        except Exception:
            return value  # what cannot be copied is shared


def _own(value: Any, known: dict[int, Any]) -> Any:
    if type(value) in _SHARED:
        return value
    memory = _memory_of(value)
    if known.get(id(memory)) is memory:
        return copied(value)
    if not _parts(value):
        return value
    inside = list(value.values() if type(value) is dict else value)
    new = [_own(item, known) for item in inside]
    if all(a is b for a, b in zip(new, inside, strict=True)):
        return value
    return dict(zip(value, new, strict=True)) if type(value) is dict else type(value)(new)
