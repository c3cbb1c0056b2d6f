"""`pycompss.api.task`."""

from __future__ import annotations

import copy
import functools
import inspect
import os
import re
from collections.abc import Callable
from typing import Any

from .. import runtime
from ..directions import Direction
from ..future import Future
from ..imported import imported
from ..tasks import Task
from . import compiled, items
from .body import COUNT, GROUPS, PRODUCERS, UNITS, Body, Lost, Policy
from .command import Call, Program
from .parameter import Parameter, understood
from .promised import TaskFunction, classes_of, note_class
from .randomness import is_generator
from .results import copied
from .returned import inferred_count
from .tracking import has_tasks, in_task, is_nested, performed_here, tracker, warn
from .units import units

__all__ = ["task"]

_ALIASES = {
    "varargsType": "varargs_type",
    "targetDirection": "target_direction",
    "timeOut": "time_out",
    "isReplicated": "is_replicated",
    "isDistributed": "is_distributed",
    "onFailure": "on_failure",
}
# About where a task runs, or how results are stored, on many machines: of no effect on one. A trace of Dovetail's needs no hook.
_OF_NO_EFFECT = ("is_replicated", "is_distributed", "cache_returns", "tracing_hook", "weight")
_NOT_COVERED = ("is_reduce", "chunk_size")
_CONSTANT = (type(None), bool, int, float, complex, str, bytes)

# Tasks of @implement, by the module (or class) and name of the task that they may stand for.
alternatives: dict[tuple[str, str], list[PyCompssTask]] = {}


