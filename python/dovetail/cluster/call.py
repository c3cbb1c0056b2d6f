"""The driver's side of a call: what is sent, and what is brought up to date when its end has come."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _core, pickling
from ..directions import Direction
from ..processes import RemoteTraceback
from ..updating import update
from ..used_names import UsedNames
from . import message
from .devices import waits_for_ledger

if TYPE_CHECKING:
    from ..tasks import Task

_WRITTEN = (Direction.OUT, Direction.INOUT, Direction.COMMUTATIVE)
_FILES = (Direction.FILE_IN, Direction.FILE_OUT, Direction.FILE_INOUT, Direction.FILE_COMMUTATIVE)
_FILES_CHANGED = (Direction.FILE_INOUT, Direction.FILE_COMMUTATIVE)
_VARIABLE, _KEYWORDS = 0x04, 0x08

_numbers = itertools.count(1)


class WorkerDied(RuntimeError):
    """The process or the node ended that ran a task, and the task is not run again."""


class Function:
    """A task's function, as the cluster gets it. Its calls are bodies that end when the cluster says so."""

    def __init__(self, task: Task[..., Any], driver: str, submit: Callable[[Job], None]) -> None:
        self.label = task.label
        self.priority = task.priority
        self.seconds: float | None = None  # that a call takes
        directions = task.directions.values()
        # If its node dies, it is not known what it has done to the file.
        self.once = task.retries == 0 and any(direction in _FILES_CHANGED for direction in directions)
        # It may wait long for its share, in its turn, which it would lose if it were given back.
        self.shares = waits_for_ledger(task.storage_bw, task.device)
        self.alone = self.once or self.shares
        self.io = task.io
        self.has_account = task.limit is not None or task.storage_bw is not None
        limit = None if task.limit is None else (f"{driver}-{id(task.limit)}", task.limit.most)
        self.options = message.Options(task.label, task.io, task.storage_bw, task.device, limit, task.time_limit)
        self._limit = task.limit  # as long as its identity is its name
        self._submit = submit
        self._directions = task.directions
        self._changes = any(direction in _WRITTEN for direction in directions)
        self._names_files = any(direction in _FILES for direction in directions)
        code = getattr(getattr(task.function, "__wrapped__", task.function), "__code__", None)
        self._names, self._rest, self._others = _parameters(code)
        self._driver = driver
        self._function = task.function
        self._made = self._make()

    def _make(self) -> tuple[UsedNames, message.FunctionKey, bytes]:
        used = UsedNames(self._function)  # before: what changes meanwhile is noticed the next time
        try:
            return used, (self._driver, next(_numbers)), pickling.dump_alone(self._function)
        except Exception as error:
            raise TypeError(
                f"task '{self.label}' cannot be sent to the cluster, since its function refers to what belongs to this process: {error}"
            ) from error

    def pickled(self) -> tuple[message.FunctionKey, bytes]:
        """The function as bytes: the same ones until it, or something that it uses by name, becomes another object."""
        if self._made[0].have_changed():
            self._made = self._make()
        return self._made[1:]

    def __call__(self, ending: _core.Ending, /, *args: Any, **kwargs: Any) -> None:
        if self._names_files:
            args = tuple(self._absolute(place, value) for place, value in enumerate(args))
            kwargs = {name: self._absolute(name, value) for name, value in kwargs.items()}
        self._submit(Job(ending, self, args, kwargs))

    def _direction(self, place: int | str) -> Direction | None:
        if isinstance(place, str):
            return self._directions.get(place, self._directions.get(self._others) if place not in self._names else None)
        return self._directions.get(self._names[place] if place < len(self._names) else self._rest)

    def _absolute(self, place: int | str, value: Any) -> Any:
        """A node has another working folder."""
        if isinstance(value, str) and self._direction(place) in _FILES:
            return os.path.abspath(value)
        return value

    def changed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[int | str, Any]:
        """What a call changes, by its place among the arguments."""
        if not self._changes:
            return {}
        values: dict[int | str, Any] = dict(enumerate(args))
        values.update(kwargs)
        return {place: value for place, value in values.items() if self._direction(place) in _WRITTEN}

    def name_of(self, place: int | str) -> str:
        if isinstance(place, str):
            return place
        return self._names[place] if place < len(self._names) else f"*{self._rest}"


