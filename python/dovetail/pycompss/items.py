"""Objects that a task has put in the place of items of a collection.

A program goes on with the items that it passed: they stand for what is there now. So the task gets a copy of the list, and what it put in
the place of an item is remembered under the item.
"""

from __future__ import annotations

from typing import Any

# By identity of the item; it is kept alive, so that no other object gets that identity.
_replaced: dict[int, tuple[Any, Any]] = {}
_CONSTANT = (type(None), bool, int, float, complex, str, bytes)


def latest(value: Any) -> Any:
    """The value, with all items replaced that tasks have replaced."""
    if not _replaced:
        return value
    found = _replaced.get(id(value))
    while found is not None and found[0] is value:
        value = found[1]
        found = _replaced.get(id(value))
    kind = type(value)
    if kind is list or kind is tuple:
        new = [latest(item) for item in value]
        return value if all(a is b for a, b in zip(new, value, strict=True)) else kind(new)
    if kind is dict:
        items = {key: latest(item) for key, item in value.items()}
        return value if all(items[key] is value[key] for key in value) else items
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
    """Drops what stands for the object."""
    _replaced.pop(id(value), None)
