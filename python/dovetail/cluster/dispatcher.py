"""The driver's thread that talks to Dask. Calls of compute tasks are sent in batches, each as one task of Dask; those of I/O tasks go to nodes."""

from __future__ import annotations

import asyncio
import collections
import heapq
import threading
import uuid
from typing import Any

from . import agent, message
from .call import Job, WorkerDied
from .node import Node, pack_jobs, settle

# A batch has calls for about this many seconds, at most so many calls and bytes.
_SECONDS = 0.02
_MOST_CALLS = 500
MOST_BYTES = 1 << 20
# Batches that Dask has for each slot: one runs and one is on its way.
_AHEAD = 2
_ATTEMPTS = 5
# Seconds between two looks at which workers there are.
_INTERVAL = 0.5
# Seconds that a node has to forget the program when it leaves.
_FAREWELL = 2.0


class Dispatcher:
    """Sends jobs and ends them. `submit` and `close` are for any thread; everything else runs in its own."""

    def __init__(self, address: str, security: Any, patience: float) -> None:
        """Returns when the scheduler has answered; raises `OSError` if it does not within `patience` seconds."""
        self.id = uuid.uuid4().hex[:12]
        self._address = address
        self._security = security
        self._patience = patience
        self._client: Any = None
        self._loop = asyncio.new_event_loop()
        self._inbox: collections.deque[Job] = collections.deque()
        self._lock = threading.Lock()
        self._awake = False
        self._most_losses = 0
        self._lost: BaseException | None = None
        self._compute: list[Job] = []
        self._accounted: list[Job] = []  # compute tasks with a limit or a share of a device
        self._io: list[Job] = []
        self._slots = 0
        self._in_flight = 0
        self._batch_number = 0
        self._nodes: dict[str, Node] = {}
        self._under_way: set[asyncio.Task[None]] = set()
        self._end: asyncio.Event | None = None
        started: list[BaseException | None] = []
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started, ready), name="dovetail-cluster", daemon=True)
        self._thread.start()
        ready.wait()
        if started[0] is not None:
            self._thread.join()
            raise started[0]

    def submit(self, job: Job) -> None:
        with self._lock:
            lost = self._lost
            if lost is None:
                self._inbox.append(job)
                if self._awake:
                    return
                self._awake = True
        if lost is None:
            self._loop.call_soon_threadsafe(self._wake)
        else:
            job.fail(_gone(job, lost))

    def close(self) -> None:
        """Drops what has not ended, and waits until the scheduler has been told."""
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join()

    def _run(self, started: list[BaseException | None], ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve(started, ready))
        finally:
            self._loop.close()

    async def _serve(self, started: list[BaseException | None], ready: threading.Event) -> None:
        try:
            await self._connect()
        except BaseException as error:
            started.append(error)
            return
        else:
            started.append(None)
        finally:
            ready.set()
        self._end = asyncio.Event()
        watch = asyncio.ensure_future(self._watch())
        await self._end.wait()
        watch.cancel()
        nodes = [node for node in self._nodes.values() if not node.is_dead]
        self._lose(ConnectionError("the program has left the cluster"))
        # A node that has just died does not answer, and Dask tries to reach it for half a minute.
        left = (asyncio.wait_for(node.leave(), _FAREWELL) for node in nodes)
        await asyncio.gather(*left, return_exceptions=True)
        for each in list(self._under_way):
            each.cancel()
        await asyncio.gather(watch, *self._under_way, return_exceptions=True)
        await self._client.close()

    async def _connect(self) -> None:
        import dask
        from distributed import Client

        from .plugin import NodePlugin

        self._client = await Client(
            self._address,
            security=self._security,
            asynchronous=True,
            set_as_default=False,
            timeout=self._patience,
            name="dovetail",
        )
        self._most_losses = dask.config.get("distributed.scheduler.allowed-failures")
        try:
            for attempt in range(_ATTEMPTS):
                try:
                    await self._client.register_plugin(NodePlugin(), name="dovetail")
                    break
                except OSError:  # a worker died that was about to get it
                    if attempt == _ATTEMPTS - 1:
                        raise
            await self._look()
        except BaseException:
            await self._client.close()
            raise

    def _stop(self) -> None:
        if self._end is not None:
            self._end.set()

    async def _watch(self) -> None:
        """Workers come and go."""
        while True:
            await asyncio.sleep(_INTERVAL)
            try:
                await self._look()
            except OSError as error:
                if self._client.status != "running":
                    self._lose(error)
                    return
            self._pump()

    async def _look(self) -> None:
        from distributed.comm import get_address_host

        threads: dict[str, int] = await self._client.nthreads()
        self._slots = sum(threads.values())
        chosen: dict[str, str] = {}
        for address in sorted(threads):
            chosen.setdefault(get_address_host(address), address)
        for host, node in list(self._nodes.items()):
            if node.is_dead or node.address not in threads:
                del self._nodes[host]
                node.died("its worker process has gone")
        for host, address in chosen.items():
            if host not in self._nodes:
                self._nodes[host] = Node(self._client, self.id, address, self._again, self._pump)

    def _wake(self) -> None:
        with self._lock:
            self._awake = False
            jobs, self._inbox = self._inbox, collections.deque()
        for job in jobs:
            self._push(job)
        self._pump()

    def _push(self, job: Job) -> None:
        function = job.function
        heapq.heappush(self._io if function.io else self._accounted if function.has_account else self._compute, job)

    def _pump(self) -> None:
        """Sends what there is room for."""
        nodes = [node for node in self._nodes.values() if node.has_room()]
        while self._io and nodes:
            node = min(nodes, key=lambda node: len(node.jobs))
            node.add(heapq.heappop(self._io))
            nodes = [node for node in nodes if node.has_room()]
        for node in self._nodes.values():
            node.flush()
        while self._in_flight < _AHEAD * self._slots:
            jobs = self._accounted if self._nodes and self._accounted else self._compute
            if self._accounted and self._compute and self._compute[0] < self._accounted[0]:
                jobs = self._compute
            if not jobs:
                break
            workers = [node.address for node in self._nodes.values()] if jobs is self._accounted else None
            self._start(self._send(self._batch(jobs), workers))

    def _start(self, coroutine: Any) -> None:
        self._in_flight += 1
        task = asyncio.ensure_future(coroutine)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    def _batch(self, jobs: list[Job]) -> list[Job]:
        """Calls that come next, as many as take the time of a batch and leave some for the other slots."""
        first = heapq.heappop(jobs)
        batch = [first]
        most = 1 if first.alone else min(_MOST_CALLS, -(-len(jobs) // max(self._slots, 1)))
        seconds = first.function.seconds
        while jobs and len(batch) < most and seconds is not None and seconds < _SECONDS:
            following = jobs[0]
            if following.alone or following.function.priority != first.function.priority:
                break
            if following.function.seconds is None or _is_large(following):
                break
            seconds += following.function.seconds
            batch.append(heapq.heappop(jobs))
        return batch

    async def _send(self, jobs: list[Job], workers: list[str] | None) -> None:
        try:
            packed, jobs = pack_jobs(jobs)
            if jobs:
                await self._send_packed(packed, jobs, workers)
        finally:
            self._in_flight -= 1
            self._pump()

    async def _send_packed(self, packed: bytes, jobs: list[Job], workers: list[str] | None) -> None:
        from distributed import KilledWorker

        self._batch_number += 1
        key = f"dovetail-{self.id}-{self._batch_number}"
        first = jobs[0].function
        options: dict[str, Any] = {"key": key, "pure": False, "priority": first.priority}
        if workers is not None:
            options |= {"workers": workers, "allow_other_workers": False}
        try:
            # Dask's scheduler is not to carry what is large.
            large = len(packed) > MOST_BYTES
            given = await self._client.scatter(packed, hash=False, workers=workers) if large else packed
            future = self._client.submit(agent.run, given, key, first.once, **options)
            answer = await future
        except KilledWorker as error:
            if len(jobs) == 1:
                jobs[0].fail_as_died(f"each worker process that ran it was killed, {error.allowed_failures + 1} in all")
            else:
                # One of them may be the reason.
                for job in jobs:
                    job.alone = True
                    self._push(job)
        except asyncio.CancelledError as error:
            if self._lost is not None:
                _fail(jobs, self._lost)
                raise
            self._again(jobs, f"Dask has dropped it ({error})")
        except OSError as error:
            self._again(jobs, f"{type(error).__name__}: {error}")
        except Exception as error:
            _fail(jobs, error)
        else:
            self._settle(jobs, answer)

    def _settle(self, jobs: list[Job], answer: bytes) -> None:
        for job in settle({job.number: job for job in jobs}, message.unpack_ends(answer)):
            self._push(job)

    def _again(self, jobs: list[Job], how: str) -> None:
        """They were sent, and what became of them is not known."""
        for job in jobs:
            job.losses += 1
            if self._lost is not None:
                job.fail(_gone(job, self._lost))
            elif job.function.once or job.losses > self._most_losses:
                job.fail_as_died(how)
            else:
                job.alone = True
                self._push(job)

    def _lose(self, cause: BaseException) -> None:
        """Nothing more comes from the cluster."""
        with self._lock:
            self._lost = cause
            waiting = [*self._inbox, *self._compute, *self._accounted, *self._io]
            self._inbox.clear()
        self._compute, self._accounted, self._io = [], [], []
        _fail(waiting, cause)
        for node in self._nodes.values():
            node.died(str(cause))
        self._nodes = {}
        for each in self._under_way:
            each.cancel()


def _is_large(job: Job) -> bool:
    return any(getattr(value, "nbytes", 0) > MOST_BYTES for value in (*job.args, *job.kwargs.values()))


def _gone(job: Job, cause: BaseException) -> WorkerDied:
    error = WorkerDied(f"task '{job.function.label}': the connection to the cluster has ended: {cause}")
    error.__cause__ = cause
    return error


def _fail(jobs: list[Job], cause: BaseException) -> None:
    for job in jobs:
        job.fail(_gone(job, cause))
