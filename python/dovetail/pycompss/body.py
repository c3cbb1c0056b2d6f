"""What runs as the body of a PyCOMPSs task: tries, time limits, failure policies, items of collections."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from typing import Any

from .. import _core
from ..errors import TaskFailed
from ..tasks import Task
from ..updating import update
from . import items
from .command import CommandFailed
from .parameter import Parameter
from .randomness import of_a_task
from .results import own
from .streams import Producer, body_of
from .tracking import COMPSsException, Group, body_in, tracker, warn
from .units import units

_MANAGEMENT = ("RETRY", "FAIL", "IGNORE", "CANCEL_SUCCESSORS")
_TRIES = 3  # under RETRY
_RING_SECONDS = 0.1  # from one signal that the time of a task is over to the next
_NOTHING = object()


class Lost:
    """A number or text that a task is to change. It gets the value; what it makes of it is lost, as under PyCOMPSs.

    To a process it goes as an object that can be changed, since the directions there are those of the task.
    """

    def __init__(self, value: Any) -> None:
        self.value = value


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Lost) else value


class CancelledBefore(Exception):
    """The task was cancelled before its body began. No failure: the tracker is not told, and no policy applies."""


class Policy:
    """What becomes of a task that fails."""

    def __init__(self) -> None:
        self.management = "RETRY"
        self.time_out = 0.0
        self.returns: Any = None
        self.defaults: dict[str, Any] = {}

    def set_management(self, value: Any, where: str) -> None:
        if value not in _MANAGEMENT:
            raise ValueError(f"{where}: on failure there is {', '.join(_MANAGEMENT)}, and not {value!r}")
        self.management = value


def _with_alarm(function: Callable[..., Any], name: str, seconds: float) -> Callable[..., Any]:
    """The function with a time limit, for the main thread of a process of its own."""

    def limited(*args: Any, **kwargs: Any) -> Any:
        from dovetail.pycompss import tracking

        tracking.in_body = True  # of a process that does nothing else

        def ring(*_: object) -> None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise TimeoutError(f"task '{name}' took longer than its time_out of {seconds:g} s")

        before = signal.signal(signal.SIGALRM, ring)
        # Again and again until it is heard: Python runs no handler for a signal that comes just before a call that blocks.
        signal.setitimer(signal.ITIMER_REAL, seconds, _RING_SECONDS)
        try:
            return function(*map(_plain, args), **{key: _plain(value) for key, value in kwargs.items()})
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    return limited


def _put_default(value: Any, default: Any, directory: bool) -> None:
    """Copies the file or folder that the default names to where the output should be; without one, what is not there is empty."""
    if isinstance(value, list | tuple):
        for place, item in enumerate(value):
            each = default[place] if isinstance(default, list | tuple) and place < len(default) else default
            _put_default(item, _NOTHING if isinstance(each, list | tuple) else each, directory)
    elif default is not _NOTHING:
        if not (os.path.exists(value) and os.path.samefile(default, value)):
            if directory:
                shutil.rmtree(value, ignore_errors=True)
                shutil.copytree(default, value)
            else:
                shutil.copyfile(default, value)
    elif directory:
        os.makedirs(value, exist_ok=True)
    elif not os.path.exists(value):
        with open(value, "xb"):
            pass


class Body:
    """Calls the function of a task."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        policy: Policy,
        parameters: dict[str, Parameter],
        count: int,
        changes_objects: bool,
        returned_in: str = "",
        perform: Callable[[tuple[Any, ...], dict[str, Any], int], Any] | None = None,
    ) -> None:
        """`perform`: what is done in the place of calling the function; it keeps the time limit itself."""
        self._name = name
        self._policy = policy
        self._parameters = parameters
        self._count = count
        self._returned_in = returned_in
        code = function.__code__
        self._names = code.co_varnames[: code.co_argcount]
        self._perform = perform
        self._apart = policy.time_out > 0 and perform is None
        # A second try in this process would begin with what the first has left half changed.
        retried = policy.management == "RETRY" and (self._apart or not changes_objects)
        self._tries = _TRIES if retried else 1
        self._function = function
        if self._apart:
            limited = _with_alarm(function, name, policy.time_out)
            limited.__wrapped__ = function  # type: ignore[attr-defined]
            written = {n: p.direction for n, p in parameters.items() if p.written and not p.is_path}
            self._function = Task(limited, label=name, process=True, directions=written)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        groups: tuple[Group, ...] = kwargs.pop(GROUPS, ())
        count: int = kwargs.pop(COUNT, self._count)
        wanted, held = kwargs.pop(UNITS, _ONE)
        producers: tuple[Producer, ...] = kwargs.pop(PRODUCERS, ())
        if not groups and not units.counted and not producers:
            return self._performed(args, kwargs, groups, count, wanted)
        with units.held(held), body_in(groups), body_of(producers):
            if _core.cancelled():
                raise CancelledBefore(f"task '{self._name}' was cancelled while it waited for its units")
            return self._performed(args, kwargs, groups, count, wanted)

    def _performed(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], groups: tuple[Group, ...], count: int, wanted: int
    ) -> Any:
        replaced = {**dict(zip(self._names, args, strict=False)), **kwargs}.get(self._returned_in)
        named = [self._current(name, value) for name, value in zip(self._names, args, strict=False)]
        args = (*named, *(self._current("", value) for value in args[len(named) :]))
        kwargs = {name: self._current(name, value) for name, value in kwargs.items()}
        collections, args, kwargs = self._copy_collections(args, kwargs)
        try:
            result = self._try(args, kwargs, wanted)
        except Exception as error:
            if isinstance(error, CommandFailed) and _core.cancelled():
                raise  # its group was cancelled, which is what ended the program
            if self._policy.management == "IGNORE" and not isinstance(error, COMPSsException):
                warn(f"task '{self._name}' failed: {type(error).__name__}: {error}; this is ignored")
                return self._ignored(args, kwargs, groups, count)
            ends_program = self._policy.management in ("RETRY", "FAIL")
            tracker.failed(self._name, error, groups, ends_program)
            raise
        for before, after in collections:
            items.note_changes(before, after)
        if self._returned_in and update(replaced, result) is not replaced:
            wrong = TypeError(
                f"what task '{self._name}' returned cannot take the place of its argument '{self._returned_in}'"
            )
            tracker.failed(self._name, wrong, groups, True)
            raise wrong
        return self._checked(result if self._apart else own(result, (args, kwargs)), count)

    def _current(self, name: str, value: Any) -> Any:
        """The argument, with the objects that tasks have put in the place of its items."""
        if isinstance(value, Lost):
            return value if self._apart else value.value
        parameter = self._parameters.get(name)
        changed = parameter is not None and parameter.written and not parameter.holds_items and not parameter.is_path
        return items.settled(value) if changed else items.latest(value)

    def _try(self, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: int) -> Any:
        for left in range(self._tries - 1, -1, -1):
            try:
                return self._call(args, kwargs, wanted)
            except COMPSsException:
                raise
            except Exception as error:
                if left == 0 or _core.cancelled():
                    raise
                warn(f"task '{self._name}' failed: {type(error).__name__}: {error}; it is run again")

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: int) -> Any:
        if self._perform is not None:
            with of_a_task():
                return self._perform(args, kwargs, wanted)
        if not self._apart:
            with of_a_task():
                return self._function(*args, **kwargs)
        try:
            return self._function(*args, **kwargs).result()
        except TaskFailed as failure:
            raise failure.__cause__ or failure from None

    def _copy_collections(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[tuple[Any, Any]], tuple[Any, ...], dict[str, Any]]:
        pairs: list[tuple[Any, Any]] = []

        def of(name: str, value: Any) -> Any:
            parameter = self._parameters.get(name)
            if parameter is None or not parameter.holds_items:
                return value
            pairs.append((value, items.copied(value)))
            return pairs[-1][1]

        named = [of(name, value) for name, value in zip(self._names, args, strict=False)]
        return pairs, (*named, *args[len(named) :]), {name: of(name, value) for name, value in kwargs.items()}

    def _ignored(self, args: tuple[Any, ...], kwargs: dict[str, Any], groups: tuple[Group, ...], count: int) -> Any:
        """Outputs of a task whose failure is ignored: the defaults of @on_failure; files that are not there are empty."""
        given = {**dict(zip(self._names, args, strict=False)), **kwargs}
        for name, parameter in self._parameters.items():
            value = given.get(name, _NOTHING)
            if value is _NOTHING or not parameter.written:
                continue
            default = self._policy.defaults.get(name, _NOTHING)
            if parameter.is_path:
                try:
                    _put_default(value, default, parameter.sort == "directory")
                except OSError as error:
                    message = f"@on_failure of '{self._name}': the default of '{name}' cannot be put in place: {error}"
                    failure = OSError(error.errno, message)
                    tracker.failed(self._name, failure, groups, True)
                    raise failure from error
            elif default is not _NOTHING:
                update(value, default)
        returns = self._policy.returns
        if count > 1 and not isinstance(returns, tuple | list):
            return (returns,) * count
        return returns

    def _checked(self, result: Any, count: int) -> Any:
        if count > 1:
            got = len(result) if isinstance(result, tuple | list) else 1
            if got != count:
                error = TypeError(f"task '{self._name}' is declared to return {count} values, and returned {got}")
                tracker.failed(self._name, error, (), True)
                raise error
        return result


# Arguments of ours beside the task's own.
GROUPS = "dovetail_groups"
COUNT = "dovetail_count"
UNITS = "dovetail_units"  # as declared, and as held
PRODUCERS = "dovetail_producers"  # of the streams that the task writes
_ONE = (1, 1)