def _parameters(code: Any) -> tuple[tuple[str, ...], str, str]:
    """The names of the positional parameters, of `*args` and of `**kwargs`."""
    if code is None:
        return (), "", ""
    named = code.co_argcount + code.co_kwonlyargcount
    variables = list(code.co_varnames[named:])
    rest = variables.pop(0) if code.co_flags & _VARIABLE else ""
    others = variables.pop(0) if code.co_flags & _KEYWORDS else ""
    return code.co_varnames[: code.co_argcount], rest, others


class Job:
    """One call on its way."""

    __slots__ = (
        "alone",
        "args",
        "changed",
        "ending",
        "function",
        "is_suspect",
        "key",
        "kwargs",
        "losses",
        "number",
        "pickled",
        "size",
    )

    def __init__(self, ending: _core.Ending, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.number = next(_numbers)
        self.ending = ending
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.changed: dict[int | str, Any] = {}
        self.alone = function.alone  # no other call is sent with it
        self.is_suspect = False  # of killing the worker that runs it; nothing runs beside it
        self.losses = 0  # how often it was sent and nothing came back
        self.size = 0  # bytes of its arguments
        # The function as it was when the call was packed.
        self.key: message.FunctionKey = ("", 0)
        self.pickled = b""

    def __lt__(self, other: Job) -> bool:
        """Whether it is sent first."""
        return (-self.function.priority, self.number) < (-other.function.priority, other.number)

    def call(self) -> message.Call | None:
        """What is sent; None if it cannot be, which is its failure."""
        plain = pickling.is_plain(self.args) and not self.kwargs
        packed: Any = self.args
        try:
            self.key, self.pickled = self.function.pickled()
            if plain:
                self.size = sum(len(value) for value in self.args if isinstance(value, str | bytes))
            else:
                self.changed = self.function.changed(self.args, self.kwargs)
                packed = self._packed()
                self.size = len(packed)
        except BaseException as error:
            self.fail(error)
            return None
        return self.number, self.key, tuple(self.changed), packed

    def _packed(self) -> bytes:
        try:
            return pickling.dump_alone((self.args, self.kwargs))
        except (OSError, MemoryError):
            raise
        except Exception as error:
            raise self._unpicklable(error) from error

    def _unpicklable(self, error: Exception) -> Exception:
        names = [self.function.name_of(place) for place in (*range(len(self.args)), *self.kwargs)]
        name = pickling.failing_argument(names, [*self.args, *self.kwargs.values()], pickling.dump_alone)
        where = "an argument" if name is None else f"argument '{name}'"
        return TypeError(f"{where} of task '{self.function.label}' cannot be sent to the cluster: {error}")

    def end(self, fate: message.Fate, seconds: float, packed: Any) -> None:
        """Ends the task as the agent says."""
        function = self.function
        function.seconds = seconds if function.seconds is None else 0.9 * function.seconds + 0.1 * seconds
        try:
            if fate is message.Fate.FAILED:
                failure, text = message.unpack_value(packed)
                failure.__cause__ = RemoteTraceback(text)
                self.fail(failure)
                return
            if self.changed:
                value, changed = message.unpack_value(packed)
                self._write_back(changed)
            else:
                value = message.unpack_value(packed)
        except BaseException as error:
            self.fail(error)
            return
        self.args, self.kwargs, self.changed = (), {}, {}
        self.ending.give(value)

    def _write_back(self, new: dict[int | str, Any]) -> None:
        for place, original in self.changed.items():
            if update(original, new[place]) is not original:
                raise TypeError(
                    f"argument '{self.function.name_of(place)}' of task '{self.function.label}' was changed on a node, and an object of type "
                    f"'{type(original).__name__}' cannot be brought up to date in place; return it instead"
                )

    def fail(self, error: BaseException) -> None:
        # A failure is kept as long as the program may ask for it, and its traceback keeps this call.
        self.args, self.kwargs, self.changed = (), {}, {}
        if not self.ending.ended:
            self.ending.fail(error)

    def fail_as_died(self, how: str) -> None:
        if self.function.once:
            how += "; it changes a file in place, so it is not run again unless the task has `retries`"
        self.fail(WorkerDied(f"task '{self.function.label}': {how}"))
