"""The driver's side of one node: the I/O tasks that its agent has got, beside the tasks of Dask.

Of all worker processes of a node one has this account: the first address that there is when a driver looks, which keeps it as long as the process lives.
Drivers that came when other processes were there may have chosen another one, which then has limits and budgets of its own.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any, Protocol

from . import agent, message
from .call import Job
from .message import PRESENCE

# Calls that a node has at a time: its I/O executors have something to do while more is on its way.
_MOST_CALLS = 256
_MOST_BYTES = 64 << 20

_numbers = itertools.count(1)


class Owner(Protocol):
    """What has the calls that no node has."""

    def push(self, job: Job) -> None:
        """It has not begun, and may be sent again."""

    def again(self, jobs: list[Job], how: str) -> None:
        """They were sent, and what became of them is not known."""

    def pump(self) -> None:
        """There is room."""


def pack(batch: list[tuple[Job, message.Call]]) -> bytes:
    functions = {job.key: (job.function.options, job.pickled) for job, _ in batch}
    return message.pack(functions, [call for _, call in batch])


def settle(jobs: dict[int, Job], ends: list[message.End]) -> list[Job]:
    """Ends jobs. Returns those that are to be sent again."""
    again = []
    for number, fate, seconds, packed in ends:
        job = jobs.pop(number, None)
        if job is None:
            continue
        if fate is message.Fate.NOT_BEGUN:
            again.append(job)
        elif fate is message.Fate.BEGUN_BEFORE:
            job.fail_as_died("the worker process that ran it was killed")
        else:
            job.end(fate, seconds, packed)
    return again


class Node:
    """All of it is for the dispatcher's thread."""

    def __init__(self, client: Any, driver: str, address: str, owner: Owner) -> None:
        self.address = address
        self.jobs: dict[int, Job] = {}
        self._client = client
        # Of this account: ends that an earlier one would have got are not for this one.
        self._account = f"{driver}-{next(_numbers)}"
        self._owner = owner
        self._new: list[tuple[Job, message.Call]] = []
        self._bytes = 0
        self.is_dead = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._presence: Any = None
        self._present = False

    def has_room(self) -> bool:
        return not self.is_dead and len(self.jobs) < _MOST_CALLS and self._bytes < _MOST_BYTES

    def add(self, job: Job) -> None:
        """It is sent with the next `flush`. What cannot be sent fails."""
        call = job.call()
        if call is not None:
            self.jobs[job.number] = job
            self._new.append((job, call))
            self._bytes += job.size

    def flush(self) -> None:
        """Sends what was added."""
        if self._new and not self.is_dead:
            batch, self._new = self._new, []
            if not self._present:
                self._present = True
                self._start(self._collect())
            self._start(self._send(pack(batch)))

    def _start(self, coroutine: Any) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _call(self, function: Any, *args: Any) -> Any:
        answers = await self._client.run(function, *args, workers=[self.address])
        return answers[self.address]

    async def _send(self, packed: bytes) -> None:
        try:
            await self._call(agent.receive, self._account, packed)
        except Exception as error:
            self.died(f"{type(error).__name__}: {error}")

    async def _collect(self) -> None:
        try:
            # Dask takes it away when this program has gone, and the agent then drops the rest.
            name = PRESENCE + self._account
            self._presence = await self._client.scatter({name: True}, workers=[self.address], hash=False)
            while True:
                ends = message.unpack_ends(await self._call(agent.collect, self._account))
                self._bytes -= sum(self.jobs[number].size for number, *_ in ends if number in self.jobs)
                for job in settle(self.jobs, ends):
                    self._owner.push(job)
                self._owner.pump()
        except Exception as error:
            self.died(f"{type(error).__name__}: {error}")

    def died(self, how: str) -> None:
        """Its calls are lost."""
        if not self.is_dead:
            self.is_dead = True
            self._close()
            self._presence = None  # where the agent lives on, it drops what has not begun
            jobs, self.jobs = self.jobs, {}
            self._owner.again(list(jobs.values()), f"the node {self.address} that ran it was lost ({how})")
            self._owner.pump()

    async def leave(self) -> None:
        """Has the agent forget this program."""
        if self._present:
            await self._client.run(agent.forget, self._account, workers=[self.address])

    def _close(self) -> None:
        current = asyncio.current_task()
        for task in list(self._tasks):
            if task is not current:
                task.cancel()
