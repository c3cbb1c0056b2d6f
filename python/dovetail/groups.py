"""`with dt.group():` waits for the tasks that are made in it."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from types import TracebackType
from typing import Any

from .future import Future
from .gathering import as_completed
from .tasks import adds_to_group


class Group:
    """The tasks that the code in the block makes itself. What these make belongs to them.

        with dt.group() as group:
            for path in paths:
                convert(path)

    Leaving the block waits for all of them. When one fails, those that have not begun are cancelled, and those that run are asked to stop
    (`dt.cancelled()`). When all have ended, the failure that came first is raised. An exception in the block does the same, and goes on. In a task, the task pauses. One
    group is used once, by one thread or task; groups may be nested, and a task belongs to the innermost.
    """

    def __init__(self) -> None:
        self._futures: list[Future[Any]] = []
        self._cancelled = False
        self._prune_at = 1000
        self._token: contextvars.Token[Callable[[Future[Any]], None] | None] | None = None

    def __enter__(self) -> Group:
        if self._token is not None:
            raise RuntimeError("a group can be entered once")
        self._token = adds_to_group.set(self._add)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        assert self._token is not None
        adds_to_group.reset(self._token)
        if kind is not None:
            self.cancel()
        first: BaseException | None = None
        failed = 0
        for future in as_completed(self._futures):
            if future._state_name() != "failed":
                continue
            failed += 1
            if first is None:
                first = future.exception()
                self.cancel()
            else:
                future.exception()
        self._futures.clear()
        if kind is None and first is not None:
            if failed > 1:
                first.add_note(f"{failed - 1} other tasks of the group failed, too")
            raise first

    def cancel(self) -> None:
        """Cancels the tasks that have not begun, and asks those that run to stop. Those that are made from now on are cancelled, too."""
        self._cancelled = True
        for future in self._futures:
            future.cancel()

    def _add(self, future: Future[Any]) -> None:
        self._futures.append(future)
        if self._cancelled:
            future.cancel()
        if len(self._futures) >= self._prune_at:
            self._futures = [future for future in self._futures if future._state_name() != "finished"]
            self._prune_at = 2 * len(self._futures) + 1000


def group() -> Group:
    """A new group of tasks, for `with dt.group():`. Leaving the block waits for the tasks that were made in it: see `Group`."""
    return Group()
