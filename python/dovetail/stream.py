"""Generators as tasks: `@dt.task(stream=8)`. What the body yields can be used while it goes on."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, TypeVar

from . import _core
from .future import Future

T = TypeVar("T")
_ENOUGH = 1 << 40  # units, for a body that is to wait no more


class _Buffer:
    """Between the body and the tasks and threads that take from it."""

    def __init__(self, size: int) -> None:
        self.items: collections.deque[Any] = collections.deque()
        self.room = _core.Semaphore(size)
        self.there = _core.Semaphore(0)
        self.closed = False

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.room.release(_ENOUGH)


class Stream(Iterator[T]):
    """What a generator task has yielded and will yield, in order. Each item goes to the task or thread that asks first.

    Asking for an item that is not there yet pauses the task, or blocks the thread. After the last one comes the end of the iteration, or the failure of
    the task as `TaskFailed`. A body that is `size` items ahead pauses. One whose stream is closed or dropped gets no further than its next `yield`.
    """

    def __init__(self, size: int, spawn: Callable[[_Buffer], Future[Any]]) -> None:
        self._buffer = buffer = _Buffer(size)
        self.future = spawn(buffer)
        """Of the task; its result is None. As an argument of another task, it makes that task wait for the end of the body."""
        self.future.add_done_callback(lambda _: buffer.there.release())

    def __next__(self) -> T:
        self._buffer.there.acquire()
        try:
            item: T = self._buffer.items.popleft()
        except IndexError:
            # The end stays there, for all that ask.
            self._buffer.there.release()
            self.future.result()
            raise StopIteration from None
        self._buffer.room.release()
        return item

    def close(self) -> None:
        """The program wants no more items. The task ends at its next `yield`, or does not begin."""
        self._buffer.close()
        self.future.cancel()

    def __enter__(self) -> Stream[T]:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # A body that waits for room would wait for ever.
        self._buffer.close()


def body_of(function: Callable[..., Iterator[Any]]) -> Callable[..., None]:
    """What the task of a generator function runs."""

    def fill(buffer: _Buffer, /, *args: Any, **kwargs: Any) -> None:
        items = function(*args, **kwargs)
        for item in items:
            buffer.room.acquire()
            if buffer.closed:
                close = getattr(items, "close", None)
                if close is not None:
                    close()
                return
            buffer.items.append(item)
            buffer.there.release()

    return fill
