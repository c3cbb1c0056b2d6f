"""Objects that a task has put in the place of items of a collection.

A program goes on with the items that it passed: they stand for what is there now. So the task gets a copy of the list, and what it put in
the place of an item is remembered under the item.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from .. import _core

# By identity of the item; it is kept alive, so that no other object gets that identity.
_replaced: dict[int, tuple[Any, Any]] = {}
_CONSTANT = (type(None), bool, int, float, complex, str, bytes)
_CONTAINERS = (list, tuple, dict, set, frozenset, deque)


def latest(value: Any) -> Any:
    """The value, with all items replaced that tasks have replaced."""
    if not _replaced:
        return value
    found = _replaced.get(id(value))
    while found is not None and found[0] is value:
        value = found[1]
        found = _replaced.get(id(value))
    if not isinstance(value, _CONTAINERS):
        return value
    inside = _core.items_of(value) or []
    new = [latest(item) for item in inside]
    return value if all(a is b for a, b in zip(new, inside, strict=True)) else _core.container_like(value, new)


def settled(value: Any) -> Any:
    """As `latest`, for what a task changes in place: lists and dictionaries stay the program's own."""
    if not _replaced or not isinstance(value, list | dict):
        return latest(value)
    for place, item in list(enumerate(value) if isinstance(value, list) else value.items()):
        new = settled(item)
        if new is not item:
            value[place] = new
    return value


def copied(value: Any) -> Any:
    """The lists and dictionaries copied, the items themselves not."""
    if type(value) is list:
        return [copied(item) for item in value]
    if type(value) is dict:
        return {key: copied(item) for key, item in value.items()}
    return value


def note_changes(before: Any, after: Any) -> None:
    """Compares a collection with what the task made of the copy."""
    if type(before) is list and type(after) is list:
        for place, item in enumerate(after):
            if place < len(before):
                _note(before, place, item)
            else:
                before.append(item)
        del before[len(after) :]
    elif type(before) is dict and type(after) is dict:
        for key, item in after.items():
            if key in before:
                _note(before, key, item)
            else:
                before[key] = item
        for key in before.keys() - after.keys():
            del before[key]


def _note(before: Any, place: Any, item: Any) -> None:
    old = before[place]
    if isinstance(old, list | dict) and type(old) is type(item):
        note_changes(old, item)
    elif latest(old) is not item:
        if isinstance(old, _CONSTANT):
            before[place] = item  # has no identity of its own, so that only its place can stand for it
        else:
            _replaced[id(old)] = (old, item)


def forget(value: Any) -> None:
    """Drops what stands for the object, and for that, and so on."""
    found = _replaced.pop(id(value), None)
    while found is not None:
        found = _replaced.pop(id(found[1]), None)


def stands_for_nothing(value: Any) -> bool:
    """Whether it is no object of its own, which tasks could change or replace."""
    return isinstance(value, _CONSTANT) or callable(value)
