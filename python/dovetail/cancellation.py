"""Whether the running task is asked to stop: `dt.cancelled()`."""

from __future__ import annotations

import contextvars

from . import _core

# Of the task whose coroutine this is. Coroutines of many tasks share one thread, which runs no task.
of_coroutine: contextvars.ContextVar[_core.Ending | None] = contextvars.ContextVar(
    "dovetail.of_coroutine", default=None
)


def cancelled() -> bool:
    """Whether the running task is asked to stop, by `cancel()` of its future, its group or its runtime. A coroutine sees it as well, and so does a
    function that it gives to `asyncio.to_thread`. One that it gives to `loop.run_in_executor` does not: that takes no context along. Nor does the body
    of a process task, which is in another process."""
    ending = of_coroutine.get()
    return _core.cancelled() if ending is None else ending.cancelled
