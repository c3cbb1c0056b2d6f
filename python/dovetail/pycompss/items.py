"""Objects that a task has put in the place of items of a collection.

A program goes on with the items that it passed: they stand for what is there now. So the task gets a copy of the list, and what it put in
the place of an item is remembered under the item.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from .. import _core

# By identity of the item; it is kept alive, so that no other object gets that identity.
_replaced: dict[int, tuple[Any, Any]] = {}
_CONSTANT = (type(None), bool, int, float, complex, str, bytes)
_CONTAINERS = (list, tuple, dict, set, frozenset, deque)


def rebuilt(value: Any, replaced: Callable[[Any], Any], inside: Callable[[Any], list[Any] | None]) -> Any:
    """The value with `replaced(part)` in the place of itself and of each part. `inside` gives the items of a container.

    Containers of which nothing is replaced stay the same objects. Depth is not limited. Raises ValueError for one that contains itself and what
    is to be replaced.
    """
    levels: list[tuple[Any, list[Any], list[Any]]] = [(None, [value], [])]
    done: dict[int, tuple[Any, Any]] = {}  # containers, kept alive, and what has become of them
    begun: dict[int, bool] = {}  # containers of `levels`, and whether they were found again below themselves
    while True:
        container, before, after = levels[-1]
        if len(after) < len(before):
            part = replaced(before[len(after)])
            if id(part) in begun:
                begun[id(part)] = True
                after.append(part)
            elif id(part) in done:
                after.append(done[id(part)][1])
            elif parts := inside(part):
                begun[id(part)] = False
                levels.append((part, parts, []))
            else:
                after.append(part)
            continue
        levels.pop()
        if not levels:
            return after[0]
        same = all(new is old for new, old in zip(after, before, strict=True))
        if begun.pop(id(container)) and not same:
            raise ValueError(f"a '{type(container).__name__}' contains itself and what tasks replace: it has no value")
        done[id(container)] = (container, container if same else _core.container_like(container, after))
        levels[-1][2].append(done[id(container)][1])


def replacement(value: Any) -> Any:
    """What tasks have put in the place of the object itself."""
    found = _replaced.get(id(value))
    while found is not None and found[0] is value:
        value = found[1]
        found = _replaced.get(id(value))
    return value


def _inside(value: Any) -> list[Any] | None:
    return _core.items_of(value) if isinstance(value, _CONTAINERS) else None


def latest(value: Any) -> Any:
    """The value, with all items replaced that tasks have replaced."""
    return rebuilt(value, replacement, _inside) if _replaced else value


def settled(value: Any) -> Any:
    """As `latest`, for what a task changes in place: lists and dictionaries stay the program's own."""
    if not _replaced or not isinstance(value, list | dict):
        return latest(value)
    seen = {id(value)}
    waiting: list[Any] = [value]
    while waiting:
        container = waiting.pop()
        for place, item in list(enumerate(container) if isinstance(container, list) else container.items()):
            item = replacement(item)
            new = item if isinstance(item, list | dict) else latest(item)
            if new is not container[place]:
                container[place] = new
            if isinstance(new, list | dict) and id(new) not in seen:
                seen.add(id(new))
                waiting.append(new)
    return value


def copied(value: Any) -> Any:
    """The lists and dictionaries copied, the items themselves not."""
    copies: dict[int, Any] = {}
    waiting: list[Any] = []

    def copy(item: Any) -> Any:
        if type(item) is not list and type(item) is not dict:
            return item
        if id(item) not in copies:
            copies[id(item)] = item.copy()
            waiting.append(copies[id(item)])
        return copies[id(item)]

    whole = copy(value)
    while waiting:
        container = waiting.pop()
        for place, item in enumerate(container) if type(container) is list else container.items():
            container[place] = copy(item)
    return whole


def note_changes(before: Any, after: Any) -> None:
    """Compares a collection with what the task made of the copy."""
    seen = {id(before)}
    waiting = [(before, after)]
    while waiting:
        old, new = waiting.pop()
        for place, one, other in _changes(old, new):
            if isinstance(one, list | dict) and type(one) is type(other):
                if id(one) not in seen:
                    seen.add(id(one))
                    waiting.append((one, other))
            else:
                _note(old, place, other)


def _changes(before: Any, after: Any) -> list[tuple[Any, Any, Any]]:
    """Gives the collection as many items as the copy has. Returns the places where both had one, and what they have there."""
    if type(before) is list and type(after) is list:
        both = [(place, *pair) for place, pair in enumerate(zip(before, after, strict=False))]
        before[len(both) :] = after[len(both) :]
        return both
    if type(before) is dict and type(after) is dict:
        both = [(key, before[key], item) for key, item in after.items() if key in before]
        before.update({key: item for key, item in after.items() if key not in before})
        for key in before.keys() - after.keys():
            del before[key]
        return both
    return []


def _note(before: Any, place: Any, item: Any) -> None:
    old = before[place]
    if latest(old) is item:
        return
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
