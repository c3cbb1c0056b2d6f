"""`async def` tasks, and `await future`.

The coroutines of all tasks run in one event loop on a thread of its own: thousands of them may wait at once. The task completes when its
coroutine has returned.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from . import _core
from .cancellation import of_coroutine

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_process = 0


def event_loop() -> asyncio.AbstractEventLoop:
    """Of all tasks that are coroutines; started if need be."""
    global _loop, _process
    with _lock:
        if _loop is None or _process != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="dovetail-async", daemon=True).start()
            _loop, _process = loop, os.getpid()
        return _loop


def was_used() -> bool:
    """A task of this process has been a coroutine."""
    return _loop is not None and _process == os.getpid()


async def _run(ending: _core.Ending, coroutine: Coroutine[Any, Any, Any]) -> None:
    of_coroutine.set(ending)
    try:
        value = await coroutine
    except BaseException as error:
        ending.fail(error)
        if isinstance(error, SystemExit | KeyboardInterrupt):
            return
    else:
        ending.give(value)


def in_event_loop(function: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., None]:
    """What the runtime calls for a task whose function is a coroutine function."""

    def start(ending: _core.Ending, /, *args: Any, **kwargs: Any) -> None:
        loop = event_loop()
        coroutine = _run(ending, function(*args, **kwargs))
        loop.call_soon_threadsafe(lambda: _keep(loop.create_task(coroutine)))

    return start


_running: set[asyncio.Task[None]] = set()


def _keep(task: asyncio.Task[None]) -> None:
    """An event loop itself holds tasks only weakly."""
    _running.add(task)
    task.add_done_callback(_running.discard)


def _tell(told: asyncio.Future[None]) -> None:
    if not told.done():
        told.set_result(None)


async def completion(future: _core.FutureBase) -> None:
    """Returns when the future's task has completed, failed or not."""
    if future.done():
        return
    loop = asyncio.get_running_loop()
    descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
    try:
        if future._notify(descriptor):
            told: asyncio.Future[None] = loop.create_future()
            loop.add_reader(descriptor, _tell, told)
            try:
                await told
            finally:
                loop.remove_reader(descriptor)
    finally:
        os.close(descriptor)
