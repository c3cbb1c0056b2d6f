"""`dt.Executor`: tasks by the interface of `concurrent.futures.Executor`."""

from __future__ import annotations

import atexit
import concurrent.futures
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ParamSpec, TypeVar

from . import _core
from .directions import UNORDERED
from .future import Future
from .tasks import Task

P = ParamSpec("P")
T = TypeVar("T")


class _Work:
    """One call. No container: its arguments reach the function as they are, futures included."""

    __slots__ = ("arguments", "function", "keywords")

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.function, self.arguments, self.keywords = function, arguments, keywords


def _perform(work: _Work) -> Any:
    return work.function(*work.arguments, **work.keywords)


def _perform_all(function: Callable[..., T], part: list[tuple[Any, ...]]) -> list[T]:
    return [function(*arguments) for arguments in part]


class Executor(concurrent.futures.Executor):
    """Runs functions as tasks of Dovetail, for programs and libraries that take an executor.

        with dt.Executor(8) as executor:
            futures = [executor.submit(read, path) for path in paths]

    max_workers: how many functions run at once, at most; by default as many as the runtime allows.
    io: each function may block, as in
    `ThreadPoolExecutor`, and runs as an I/O task (of these, the runtime runs `io_executors` at once, 64 by default). `io=False`: the functions compute, and run on
    the workers.
    process: they run in worker processes, as in `ProcessPoolExecutor`.

    The arguments reach the function as they are; nothing is ordered by them. `result()` of a future raises the exception of the function itself. A failure that
    is not asked for is not told. The functions belong to no task, also when a task submits them. From any thread.
    """

    _MOST_LABELS = 1000

    def __init__(self, max_workers: int | None = None, *, io: bool = True, process: bool = False) -> None:
        if max_workers is not None and (not isinstance(max_workers, int) or max_workers <= 0):
            raise ValueError(f"max_workers must be greater than 0 and a whole number, not {max_workers!r}")
        self._limit = None if max_workers is None else _core.Limit(max_workers)
        self._options: dict[str, Any] = {"io": io and not process, "process": process}
        self._tasks: dict[str, Task[..., Any]] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._under_way: set[Future[Any]] = set()

    def _task(self, function: Callable[..., Any]) -> Task[..., Any]:
        label = getattr(function, "__name__", type(function).__name__)
        task = self._tasks.get(label)
        if task is None:
            if len(self._tasks) >= self._MOST_LABELS:
                self._tasks.clear()
            task = self._tasks[label] = Task(
                _perform,
                label=label,
                on_failure="ignore",
                directions={"work": UNORDERED},
                limit=self._limit,
                standalone=True,
                **self._options,
            )
        return task

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Has `fn(*args, **kwargs)` called, and returns the future of its result."""
        with self._lock:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if _interpreter_ends:
                raise RuntimeError("cannot schedule new futures after interpreter shutdown")
            future: Future[T] = self._task(fn)(_Work(fn, args, kwargs))
            self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        return future

    def map(
        self, fn: Callable[..., T], *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[T]:
        """The results of `fn` for the items of `iterables`, in order. All of the items are taken at once.

        timeout: seconds from this call on, after which `TimeoutError` is raised where a result is not there. chunksize: how many items one task gets.
        """
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        deadline = None if timeout is None else time.monotonic() + timeout
        items = zip(*iterables)  # noqa: B905 (the shortest ends it, as in `map`)
        if chunksize == 1:
            return _results([self.submit(fn, *arguments) for arguments in items], deadline)
        parts = iter(lambda: list(itertools.islice(items, chunksize)), [])
        return itertools.chain.from_iterable(
            _results([self.submit(_perform_all, fn, part) for part in parts], deadline)
        )

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """No function can be submitted any more.

        wait: returns when all have ended.
        cancel_futures: those that have not begun never will.
        """
        with self._lock:
            self._closed = True
            futures = list(self._under_way)
        if cancel_futures:
            for future in futures:
                future.cancel()
        if wait:
            for future in futures:
                future.wait()


def _results(futures: list[Future[T]], deadline: float | None) -> Iterator[T]:
    futures.reverse()
    try:
        while futures:
            # No name here holds the future or its result while the caller uses the result.
            yield _result_or_cancel(futures.pop(), deadline)
    finally:
        for future in futures:
            future.cancel()


def _result_or_cancel(future: Future[T], deadline: float | None) -> T:
    try:
        value: T = future.result(None if deadline is None else max(deadline - time.monotonic(), 0.0))
        return value
    finally:
        future.cancel()


def _end() -> None:
    global _interpreter_ends
    _interpreter_ends = True


_interpreter_ends = False
# Called before the runtime waits for its last tasks, which came first.
getattr(threading, "_register_atexit", atexit.register)(_end)