class PyCompssTask(TaskFunction):
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
        self._count_in = ""  # which argument says how many values are returned
        self._returned_in = ""  # the argument that becomes what is returned
        self.chunk_size = 0  # of a reduction
        self.fault = ""  # why it cannot be called
        self.program: Program | None = None  # what is done in the place of the function
        self.before: tuple[Program, ...] = ()
        self.after: tuple[Program, ...] = ()
        self.units: int | str = 1  # or an expression of parameters and global names
        self.transformations: tuple[Callable[[PyCompssTask, dict[str, Any]], None], ...] = ()
        self._told_lost: set[str] = set()
        self._task: Task[..., Any] | None = None
        self._take(options)

    def _take(self, options: dict[str, Any]) -> None:
        # A parameter of the function may be called as an option of @task is; a direction is about the parameter.
        directed = {
            name: value
            for name, value in options.items()
            if name in self._signature.parameters and name != "returns" and isinstance(value, Parameter | dict)
        }
        named = {_ALIASES.get(name, name): value for name, value in options.items() if name not in directed}
        for name in _NOT_COVERED:
            if name in named and name not in self._signature.parameters:
                raise TypeError(f"@task of '{self.name}': '{name}' is not covered by Dovetail (see docs/pycompss.md)")
        for name in _OF_NO_EFFECT:
            named.pop(name, None)
        numba = compiled.given_by(named)
        if numba:
            self.program = compiled.Compiled(self.name, self.function, numba)
        self.priority = int(bool(named.pop("priority", False)))
        self.policy.set_management(named.pop("on_failure", "RETRY"), f"@task of '{self.name}'")
        self.policy.time_out = self._time_out(named.pop("time_out", 0))
        variable = understood(named.pop("varargs_type", _IN), f"varargs_type of '{self.name}'")
        target = understood(named.pop("target_direction", _INOUT), f"target_direction of '{self.name}'")
        returns = named.pop("returns", None)
        self._count = inferred_count(self.function) if returns is None else self._number_of(returns)
        self._returns = returns
        if self._returned_in:
            if self._returned_in not in self._signature.parameters:
                raise TypeError(f"@task of '{self.name}': returns={returns!r} names no parameter")
            named[self._returned_in] = _INOUT
        named |= directed
        for place, (name, parameter) in enumerate(self._signature.parameters.items()):
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                self._parameters[name] = variable
            elif place == 0 and name == "self":
                self._parameters[name] = target
        for name, value in named.items():
            keywords = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in self._signature.parameters.values())
            if name not in self._signature.parameters and not (keywords and isinstance(value, Parameter | dict)):
                # As under PyCOMPSs, whose programs have such words in them.
                warn(
                    f"WARNING: Unexpected argument: '{name}' of @task of '{self.name}' is neither a parameter of the function nor an option"
                )
                continue
            self._parameters[name] = understood(value, f"@task of '{self.name}': '{name}'")
        self._streams = [name for name, parameter in self._parameters.items() if parameter.name == "STREAM_OUT"]

    def _time_out(self, value: Any) -> float:
        seconds = float(_expanded(value))
        if seconds < 0:
            raise ValueError(f"@task of '{self.name}': time_out must not be negative, and is {value!r}")
        return seconds

    def _number_of(self, returns: Any) -> int:
        if isinstance(returns, str):
            argument = re.fullmatch(r"\s*value_of\s*\(\s*(\w+(?:\.\w+)*)\s*\)\s*", returns)
            if argument is not None:
                self._count_in = argument[1]
                return 1
            argument = re.fullmatch(r"\{\{(\w+)\}\}", returns)
            if argument is not None:
                self._returned_in = argument[1]
                return 0
            name = returns.strip("${}")
            text = os.environ.get(name) if returns.startswith("$") else returns
            value = self.function.__globals__.get(name, text)
            try:
                return int(str(value))
            except (TypeError, ValueError):
                raise TypeError(f"@task of '{self.name}': returns={returns!r} is no number of values") from None
        if isinstance(returns, Parameter | dict):
            parameter = understood(returns, f"@task of '{self.name}': returns")
            if parameter.is_path or parameter.written:
                return 1  # the path itself, or the collection as one value
        if isinstance(returns, bool | Parameter | dict):
            raise TypeError(
                f"@task of '{self.name}': returns={returns!r} is not covered by Dovetail: give a type, several, or how many"
            )
        if isinstance(returns, int):
            return returns
        return len(returns) if isinstance(returns, tuple | list | set | frozenset) else 1

    def _count_of(self, bound: inspect.BoundArguments) -> int:
        """How many values a call returns, where an argument says so."""
        name, *attributes = self._count_in.split(".")
        parameter = self._signature.parameters.get(name)
        if parameter is None:
            raise TypeError(f"@task of '{self.name}': returns='value_of({self._count_in})' names no parameter")
        value = bound.arguments.get(name, parameter.default)
        for attribute in attributes:
            value = getattr(value, attribute)
        try:
            return int(value)
        except (TypeError, ValueError):
            raise TypeError(
                f"@task of '{self.name}': returns='value_of({self._count_in})' is {value!r}, and must be a number when the task is called"
            ) from None

    @functools.cached_property
    def _classes(self) -> tuple[type | None, ...]:
        """Of the values that it returns. Only from the first call on: an annotation may name a class that is defined behind the task."""
        return classes_of(self._returns, self.function)

    @property
    def parameter_names(self) -> list[str]:
        """Of the function."""
        return list(self._signature.parameters)

    def changes_object(self, name: str) -> bool:
        """Whether the task changes an object that it gets for this parameter."""
        parameter = self._parameters.get(name)
        return parameter is not None and parameter.written and not parameter.is_path

    def _can_run(self) -> bool:
        return not self.fault and (isinstance(self.units, str) or self.units <= runtime.workers())

    def _chosen(self) -> PyCompssTask:
        """The task itself, or the first that implements it if only that can run here."""
        for place in (
            self.function.__module__,
            f"{self.function.__module__}.{self.function.__qualname__.rpartition('.')[0]}",
        ):
            found = alternatives.get((place, self.name))
            if found and not self._can_run():
                return next((other for other in found if other._can_run()), self)
        return self

    def _units_of(self, bound: inspect.BoundArguments) -> int:
        """How many workers the call takes."""
        if isinstance(self.units, int):
            return max(self.units, 1)
        names = {name: p.default for name, p in self._signature.parameters.items()} | bound.arguments
        try:
            return max(int(eval(self.units, dict(self.function.__globals__), names)), 1)
        except Exception as error:
            raise ValueError(
                f"@constraint of '{self.name}': computing_units={self.units!r} has no value for this call: {error}"
            ) from error

    def _perform(self, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: int) -> Any:
        """What is done in the place of calling the function alone."""
        call = Call(self.name, self._signature, self._parameters, args, kwargs, wanted, self.policy.time_out)
        for step in self.before:
            step(call)
        result = self.function(*args, **kwargs) if self.program is None else self.program(call)
        for step in self.after:
            step(call)
        return result

    def _made(self) -> Task[..., Any]:
        if self._task is None:
            if self.fault:
                raise ValueError(self.fault)
            if self.policy.time_out and self.program is None and (self.before or self.after):
                raise ValueError(
                    f"@task of '{self.name}': time_out is not covered by Dovetail for a function with a prolog or epilog"
                )
            written = any(p.written and not p.is_path for p in self._parameters.values())
            body = Body(
                self.function,
                self.name,
                self.policy,
                self._parameters,
                self._count,
                written,
                self._returned_in,
                self._perform if self.program or self.before or self.after else None,
            )
            directions: dict[str, Direction] = {name: p.dependency for name, p in self._parameters.items()}
            self._task = Task(
                functools.wraps(self.function)(lambda *args, **kwargs: body(args, kwargs)),
                label=self.name,
                priority=self.priority,
                io=self.io,
                storage_bw=self.storage_bw,
                directions=directions,
                # With nesting, a task may wait for one that could not begin.
                limit=None if self.io or is_nested() else units.limit(),
            )
        return self._task

    def change(self, decorator: str, **options: Any) -> None:
        """What a decorator above @task says."""
        if self._task is not None:
            raise TypeError(f"@{decorator} of '{self.name}' comes too late: the task has been called already")
        for name, value in options.items():
            setattr(self, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        chosen = self._chosen() if alternatives else self
        if chosen is not self:
            return chosen(*args, **kwargs)
        if self.transformations or "dt" in kwargs:
            args, kwargs = self._transformed(args, kwargs)
        if performed_here(self.name):
            kwargs = {
                name: value for name, value in kwargs.items() if name != "returns" or name in self._signature.parameters
            }
            if self.fault:
                raise ValueError(self.fault)
            if self.program or self.before or self.after:
                return self._perform(args, kwargs, self._units_of(self._signature.bind(*args, **kwargs)))
            return self.function(*args, **kwargs)
        if self.chunk_size > 1:
            return self._reduced(args, kwargs)
        return self._spawned(args, kwargs)

    def _transformed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments that @data_transformation has changed; `dt` has further ones, of this call."""
        names = self._signature.parameters
        kept: dict[str, Any] = {
            name: kwargs.pop(name) for name in ("dt", "returns") if name in kwargs and name not in names
        }
        more = kept.pop("dt", ())
        bound = self._signature.bind(*args, **kwargs)
        for transform in (*self.transformations, *(more if isinstance(more, list | tuple) else (more,))):
            transform(self, bound.arguments)
        return bound.args, {**bound.kwargs, **kept}

    def _spawned(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tracker.check()
        count = self._count
        if "returns" in kwargs and "returns" not in self._signature.parameters:
            count = self._number_of(kwargs.pop("returns"))
        bound = self._signature.bind(*args, **kwargs)
        if self._count_in:
            count = self._count_of(bound)
        for name, value in bound.arguments.items():
            passed = self._passed(name, value)
            if passed is not value:
                bound.arguments[name] = passed
                args, kwargs = bound.args, bound.kwargs
        # A default of a parameter that is written, or names a file, orders tasks too.
        for name, parameter in self._signature.parameters.items():
            default = parameter.default
            if name in self._parameters and name not in bound.arguments and default is not inspect.Parameter.empty:
                kwargs[name] = self._passed(name, default)
        given = {**bound.arguments, **kwargs}
        written = [(given[name], p.is_path) for name, p in self._parameters.items() if p.written and name in given]
        if tracker.open_groups:
            kwargs[GROUPS] = tracker.open_groups
        if count != self._count:
            kwargs[COUNT] = count
        nested = in_task()
        if self.units != 1 or self.io or nested:
            wanted = self._units_of(bound)
            kwargs[UNITS] = wanted, 0 if self.io or nested else wanted
        future = self._begun(args, kwargs, [given[name] for name in self._streams if name in given])
        tracker.add(future, written)
        if count == 0:
            return bound.arguments[self._returned_in] if self._returned_in else None
        made = [future] if count == 1 else [future._item(place) for place in range(count)]
        if len(self._classes) == count:
            for each, kind in zip(made, self._classes, strict=True):
                note_class(each, kind)
        return future if count == 1 else made

    def _begun(self, args: tuple[Any, ...], kwargs: dict[str, Any], streams: list[Any]) -> Future[Any]:
        """The task of a call that writes to these streams. They count it from now on, since consumers may run before it."""
        task = self._made()
        producers = tuple(stream.begin() for stream in streams)
        if producers:
            kwargs[PRODUCERS] = producers
        try:
            future: Future[Any] = task(*args, **kwargs)
        except BaseException:
            for producer in producers:
                producer.end()
            raise
        for producer in producers:
            future.add_done_callback(producer.end)
        return future

    def _is_lost(self, name: str, parameter: Parameter, value: Any) -> bool:
        """Whether no task can change the value."""
        constant = isinstance(value, _CONSTANT) and value is not None
        return constant and parameter.sort == "object" and name != self._returned_in

    def _passed(self, name: str, value: Any) -> Any:
        """What the task gets for an argument; for `*args` and `**kwargs`, for all of theirs."""
        function_has = self._signature.parameters.get(name)
        if function_has is not None and function_has.kind is inspect.Parameter.VAR_POSITIONAL:
            each = tuple(self._passed_one(name, one) for one in value)
            return value if all(a is b for a, b in zip(each, value, strict=True)) else each
        if function_has is not None and function_has.kind is inspect.Parameter.VAR_KEYWORD:
            named = {key: self._passed_one(key, one) for key, one in value.items()}
            return value if all(named[key] is one for key, one in value.items()) else named
        return self._passed_one(name, value)

    def _passed_one(self, name: str, value: Any) -> Any:
        parameter = self._parameters.get(name, _IN)
        if parameter.written and self._is_lost(name, parameter, value):
            if name not in self._told_lost:
                self._told_lost.add(name)
                warn(
                    f"task '{self.name}': '{name}' is to be changed, and a value of type '{type(value).__name__}' cannot be: the change is "
                    "lost. Return the new value instead (this is said once)"
                )
            return Lost(value)
        numpy = imported("numpy")
        if parameter.sort == "collection" and numpy is not None:
            return _listed(value, numpy)
        if parameter.name == "IN_DELETE" and not isinstance(value, _CONSTANT) and not has_tasks(value):
            return copied(items.latest(value))  # the program goes on with its own, and may change it
        if not parameter.written and is_generator(value) and id(value) not in tracker.changed():
            return copy.deepcopy(value)
        return value

    def _reduced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One task for each part of the collection, and again for what they return, until one task can take all of it."""
        bound = self._signature.bind(*args, **kwargs)
        collections = [name for name, p in self._parameters.items() if p.sort == "collection" and not p.written]
        if len(collections) != 1 or not isinstance(bound.arguments.get(collections[0]), list | tuple):
            raise TypeError(
                f"@reduction of '{self.name}': the task must have one parameter that is COLLECTION_IN, and get a list"
            )
        rest = list(bound.arguments[collections[0]])
        while len(rest) > self.chunk_size:
            parts = [rest[place : place + self.chunk_size] for place in range(0, len(rest), self.chunk_size)]
            rest = []
            for part in parts:
                bound.arguments[collections[0]] = part
                rest.append(part[0] if len(part) == 1 else self._spawned(bound.args, bound.kwargs))
        bound.arguments[collections[0]] = rest
        return self._spawned(bound.args, bound.kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<PyCOMPSs task '{self.name}'>"


def _listed(collection: Any, numpy: Any) -> Any:
    """Arrays of objects as lists: a task gets every collection as lists."""
    if type(collection) in (list, tuple):
        new = [_listed(item, numpy) for item in collection]
        return collection if all(a is b for a, b in zip(new, collection, strict=True)) else type(collection)(new)
    if isinstance(collection, numpy.ndarray) and collection.dtype == object and collection.ndim > 0:
        return _listed(collection.tolist(), numpy)
    return collection


def _expanded(value: Any) -> Any:
    return os.path.expandvars(value) if isinstance(value, str) else value


def task(*positional: Any, **options: Any) -> Callable[[Callable[..., Any]], PyCompssTask]:
    """Makes a function a task: `@task(returns=int, a=INOUT)`."""
    if positional:
        raise TypeError("@task must be called, @task(), and takes keywords only")

    def decorate(function: Callable[..., Any]) -> PyCompssTask:
        plain = getattr(function, "py_func", function)  # of one that Numba has compiled
        if not inspect.isfunction(plain):
            raise TypeError(f"@task must be next to the function, and got {function!r}")
        made = PyCompssTask(plain, options)
        if plain is not function:
            made.program = compiled.AlreadyCompiled(function)
        return made

    return decorate


_IN = Parameter("IN", "object", Direction.IN)
_INOUT = Parameter("INOUT", "object", Direction.INOUT)
