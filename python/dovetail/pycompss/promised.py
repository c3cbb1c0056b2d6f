"""Objects that a task is still to make: their methods that are tasks can be called.

The class is the one that `returns` of the task names, or its annotation. Such a call is a task that gets the object when it is there; as with
an object of the program, `self` is INOUT unless the method says otherwise.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..future import Future
from .tracking import warn

# Where a future keeps the class of its object.
_CLASS = "_pycompss_class"
_told_of_names: set[type] = set()


class TaskFunction:
    """What @task makes of a function."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def classes_of(returns: Any, function: Callable[..., Any]) -> tuple[type | None, ...]:
    """The class of each value that the task returns, and None where it does not say one that has methods of the program."""
    if returns is None:
        returns = inspect.get_annotations(function).get("return")
        if isinstance(returns, str):
            returns = function.__globals__.get(returns)
    several = returns if isinstance(returns, tuple | list) else (returns,)
    return tuple(each if _is_of_a_program(each) else None for each in several)


def _is_of_a_program(value: Any) -> bool:
    return inspect.isclass(value) and value.__module__ != "builtins"


def note_class(future: Future[Any], kind: type | None) -> None:
    """The future's object will be of this class."""
    if kind is not None:
        _tell_of_names(kind)
        setattr(future, _CLASS, kind)


def _tell_of_names(kind: type) -> None:
    """Once for each class: a method by the name of one of the future's own is not reached."""
    if kind in _told_of_names:
        return
    _told_of_names.add(kind)
    same = [name for name in dir(Future) if not name.startswith("_") and _task_of(kind, name) is not None]
    if same:
        warn(
            f"class '{kind.__name__}' has methods that are tasks by the names {', '.join(same)}: of an object that a task is still to make, these "
            "names are what the runtime has there. Wait for the object first (compss_wait_on)"
        )


def _task_of(kind: type, name: str) -> TaskFunction | None:
    found = inspect.getattr_static(kind, name, None)
    inner = found.__func__ if isinstance(found, staticmethod | classmethod) else found
    return inner if isinstance(inner, TaskFunction) else None


def _attribute(future: Future[Any], name: str) -> Any:
    """What `future.name` is where the future itself has no such attribute."""
    if name.startswith("__"):
        # Python and other libraries ask for these to find out what an object is.
        raise AttributeError(name)
    kind = future.__dict__.get(_CLASS)
    asked = f"'{name}' of the object that task '{future.label}' makes"
    if kind is None:
        raise AttributeError(
            f"{asked}: its class is not known, since 'returns' of the task names none. Name it (returns=Class), or wait for the object "
            "first (compss_wait_on)"
        )
    task = _task_of(kind, name)
    if task is None:
        raise AttributeError(
            f"{asked}: class '{kind.__name__}' has no method of that name that is a task. Wait for the object first (compss_wait_on)"
        )
    if isinstance(inspect.getattr_static(kind, name), staticmethod | classmethod):
        return getattr(kind, name)
    return functools.partial(task, future)


def install() -> None:
    """Futures of this process have the methods of the objects that they stand for."""
    Future.__getattr__ = _attribute  # type: ignore[attr-defined]
