"""Several futures at once: `dt.gather`, `dt.as_completed`, `dt.map`."""

from __future__ import annotations

import collections
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ParamSpec, TypeVar, overload

from . import _core
from .future import Future
from .tasks import Task

P = ParamSpec("P")
T = TypeVar("T")


def gather(*futures: Any, return_exceptions: bool = False) -> list[Any]:
    """Waits for all of these and returns their results, in the same order. In a task, the task pauses.

    futures: futures, or whatever else `wait` takes.
    return_exceptions: a failure stands in its place in the list.

    Without it, the first failure in that order is raised, when all before it have ended; the others go on.
    """
    if not return_exceptions:
        return [_core.wait(future) for future in futures]
    results: list[Any] = []
    for future in futures:
        try:
            results.append(_core.wait(future))
        except Exception as error:
            results.append(error)
    return results


def as_completed(futures: Iterable[Future[T]], timeout: float | None = None) -> Iterator[Future[T]]:
    """Gives each of these futures once, as soon as its task has completed, failed or been cancelled. In a task, the task pauses.

    timeout: seconds from this call on, after which `TimeoutError` is raised if some are left; those go on.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    waiting = list(dict.fromkeys(futures))
    return _completed(waiting, deadline, timeout)


def _completed(waiting: list[Future[T]], deadline: float | None, timeout: float | None) -> Iterator[Future[T]]:
    done: collections.deque[Future[T]] = collections.deque()
    count = _core.Semaphore(0)

    def note(future: Future[T]) -> None:
        done.append(future)
        count.release()

    left = len(waiting)
    for future in waiting:
        future.add_done_callback(note)
    waiting.clear()
    for place in range(left):
        if not count.acquire(timeout=None if deadline is None else max(deadline - time.monotonic(), 0.0)):
            raise TimeoutError(f"{left - place} of {left} tasks have not completed after {timeout} s")
        yield done.popleft()


@overload
def map(function: Task[P, T], /, *iterables: Iterable[Any], chunk: int = 1, window: int = 1024) -> Iterator[T]: ...
@overload
def map(
    function: Callable[..., T], /, *iterables: Iterable[Any], chunk: int = 1, window: int = 1024
) -> Iterator[T]: ...
def map(function: Any, /, *iterables: Iterable[Any], chunk: int = 1, window: int = 1024) -> Iterator[Any]:
    """The results of `function` for the items of `iterables`, as the function `map` of Python gives them: in order, and lazily.

    function: a task, whose options hold, or an ordinary function, which becomes one. A task with `returns=` is refused.
    chunk: how many items one task gets. More than 1 pays for functions that take less than some microseconds.
    window: about how many items are taken from `iterables` ahead of the result that the program asks for. So the memory is bounded.

    The first task is made when the first result is asked for. A failure is raised in the place of its result (with `chunk`, of the first of its
    chunk) and ends the iteration. The tasks that have not begun by then are cancelled, and also when the iterator is closed. In a task, the task pauses.
    """
    if not iterables:
        raise TypeError("map() needs at least one iterable besides the function")
    for name, value in (("chunk", chunk), ("window", window)):
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"map(): {name} must be a whole number above 0, not {value!r}")
    task: Task[..., Any] = function if isinstance(function, Task) else Task(function)
    if task.returns is not None and task.returns > 1:
        raise ValueError(f"map(): a call of task '{task.label}' makes {task.returns} futures, and must make one")
    items = zip(*iterables)  # noqa: B905 (the shortest ends it, as in `map`)
    if chunk == 1:
        return _one_by_one(task, items, window)
    return _in_chunks(task.of_several(), items, chunk, max(1, window // chunk))


def _one_by_one(task: Callable[..., Any], items: Iterator[tuple[Any, ...]], window: int) -> Iterator[Any]:
    under_way: collections.deque[Future[Any]] = collections.deque()
    try:
        for arguments in items:
            under_way.append(task(*arguments))
            if len(under_way) >= window:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        for future in under_way:
            future.cancel()


def _in_chunks(task: Callable[..., Any], items: Iterator[Any], chunk: int, window: int) -> Iterator[Any]:
    for results in _one_by_one(task, ((part,) for part in _parts(items, chunk)), window):
        yield from results


def _parts(items: Iterator[Any], size: int) -> Iterator[list[Any]]:
    import itertools

    while part := list(itertools.islice(items, size)):
        yield part
