"""`@dt.task`, `@dt.io` and `@dt.constraint`."""

from __future__ import annotations

import contextvars
import functools
import os
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from types import FrameType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    overload,
)

from . import _core, elsewhere
from . import time_limit as limits
from .directions import IN, UNORDERED, Direction
from .future import Future
from .option_hint import hint_at

_frame = sys._getframe
_core.set_package_folder(os.path.join(os.path.dirname(os.path.abspath(__file__)), ""))

# What puts tasks into the group of the code that makes them: `dt.group`.
adds_to_group: contextvars.ContextVar[Callable[[Future[Any]], None] | None] = contextvars.ContextVar(
    "dovetail.adds_to_group", default=None
)

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")

# What type checkers accept in the place of a positional argument: a future of it, or futures in it. They cannot compare its type then.
Promised: TypeAlias = Future[Any] | Sequence[Future[Any]] | Mapping[Any, Future[Any]]

_POLICIES = ("fail", "retry", "cancel_successors", "ignore")
_WRITTEN = (Direction.OUT, Direction.INOUT, Direction.COMMUTATIVE)
_VARIABLE = 0x04
_KEYWORDS = 0x08
_GENERATOR = 0x20
_COROUTINE = 0x80


class Task(Generic[P, R]):
    """A function whose calls are tasks, as `dt.task` and `dt.io` make it; the options are theirs. Calling it, from any thread or task, returns a
    `Future`; `task.function` is the function itself. Raises `ValueError` or `TypeError`, naming the task, for an option that makes no sense."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        label: str | None = None,
        priority: int = 0,
        retries: int = 0,
        on_failure: str = "fail",
        io: bool = False,
        process: bool = False,
        returns: int | None = None,
        storage_bw: float | str | None = None,
        device: str | os.PathLike[str] | None = None,
        directions: dict[str, Direction] | None = None,
        limit: int | _core.Limit | None = None,
        time_limit: float | None = None,
        retry_delay: float = 0.0,
        retry_on: type[BaseException] | tuple[type[BaseException], ...] | None = None,
        stream: int | None = None,
        standalone: bool = False,
    ) -> None:
        if not callable(function):
            raise TypeError(f"a task is made of a function, not of {function!r}")
        name = getattr(function, "__name__", type(function).__name__)
        if on_failure not in _POLICIES:
            raise ValueError(f"task '{name}': on_failure must be one of {', '.join(_POLICIES)}, not {on_failure!r}")
        if not isinstance(retries, int) or retries < 0:
            raise ValueError(f"task '{name}': retries must be a whole number and not negative, not {retries!r}")
        if not isinstance(priority, int):
            raise TypeError(f"task '{name}': priority must be a whole number, not {priority!r}")
        if returns is not None and (not isinstance(returns, int) or returns < 1):
            raise ValueError(f"task '{name}': returns must be a whole number above 0, not {returns!r}")
        if (storage_bw is not None or device is not None) and process:
            raise ValueError(f"task '{name}': storage_bw and device are for tasks that run in this process")
        for option, seconds in (("time_limit", time_limit), ("retry_delay", retry_delay)):
            if seconds is not None and not (isinstance(seconds, int | float) and 0 <= seconds < float("inf")):
                raise ValueError(f"task '{name}': {option} must be a number of seconds, not {seconds!r}")
        if stream is not None:
            if not isinstance(stream, int) or stream < 1:
                raise ValueError(f"task '{name}': stream must be a number of items above 0, not {stream!r}")
            if process or retries or returns or not _flags(function) & _GENERATOR:
                raise ValueError(
                    f"task '{name}': stream is for generator functions that run in this process, without retries and returns"
                )
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | _core.Limit)):
            raise TypeError(f"task '{name}': limit must be a number of calls or a dt.Limit, not {limit!r}")
        if retries == 0 and on_failure != "retry" and (retry_delay or retry_on is not None):
            raise ValueError(
                f"task '{name}': retry_delay and retry_on are for a task that runs again: give retries= as well"
            )
        if time_limit == 0:
            raise ValueError(f"task '{name}': time_limit must be above 0; None means that there is no limit")
        if on_failure == "retry" and retries == 0:
            retries = 2
        self.function = function
        self.label = label or name
        self.priority = priority
        self.retries = retries
        self.on_failure = on_failure
        self.io = io
        self.process = process
        self.returns = returns
        self.storage_bw = storage_bw
        self.device = None if device is None else os.fspath(device)
        self.directions = dict(directions or {})
        self.time_limit = time_limit
        self.stream = stream
        self.retry_delay = retry_delay
        self.retry_on = _classes(name, retry_on)
        self.limit = _core.Limit(limit) if isinstance(limit, int) else limit
        self._standalone = standalone  # for executors: see `Signature` of the extension
        functools.update_wrapper(self, function)
        # What bodies need that is started by the first call, not by a body: CPython starts no threads while it ends.
        self._prepare: Callable[[], object] | None = None
        self._signature = self._make_signature(name)

    def _make_signature(self, name: str) -> _core.Signature:
        code = getattr(getattr(self.function, "__wrapped__", self.function), "__code__", None)
        names: tuple[str, ...] = ()
        rest = others = IN
        if code is not None:
            count = code.co_argcount
            named = code.co_varnames[: count + code.co_kwonlyargcount]
            names = code.co_varnames[:count]
            variables = list(code.co_varnames[len(named) :])
            variable = variables.pop(0) if code.co_flags & _VARIABLE else None
            keywords = variables.pop(0) if code.co_flags & _KEYWORDS else None
            for parameter, direction in self.directions.items():
                is_there = parameter in (*named, variable, keywords)
                if not is_there and (keywords is None or not isinstance(direction, Direction)):
                    hint = hint_at(parameter, [*_OPTIONS, *named])
                    raise ValueError(f"task '{name}' has no parameter and no option '{parameter}'{hint}")
                if not isinstance(direction, Direction):
                    raise TypeError(
                        f"task '{name}': '{parameter}' must be given a direction, such as INOUT, not {direction!r}"
                    )
                if parameter == variable:
                    rest = direction
                elif parameter == keywords:
                    others = direction
        function, deferred = self._body(code)
        self._positional = [(parameter, self.directions.get(parameter, IN)) for parameter in names]
        if self.stream is not None:
            self._positional.insert(0, ("", UNORDERED))  # the stream
        self._rest, self._others = rest, others
        return self._signature_with(function, deferred, here=True)

    def signature_elsewhere(self, function: Callable[..., Any]) -> _core.Signature:
        """The same order, priority and policy, for a body that runs elsewhere and is admitted there: `function` gets an ending and the arguments."""
        return self._signature_with(function, True, here=False)

    def _signature_with(self, function: Callable[..., Any], deferred: bool, here: bool) -> _core.Signature:
        kinds = {"cluster": not here, "I/O": self.io, "process": self.process, "async": deferred}
        return _core.Signature(
            function=function,
            label=self.label,
            positional=self._positional,
            rest=self._rest,
            others=self._others,
            named=self.directions,
            kind=next((kind for kind, is_so in kinds.items() if is_so), "compute"),
            priority=self.priority,
            io=self.io and here,
            deferred=deferred,
            retries=self.retries,
            ignore=self.on_failure == "ignore",
            storage_bw="" if self.storage_bw is None or not here else str(self.storage_bw),
            device=(self.device or "") if here else "",
            standalone=self._standalone,
            limit=self.limit if here else None,
            retry_on=self.retry_on,
            retry_delay=self.retry_delay,
            returns=self.returns or 1,
        )

    def _body(self, code: Any) -> tuple[Callable[..., Any], bool]:
        """What the runtime calls, and whether that only starts what ends the task elsewhere."""
        if code is not None and code.co_flags & _COROUTINE:
            from .asynchronous import event_loop, in_event_loop

            self._prepare = event_loop
            coroutine = cast("Callable[..., Any]", self.function)
            if self.time_limit is not None:
                coroutine = limits.of_coroutine(coroutine, self.label, self.time_limit)
            return in_event_loop(coroutine), True
        if self.process:
            from .process_call import Function
            from .processes import submit, the_pool

            self._prepare = the_pool
            names = code.co_varnames[: code.co_argcount] if code is not None else ()
            written = frozenset(name for name, direction in self.directions.items() if direction in _WRITTEN)
            return Function(self.function, self.label, self.priority, names, written, submit, self.time_limit), True
        function: Callable[..., Any] = self.function
        if self.stream is not None:
            from .stream import body_of

            function = body_of(function)
        if self.time_limit is not None:
            function = limits.in_this_process(function, self.label, self.time_limit)
        return function, False

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Future[R]: ...
    @overload
    def __call__(self, a: Promised, /, *args: Any, **kwargs: Any) -> Future[R]: ...
    @overload
    def __call__(self, a: Any, b: Promised, /, *args: Any, **kwargs: Any) -> Future[R]: ...
    @overload
    def __call__(self, a: Any, b: Any, c: Promised, /, *args: Any, **kwargs: Any) -> Future[R]: ...
    @overload
    def __call__(self, a: Any, b: Any, c: Any, d: Promised, /, *args: Any, **kwargs: Any) -> Future[R]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Makes a task. The value is its future; with `returns=2`, a tuple of two; with `stream=8`, a `Stream`."""
        if self._prepare is not None and elsewhere.current is None:
            self._prepare()
        if self.stream is not None:
            if elsewhere.current is not None:
                elsewhere.current.signature_of(self, args, kwargs)  # which says why it cannot be
            from .stream import Stream

            return Stream(self.stream, lambda buffer: self._spawn((buffer, *args), kwargs, _frame(2)))
        future = self._spawn(args, kwargs, _frame(1))
        if self.returns is not None and self.returns > 1:
            return tuple(future._item(i) for i in range(self.returns))
        return future

    def _spawn(self, args: tuple[Any, ...], kwargs: dict[str, Any], caller: FrameType) -> Future[R]:
        there = elsewhere.current
        signature = self._signature if there is None else there.signature_of(self, args, kwargs)
        future: Future[R] = _core.spawn(signature, args, kwargs, caller)
        add = adds_to_group.get()
        if add is not None:
            add(future)
        return future

    def of_several(self) -> Task[[list[tuple[Any, ...]]], list[R]]:
        """A task with the same options that takes a list of arguments, and returns the list of results."""
        if self._prepare is not None and not self.process:
            raise ValueError(f"task '{self.label}' is a coroutine, and cannot do several calls in one")
        options = {**self._options(), "directions": {}, "returns": None}
        return Task(_Several(self.function), **options)

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Task[P, R]: ...
    @overload
    def __get__(self: Task[Concatenate[S, Q], R], instance: object, owner: type | None = None) -> BoundTask[Q, R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(cast("Callable[..., Any]", self), instance)

    def __repr__(self) -> str:
        return f"<dovetail task '{self.label}'>"

    def replaced(self, **options: Any) -> Task[P, R]:
        """The same task with other options, which are those of `dt.task`. This one stays as it is."""
        return Task(self.function, **{**self._options(), **options})

    def __reduce__(self) -> tuple[Any, ...]:
        options = self._options()
        if self.limit is not None:
            options["limit"] = self.limit.most  # a limit is of one process
        return _rebuild, (self.function, options)

    def _options(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "priority": self.priority,
            "retries": self.retries,
            "on_failure": self.on_failure,
            "io": self.io,
            "process": self.process,
            "returns": self.returns,
            "storage_bw": self.storage_bw,
            "device": self.device,
            "directions": self.directions,
            "limit": self.limit,
            "time_limit": self.time_limit,
            "retry_delay": self.retry_delay,
            "retry_on": self.retry_on,
            "stream": self.stream,
            "standalone": self._standalone,
        }


if TYPE_CHECKING:
    from .stream import Stream

    class BoundTask(Generic[P, R]):
        """A task that is a method, of one object."""

        @overload
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Future[R]: ...
        @overload
        def __call__(self, a: Promised, /, *args: Any, **kwargs: Any) -> Future[R]: ...
        @overload
        def __call__(self, a: Any, b: Promised, /, *args: Any, **kwargs: Any) -> Future[R]: ...
        @overload
        def __call__(self, a: Any, b: Any, c: Promised, /, *args: Any, **kwargs: Any) -> Future[R]: ...
        @overload
        def __call__(self, a: Any, b: Any, c: Any, d: Promised, /, *args: Any, **kwargs: Any) -> Future[R]: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    class TaskOfSeveral(Task[P, Any], Generic[P, R]):
        """A task whose calls make something else than one future, which is `R`."""

        def __call__(self, *args: Any, **kwargs: Any) -> R: ...  # type: ignore[override]

    class Decorator(Protocol):
        """`@dt.task(...)`, `@dt.io(...)`"""

        @overload
        def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Task[P, R]: ...
        @overload
        def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...

    class DecoratorOfTwo(Protocol):
        """The same with `returns=2`."""

        def __call__(self, function: Callable[P, tuple[A, B]], /) -> TaskOfSeveral[P, tuple[Future[A], Future[B]]]: ...

    class DecoratorOfThree(Protocol):
        """The same with `returns=3`."""

        def __call__(
            self, function: Callable[P, tuple[A, B, C]], /
        ) -> TaskOfSeveral[P, tuple[Future[A], Future[B], Future[C]]]: ...

    class DecoratorOfStreams(Protocol):
        """The same with `stream=`."""

        def __call__(self, function: Callable[P, Iterator[R]], /) -> TaskOfSeveral[P, Stream[R]]: ...

    class DecoratorOfMany(Protocol):
        """The same with any other number."""

        def __call__(self, function: Callable[P, Any], /) -> TaskOfSeveral[P, tuple[Future[Any], ...]]: ...

    class Maker(Protocol):
        """`dt.task` and `dt.io`. With `returns=`, the names of other options are checked when the program runs."""

        @overload
        def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Task[P, R]: ...
        @overload
        def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...
        @overload
        def __call__(self, *, returns: Literal[2], **options: Any) -> DecoratorOfTwo: ...
        @overload
        def __call__(self, *, returns: Literal[3], **options: Any) -> DecoratorOfThree: ...
        @overload
        def __call__(self, *, returns: int, **options: Any) -> DecoratorOfMany: ...
        @overload
        def __call__(self, *, stream: int, **options: Any) -> DecoratorOfStreams: ...
        @overload
        def __call__(
            self,
            *,
            label: str | None = None,
            priority: int = 0,
            retries: int = 0,
            on_failure: str = "fail",
            io: bool = False,
            process: bool = False,
            storage_bw: float | str | None = None,
            device: str | os.PathLike[str] | None = None,
            directions: dict[str, Direction] | None = None,
            limit: int | _core.Limit | None = None,
            time_limit: float | None = None,
            retry_delay: float = 0.0,
            retry_on: type[BaseException] | tuple[type[BaseException], ...] | None = None,
            **parameters: Direction,
        ) -> Decorator: ...


class _Several(Generic[R]):
    """Calls a function for several items. Travels to worker processes."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., R]) -> None:
        self.function = function

    def __call__(self, part: list[tuple[Any, ...]]) -> list[R]:
        function = self.function
        return [function(*arguments) for arguments in part]


def _flags(function: Any) -> int:
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    return 0 if code is None else int(code.co_flags)


def _classes(name: str, classes: Any) -> tuple[type[BaseException], ...] | None:
    if classes is None:
        return None
    found = classes if isinstance(classes, tuple) else (classes,)
    for each in found:
        if not (isinstance(each, type) and issubclass(each, BaseException)):
            raise TypeError(
                f"task '{name}': retry_on must be a class of exceptions or a tuple of them, not {classes!r}"
            )
    return found


def _rebuild(function: Callable[..., Any], options: dict[str, Any]) -> Task[..., Any]:
    return Task(function, **options)


if TYPE_CHECKING:
    task: Maker
    io: Maker
else:

    def task(function: Any = None, /, *, directions: dict[str, Direction] | None = None, **options: Any) -> Any:
        """Makes a function a task: `@dt.task`, or `@dt.task(a=dt.INOUT, label="sum", priority=1)`.

        label: shown in errors, traces and reports; the function's name if not given.
        priority: ready tasks of higher priority start first.
        retries: how often the body is run again when it fails.
        on_failure: `fail` or `cancel_successors` (tasks that need what it should have made do not run), `retry` (twice, unless `retries` is given), or `ignore`.
        process: run it in a worker process.
        returns: how many values it returns, each as a future of its own.
        storage_bw: its share of a device in MB/s, `"auto"`, `"auto(min,max,delta)"` or `"adaptive"`; it starts when there is room.
        device: the name of the device in `dovetail.toml`, or a path on it.
        limit: at most so many of its calls run at once; a `dt.Limit` holds for all tasks that have it.
        time_limit: seconds after which the body gets a `dt.TimeLimitExceeded`, which is its failure; with `process=True` its process is killed.
        retry_delay: seconds before the second attempt, twice as many before the third, and so on. retry_on: the exceptions after which there is another one.
        stream: of a generator function: its call is a `dt.Stream`, whose items come while the body runs, at most so many ahead.

        All other keywords are directions of parameters. `directions` is for parameters that have the name of an option.
        """
        named = {name: options.pop(name) for name in list(options) if name not in _OPTIONS}
        named.update(directions or {})

        def decorate(target: Callable[..., Any]) -> Task[..., Any]:
            if isinstance(target, Task):
                return target.replaced(directions={**target.directions, **named}, **options)
            return Task(target, directions=named, **options)

        return decorate if function is None else decorate(function)

    def io(function: Any = None, /, **options: Any) -> Any:
        """Makes a function an I/O task: it may block, runs beside the computing tasks and takes none of their cores.

        At most `io_executors` of them run at once (see `dt.Runtime`). The options are those of `dt.task`. Above or below `@dt.task` it turns that task into an I/O task.
        """
        options["io"] = True
        return task(**options) if function is None else task(**options)(function)


_OPTIONS = (
    "label",
    "priority",
    "retries",
    "on_failure",
    "io",
    "process",
    "returns",
    "storage_bw",
    "device",
    "limit",
    "time_limit",
    "retry_delay",
    "retry_on",
    "stream",
)


def constraint(*, storage_bw: float | str, device: str | os.PathLike[str] | None = None) -> Callable[[Any], Any]:
    """Gives a task its share of the device's bandwidth: `@dt.constraint(storage_bw=20)` above `@dt.io` or `@dt.task`.

    device: the name of the device in `dovetail.toml`, or a path on it."""
    return task(storage_bw=storage_bw, device=device)
