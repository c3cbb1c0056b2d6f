"""Marks in the scheduler of the calls that must not begin twice, and that they go away when the calls have ended."""

from __future__ import annotations

import asyncio
from typing import Any


class Marks:
    """Events of Dask, named like the task of Dask that sets them (`agent.run`). All of it is for the dispatcher's thread.

    A mark may go when Dask will not run its task again: when the scheduler has been told that its result is not needed. What a client tells its
    scheduler arrives in order, so this holds when a task has an answer that was submitted later.
    """

    def __init__(self) -> None:
        self._released: list[str] = []
        self._under_way: set[asyncio.Task[None]] = set()

    async def is_set(self, client: Any, key: str) -> bool:
        """Whether its task has begun; true if the scheduler does not answer."""
        from distributed import Event

        try:
            return bool(await Event(key, client=client).is_set())
        except OSError:
            return True

    def release(self, future: Any, key: str) -> None:
        """The result of this task is not needed."""
        future.release()
        asyncio.get_running_loop().call_soon(self._released.append, key)  # `release` tells it by a call_soon as well

    def released(self) -> list[str]:
        """What may go when a task that is submitted now has an answer."""
        keys, self._released = self._released, []
        return keys

    def keep(self, keys: list[str]) -> None:
        """That task had no answer."""
        self._released += keys

    def clear(self, client: Any, keys: list[str]) -> None:
        if keys:
            task = asyncio.ensure_future(_clear(client, keys))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def clear_all(self, client: Any) -> None:
        """The client submits nothing more."""
        await asyncio.sleep(0)  # what `release` has called soon
        keys = self.released()
        if keys:
            await client.submit(int, pure=False)
            self.clear(client, keys)
        await asyncio.gather(*self._under_way)


async def _clear(client: Any, keys: list[str]) -> None:
    from distributed import Event

    try:
        for key in keys:
            await Event(key, client=client).clear()
    except OSError:
        pass  # the scheduler is gone, and its marks are
