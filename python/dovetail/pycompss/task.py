"""`pycompss.api.task`."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any

from ..directions import Direction
from ..future import Future
from ..task import Task
from .body import GROUPS, Body, Policy
from .parameter import Parameter, understood
from .returned import inferred_count
from .tracking import tracker

__all__ = ["task"]

_ALIASES = {
    "varargsType": "varargs_type",
    "targetDirection": "target_direction",
    "timeOut": "time_out",
    "isReplicated": "is_replicated",
    "isDistributed": "is_distributed",
    "onFailure": "on_failure",
}
# About where a task runs, or how results are stored, on many machines: of no effect on one.
_OF_NO_EFFECT = ("is_replicated", "is_distributed", "cache_returns", "weight")
_NOT_COVERED = (
    "numba",
    "numba_flags",
    "numba_signature",
    "numba_declaration",
    "is_reduce",
    "chunk_size",
    "tracing_hook",
)


class PyCompssTask:
    """A function whose calls are tasks, as PyCOMPSs has them."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function = function
        self.name = function.__name__
        self.policy = Policy()
        self.storage_bw: float | str | None = None
        self.io = False
        self.priority = 0
        functools.update_wrapper(self, function)
        self._signature = inspect.signature(function)
        self._parameters: dict[str, Parameter] = {}
        self._count = 0
        self._task: Task[..., Any] | None = None
        self._take(options)

    def _take(self, options: dict[str, Any]) -> None:
        named = {_ALIASES.get(name, name): value for name, value in options.items()}
        for name in _NOT_COVERED:
            if name in named and name not in self._signature.parameters:
                raise TypeError(f"@task of '{self.name}': '{name}' is not covered by Dovetail (see docs/pycompss.md)")
        for name in _OF_NO_EFFECT:
            named.pop(name, None)
        self.priority = int(bool(named.pop("priority", False)))
        self.policy.set_management(named.pop("on_failure", "RETRY"), f"@task of '{self.name}'")
        self.policy.time_out = self._time_out(named.pop("time_out", 0))
        variable = understood(named.pop("varargs_type", _IN), f"varargs_type of '{self.name}'")
        target = understood(named.pop("target_direction", _INOUT), f"target_direction of '{self.name}'")
        returns = named.pop("returns", None)
        self._count = inferred_count(self.function) if returns is None else self._number_of(returns)
        for place, (name, parameter) in enumerate(self._signature.parameters.items()):
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                self._parameters[name] = variable
            elif place == 0 and name == "self":
                self._parameters[name] = target
        for name, value in named.items():
            keywords = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in self._signature.parameters.values())
            if name not in self._signature.parameters and not (keywords and isinstance(value, Parameter | dict)):
                raise TypeError(
                    f"@task of '{self.name}': '{name}' is neither a parameter of the function nor one of @task that is "
                    "covered by Dovetail (see docs/pycompss.md)"
                )
            self._parameters[name] = understood(value, f"@task of '{self.name}': '{name}'")

    def _time_out(self, value: Any) -> float:
        seconds = float(_expanded(value))
        if seconds < 0:
            raise ValueError(f"@task of '{self.name}': time_out must not be negative, and is {value!r}")
        return seconds

    def _number_of(self, returns: Any) -> int:
        if isinstance(returns, str):
            name = returns.strip("${}")
            text = os.environ.get(name) if returns.startswith("$") else returns
            value = self.function.__globals__.get(name, text)
            try:
                return int(str(value))
            except (TypeError, ValueError):
                raise TypeError(f"@task of '{self.name}': returns={returns!r} is no number of values") from None
        if isinstance(returns, bool | Parameter | dict):
            raise TypeError(
                f"@task of '{self.name}': returns={returns!r} is not covered by Dovetail: give a type, several, or how many"
            )
        if isinstance(returns, int):
            return returns
        return len(returns) if isinstance(returns, tuple | list) else 1

    def _made(self) -> Task[..., Any]:
        if self._task is None:
            written = any(p.written and not p.is_path for p in self._parameters.values())
            body = Body(self.function, self.name, self.policy, self._parameters, self._count, written)
            directions: dict[str, Direction] = {name: p.dependency for name, p in self._parameters.items()}
            self._task = Task(
                functools.wraps(self.function)(lambda *args, **kwargs: body(args, kwargs)),
                label=self.name,
                priority=self.priority,
                io=self.io,
                storage_bw=self.storage_bw,
                directions=directions,
            )
        return self._task

    def change(self, decorator: str, **options: Any) -> None:
        """What a decorator above @task says."""
        if self._task is not None:
            raise TypeError(f"@{decorator} of '{self.name}' comes too late: the task has been called already")
        for name, value in options.items():
            setattr(self, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tracker.check()
        bound = self._signature.bind(*args, **kwargs)
        # A default of a parameter that is written, or names a file, orders tasks too.
        for name, parameter in self._signature.parameters.items():
            default = parameter.default
            if name in self._parameters and name not in bound.arguments and default is not inspect.Parameter.empty:
                kwargs[name] = default
        written: list[tuple[Any, bool]] = []
        if tracker.open_groups:
            kwargs[GROUPS] = tracker.open_groups
            given = {**bound.arguments, **kwargs}
            written = [(given[name], p.is_path) for name, p in self._parameters.items() if p.written and name in given]
        future: Future[Any] = self._made()(*args, **kwargs)
        tracker.add(future, written)
        if self._count == 0:
            return None
        return future if self._count == 1 else [future._item(place) for place in range(self._count)]

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<PyCOMPSs task '{self.name}'>"


def _expanded(value: Any) -> Any:
    return os.path.expandvars(value) if isinstance(value, str) else value


def task(*positional: Any, **options: Any) -> Callable[[Callable[..., Any]], PyCompssTask]:
    """Makes a function a task: `@task(returns=int, a=INOUT)`."""
    if positional:
        raise TypeError("@task must be called, @task(), and takes keywords only")

    def decorate(function: Callable[..., Any]) -> PyCompssTask:
        if not inspect.isfunction(function):
            raise TypeError(f"@task must be next to the function, and got {function!r}")
        return PyCompssTask(function, options)

    return decorate


_IN = Parameter("IN", "object", Direction.IN)
_INOUT = Parameter("INOUT", "object", Direction.INOUT)
