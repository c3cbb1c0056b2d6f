"""`Future`: the result of a task that may not have run yet.

It is a `concurrent.futures.Future`. `concurrent.futures.wait` and `as_completed` reach into a future: they hold its `_condition` while they
look at its `_state` and enter themselves in `_waiters`. A future here has none of these until one of them is asked for.
"""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from . import _core
from .logger import logger

T = TypeVar("T")

_CANCELLED, _FINISHED = "CANCELLED_AND_NOTIFIED", "FINISHED"
_guard = threading.Lock()


class _Watched:
    """The view that `concurrent.futures.wait` has of a future. It changes under the condition, as a thread that holds it relies on."""

    __slots__ = ("condition", "state", "waiters")

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.waiters = _Waiters()
        self.state = ""  # until it has ended

    def settle(self, future: Future[Any]) -> None:
        with self.condition:
            if future.cancelled():
                self.state, tell = _CANCELLED, "add_cancelled"
            else:
                self.state, tell = _FINISHED, "add_exception" if future._state_name() == "failed" else "add_result"
            for waiter in self.waiters:
                getattr(waiter, tell)(future)
            self.condition.notify_all()


class _Waiters(list[Any]):
    """A task that waits for these must not block its worker, on which what it waits for may have to run."""

    def append(self, waiter: Any) -> None:
        if _core.in_task() and type(waiter.event) is threading.Event:
            waiter.event = _PausingEvent()
        super().append(waiter)


class _PausingEvent:
    """As `threading.Event`, for one task, which pauses in `wait`."""

    def __init__(self) -> None:
        self._latch = _core.Latch(1)

    def is_set(self) -> bool:
        return self._latch.try_wait()

    def set(self) -> None:
        with _guard:
            if not self._latch.try_wait():
                self._latch.count_down()

    def clear(self) -> None:
        with _guard:
            if self._latch.try_wait():
                self._latch = _core.Latch(1)

    def wait(self, timeout: float | None = None) -> bool:
        return self._latch.wait(timeout)


class Future(_core.FutureBase, concurrent.futures.Future[T]):
    """The result of a task that may not have run yet. Passed to another task, it makes that task wait.

    It behaves as `concurrent.futures.Future`, and is one. From any thread. In a task, whatever waits for it pauses the task.
    """

    if TYPE_CHECKING:
        # Of the extension, which knows no types of results.

        def result(self, timeout: float | None = None) -> T: ...

        def exception(self, timeout: float | None = None) -> BaseException | None: ...

        def add_done_callback(self, fn: Callable[[Future[T]], object]) -> None: ...

    def __new__(cls, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a dovetail.Future is made by calling a task")

    def __init_subclass__(cls) -> None:
        raise TypeError("dovetail.Future cannot be a base class")

    def __await__(self) -> Generator[Any, None, T]:
        """`await future`: the event loop goes on meanwhile."""
        from .asynchronous import completion

        yield from completion(self).__await__()
        return self.result()

    @property
    def label(self) -> str:
        """The label of the task."""
        return self._label()

    def __repr__(self) -> str:
        state = self._state_name()
        return f"<dovetail.Future of task '{self.label}' at {id(self):#x}: {state}>"

    # The result is what the body returns.

    def set_result(self, result: T) -> NoReturn:
        """Raises `concurrent.futures.InvalidStateError`: the body of the task decides."""
        self._refuse("set_result")

    def set_exception(self, exception: BaseException | None) -> NoReturn:
        """Raises `concurrent.futures.InvalidStateError`: the body of the task decides."""
        self._refuse("set_exception")

    def set_running_or_notify_cancel(self) -> NoReturn:
        """Raises `concurrent.futures.InvalidStateError`: the runtime decides when the body begins."""
        self._refuse("set_running_or_notify_cancel")

    def _refuse(self, name: str) -> NoReturn:
        raise concurrent.futures.InvalidStateError(
            f"{name}() is for futures without a task; the body of task '{self.label}' decides its result"
        )

    # For the functions of the standard library.

    def _watch(self) -> _Watched:
        watched: _Watched | None = self.__dict__.get("_watched")
        if watched is None:
            with _guard:
                watched = self.__dict__.get("_watched")
                new = watched is None
                if watched is None:
                    watched = self.__dict__["_watched"] = _Watched()
            if new:
                self.add_done_callback(watched.settle)
        return watched

    @property
    def _condition(self) -> threading.Condition:  # type: ignore[override]
        return self._watch().condition

    @property
    def _waiters(self) -> list[Any]:  # type: ignore[override]
        return self._watch().waiters

    @property
    def _state(self) -> str:  # type: ignore[override]
        return self._watch().state or ("RUNNING" if self.running() else "PENDING")

    def _get_snapshot(self) -> tuple[bool, bool, T | None, BaseException | None]:
        """Whether it is done and cancelled, result and exception: for `asyncio.wrap_future` since Python 3.14."""
        if not self.done():
            return False, False, None, None
        if self.cancelled():
            return True, True, None, None
        exception = self.exception()
        return True, False, None if exception is not None else self.result(), exception


def _report(future: Future[Any], function: Callable[..., object], exception: BaseException) -> None:
    """What a callback raises changes nothing."""
    logger.error("exception calling callback %r for %r", function, future, exc_info=exception)


_core.set_future_class(Future, _report)

__all__ = ["Future"]
