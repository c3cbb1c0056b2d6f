"""The driver's thread that talks to Dask. Calls of compute tasks are sent in batches, each as one task of Dask; those of I/O tasks go to nodes."""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import contextlib
import heapq
import threading
import uuid
from typing import Any

from ..logger import logger
from . import agent, message
from .call import Job, WorkerDied
from .marks import Marks
from .node import Node, pack, settle
from .sharing import Place, Sharing

# A batch has calls for about this many seconds, at most so many calls and bytes.
_SECONDS = 0.02
_MOST_CALLS = 500
MOST_BYTES = 1 << 20
# Batches that Dask has for each slot: one runs and one is on its way.
_AHEAD = 2
_ATTEMPTS = 5
# Seconds between two looks at which workers there are.
_INTERVAL = 0.5
# Seconds that all workers have to start an agent.
_START = 10.0
# Seconds that a node has to forget the program when it leaves.
_FAREWELL = 2.0
_LEFT = "the program has left the cluster"


class Dispatcher:
    """Sends jobs and ends them. `submit` and `close` are for any thread; everything else runs in its own."""

    def __init__(self, address: str, security: Any, patience: float) -> None:
        """Returns when the scheduler has answered; raises `OSError` if it does not within `patience` seconds."""
        self.id = uuid.uuid4().hex[:12]
        self._address = address
        self._security = security
        self._patience = patience
        self._client: Any = None
        self._connection: Any = None  # to the scheduler
        self._loop = asyncio.new_event_loop()
        self._inbox: collections.deque[Job] = collections.deque()
        self._lock = threading.Lock()
        self._awake = False
        self._most_losses = 0
        self._lost: BaseException | None = None
        self._compute: list[Job] = []
        self._accounted: list[Job] = []  # compute tasks with a limit, or of whose device each node has its own account
        self._sharing = Sharing(_AHEAD)  # compute tasks that ask the ledger
        self._io: list[Job] = []
        self._suspects: list[Job] = []
        self._tries_suspect = False  # it runs, and nothing else does
        self._threads: dict[str, int] = {}  # of each worker
        self._warned = False
        self._batch_number = 0
        self._nodes: dict[str, Node] = {}
        self._under_way: dict[asyncio.Task[None], list[Job]] = {}
        self._accounted_under_way = 0
        self._restricted: dict[Any, list[str]] = {}  # futures of Dask, and the only workers that may run them
        self._marks = Marks()
        self._questions: set[asyncio.Future[Any]] = set()  # to the scheduler
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

    def devices(self) -> list[dict[str, Any]]:
        """Waits for the scheduler's answer. For any thread but the dispatcher's. Raises `OSError` if there is none."""
        from .ledger_plugin import report

        async def ask() -> list[dict[str, Any]]:
            if self._end is None or self._end.is_set():
                raise ConnectionError(_LEFT)
            question = asyncio.ensure_future(self._client.run_on_scheduler(report))
            self._questions.add(question)
            try:
                return list(await question)
            finally:
                self._questions.discard(question)

        coroutine = ask()
        try:
            answer = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError as error:
            coroutine.close()
            raise ConnectionError(_LEFT) from error
        try:
            return answer.result(self._patience)
        except concurrent.futures.CancelledError:
            raise ConnectionError(_LEFT) from None
        except concurrent.futures.TimeoutError:
            answer.cancel()
            raise TimeoutError(f"the scheduler of the cluster has not answered within {self._patience:g} s") from None

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
        watch = asyncio.gather(self._watch(), self._watch_connection())
        await self._end.wait()
        watch.cancel()
        self._drop_questions()
        nodes = [node for node in self._nodes.values() if not node.is_dead]
        self._lose(ConnectionError(_LEFT))
        # A node that has just died does not answer, and Dask tries to reach it for half a minute.
        left = (asyncio.wait_for(node.leave(), _FAREWELL) for node in nodes)
        await asyncio.gather(*left, return_exceptions=True)
        await asyncio.gather(watch, *self._under_way, return_exceptions=True)
        with contextlib.suppress(Exception):  # the scheduler may be gone
            await asyncio.wait_for(self._marks.clear_all(self._client), _FAREWELL)
        await self._client.close()

    async def _connect(self) -> None:
        import dask
        from distributed import Client

        self._client = await Client(
            self._address,
            security=self._security,
            asynchronous=True,
            set_as_default=False,
            timeout=self._patience,
            name="dovetail",
        )
        self._most_losses = dask.config.get("distributed.scheduler.allowed-failures")
        self._connection = self._client.scheduler_comm
        try:
            await self._keep_ledger()
            await self._start_agents()
            await self._look()
        except BaseException:
            await self._client.close()
            raise

    async def _keep_ledger(self) -> None:
        """In the scheduler, before there are agents that ask it."""
        from .ledger import PROTOCOL
        from .ledger_plugin import NAME, LedgerPlugin, protocol

        try:
            await self._client.register_plugin(LedgerPlugin(), name=NAME)
            there = await self._client.run_on_scheduler(protocol)
        except OSError:
            raise
        except Exception as error:
            raise RuntimeError(
                f"the scheduler cannot keep the account of devices that nodes share ({type(error).__name__}: {error}): Dovetail must be installed where "
                "the scheduler runs, in the same version, and `distributed.scheduler.pickle` must not be off"
            ) from error
        if there != PROTOCOL:
            raise RuntimeError(
                f"the scheduler keeps the account of devices that nodes share by protocol {there}, and this program needs {PROTOCOL}: install the same "
                "version of Dovetail for both, and start the scheduler again"
            )

    async def _start_agents(self) -> None:
        """On all workers that there are; those that come later start theirs before they run anything."""
        from .plugin import NAME, NodePlugin

        for attempt in range(_ATTEMPTS):
            try:
                await self._client.register_plugin(NodePlugin(), name=NAME)
                break
            except OSError:  # a worker died that was about to get it
                if attempt == _ATTEMPTS - 1:
                    raise
            except Exception:
                # A worker has refused. The next program is to be told so as well.
                with contextlib.suppress(Exception):
                    await self._client.unregister_worker_plugin(name=NAME)
                raise
        # Dask passes it on once only. If that was for another program, it may be on its way still.
        until = self._loop.time() + _START
        while True:
            answers = await self._client.run(agent.is_there, on_error="return")
            without = [
                address for address, there in answers.items() if there is not True and not isinstance(there, OSError)
            ]
            if not without:
                return
            if self._loop.time() > until:
                raise RuntimeError(
                    f"the worker {without[0]} has no agent of Dovetail ({answers[without[0]]}): its log says why it could not start one"
                )
            await asyncio.sleep(_INTERVAL / 10)

    def _drop_questions(self) -> None:
        for question in list(self._questions):
            question.cancel()

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
            self.pump()

    async def _watch_connection(self) -> None:
        """Dask connects again, also with a scheduler that was started anew, which knows neither the calls nor the ledger, and whose workers have no agents."""
        while self._is_connected():
            await asyncio.sleep(_INTERVAL)
        self._lose(ConnectionError("the connection to the scheduler was lost"))

    def _is_connected(self) -> bool:
        return self._client.status == "running" and self._client.scheduler_comm is self._connection

    async def _look(self) -> None:
        from distributed.comm import get_address_host

        self._threads = threads = await self._client.nthreads()
        self._warn()
        chosen: dict[str, str] = {}
        for address in sorted(threads):
            chosen.setdefault(get_address_host(address), address)
        for host, node in list(self._nodes.items()):
            if node.is_dead or node.address not in threads:
                del self._nodes[host]
                node.died("its worker process has gone")
        for host, address in chosen.items():
            if host not in self._nodes:
                self._nodes[host] = Node(self._client, self.id, address, self)
        # Dask would keep them for workers that do not come back: one that is started again has another address.
        for future, workers in list(self._restricted.items()):
            if threads.keys().isdisjoint(workers):
                del self._restricted[future]
                await future.cancel()

    def _warn(self) -> None:
        waiting = len(self._compute) + len(self._accounted) + len(self._io) + len(self._suspects)
        waiting += self._sharing.waiting() + sum(map(len, self._under_way.values()))
        if self._threads or not waiting:
            self._warned = False
        elif not self._warned:
            self._warned = True
            logger.warning("the cluster has no workers; %d calls wait for one", waiting)

    def _wake(self) -> None:
        with self._lock:
            self._awake = False
            jobs, self._inbox = self._inbox, collections.deque()
        for job in jobs:
            self.push(job)
        self.pump()

    def push(self, job: Job) -> None:
        """It has not begun."""
        function = job.function
        if self._lost is not None:
            job.fail(_gone(job, self._lost))
        elif job.is_suspect:
            heapq.heappush(self._suspects, job)
        elif function.io:
            heapq.heappush(self._io, job)
        elif function.shares:
            self._sharing.push(job)
        else:
            heapq.heappush(self._accounted if function.has_account else self._compute, job)

    def pump(self) -> None:
        """Sends what there is room for."""
        if not self._is_connected() or (self._tries_suspect and self._is_busy()):
            return
        self._tries_suspect = False
        self._pump_io()
        self._pump_compute()
        while self._suspects and not self._is_busy() and any(node.has_room() for node in self._nodes.values()):
            self._try_suspect()

    def _is_busy(self) -> bool:
        return bool(self._under_way) or any(node.jobs for node in self._nodes.values())

    def _pump_io(self) -> None:
        nodes = [node for node in self._nodes.values() if node.has_room()]
        while self._io and nodes:
            node = min(nodes, key=lambda node: len(node.jobs))
            node.add(heapq.heappop(self._io))
            nodes = [node for node in nodes if node.has_room()]
        for node in self._nodes.values():
            node.flush()

    def _pump_compute(self) -> None:
        slots = sum(self._threads.values())
        accounts = self._accounts()
        # No more than their own processes have slots for: the others' slots are for the rest.
        most_accounted = _AHEAD * sum(self._threads[address] for address in accounts)
        # Those that wait for a share hold no slot, and so hold nothing else up.
        for jobs, place in self._sharing.turns({address: self._threads[address] for address in accounts}):
            self._start(self._batch(jobs), [place[1]], place)
        while len(self._under_way) - self._sharing.under_way() < _AHEAD * slots:
            jobs = self._accounted if self._accounted_under_way < most_accounted else []
            if not jobs or (self._compute and self._compute[0] < jobs[0]):
                jobs = self._compute
            if not jobs:
                break
            self._start(self._batch(jobs), accounts if jobs is self._accounted else None)

    def _accounts(self) -> list[str]:
        return [node.address for node in self._nodes.values() if not node.is_dead and node.address in self._threads]

    def _try_suspect(self) -> None:
        """Runs a call while nothing else runs: if a worker dies then, it is this call that has killed it."""
        job = heapq.heappop(self._suspects)
        self._tries_suspect = True
        if job.function.io:
            node = next(node for node in self._nodes.values() if node.has_room())
            node.add(job)
            node.flush()
        else:
            call = job.call()
            if call is not None:
                self._start([(job, call)], self._accounts() if job.function.has_account else None)

    def _start(
        self, batch: list[tuple[Job, message.Call]], workers: list[str] | None, place: Place | None = None
    ) -> None:
        if batch:
            task = asyncio.ensure_future(self._send(batch, workers))
            self._under_way[task] = [job for job, _ in batch]
            self._count(workers, place, 1)
            task.add_done_callback(lambda task: self._sent(task, workers, place))

    def _sent(self, task: asyncio.Task[None], workers: list[str] | None, place: Place | None) -> None:
        del self._under_way[task]
        self._count(workers, place, -1)
        self.pump()

    def _count(self, workers: list[str] | None, place: Place | None, by: int) -> None:
        if place is not None:
            self._sharing.count(place, by)
        elif workers is not None:
            self._accounted_under_way += by

    def _batch(self, jobs: list[Job]) -> list[tuple[Job, message.Call]]:
        """Calls that come next, as many as take the time of a batch and leave some for the other slots. What cannot be sent fails."""
        first = jobs[0]
        most = 1 if first.alone else min(_MOST_CALLS, -(-len(jobs) // max(sum(self._threads.values()), 1)))
        seconds = 0.0
        size = 0
        batch = []
        while jobs and most > 0 and seconds < _SECONDS and size < MOST_BYTES:
            job = jobs[0]
            needs = _SECONDS if job.function.seconds is None else job.function.seconds
            if job is not first and (
                job.alone or job.function.priority != first.function.priority or seconds + needs > _SECONDS
            ):
                break
            heapq.heappop(jobs)
            most -= 1
            seconds += needs
            call = job.call()
            if call is not None:
                batch.append((job, call))
                size += job.size
        return batch

    async def _send(self, batch: list[tuple[Job, message.Call]], workers: list[str] | None) -> None:
        from distributed import CancelledError, KilledWorker

        self._batch_number += 1
        key = f"{message.PREFIX}{self.id}-{self._batch_number}"
        jobs = [job for job, _ in batch]
        first = jobs[0].function
        options: dict[str, Any] = {"key": key, "pure": False, "priority": first.priority}
        if workers is not None:
            options |= {"workers": workers, "allow_other_workers": False}
        future: Any = None
        released: list[str] = []
        try:
            packed = pack(batch)
            # Dask's scheduler is to pass on what is large, and not to keep it.
            large = len(packed) > MOST_BYTES
            given = await self._client.scatter(packed, hash=False, workers=workers) if large else packed
            released = self._marks.released()
            future = self._client.submit(agent.run, given, key, first.once, **options)
            if workers is not None:
                self._restricted[future] = workers
            answer = await future
        except KilledWorker as error:
            # One of them may be the reason, or what ran beside: Dask counts the death for all tasks that the worker had.
            self._most_losses = error.allowed_failures
            how = f"each worker process that ran it was killed, {error.allowed_failures + 1} in all"
            await self._ask_again(jobs, key, how, is_suspect=True)
        except CancelledError as error:
            gone = workers is not None and future not in self._restricted
            how = "the worker process that ran it was lost" if gone else f"Dask has dropped it: {error}"
            await self._ask_again(jobs, key, how)
        except OSError as error:
            await self._ask_again(jobs, key, f"{type(error).__name__}: {error}")
        except Exception as error:
            for job in jobs:
                job.fail(_not_run(job, error))
        else:
            self._marks.clear(self._client, released)
            released = []
            for job in settle({job.number: job for job in jobs}, message.unpack_ends(answer)):
                self.push(job)
        finally:
            self._marks.keep(released)
            self._restricted.pop(future, None)
            if first.once and future is not None:
                self._marks.release(future, key)

    async def _ask_again(self, jobs: list[Job], key: str, how: str, is_suspect: bool = False) -> None:
        begun = not jobs[0].function.once or await self._marks.is_set(self._client, key)
        self.again(jobs, how, is_suspect, begun)

    def again(self, jobs: list[Job], how: str, is_suspect: bool = False, begun: bool = True) -> None:
        """They were sent, and what became of them is not known."""
        for job in jobs:
            if self._lost is not None:
                job.fail(_gone(job, self._lost))
            elif job.is_suspect or (job.function.once and begun):
                job.fail_as_died(how)
            else:
                job.losses += 1
                job.alone = True
                job.is_suspect = is_suspect or job.losses > self._most_losses
                self.push(job)

    def _lose(self, cause: BaseException) -> None:
        """Nothing more comes from the cluster."""
        with self._lock:
            self._lost = cause
            waiting = [*self._inbox, *self._compute, *self._accounted, *self._io, *self._suspects]
            waiting += self._sharing.take_all()
            self._inbox.clear()
        self._compute, self._accounted, self._io, self._suspects = [], [], [], []
        for task, jobs in self._under_way.items():
            task.cancel()
            waiting += jobs
        for job in waiting:
            job.fail(_gone(job, cause))
        for node in self._nodes.values():
            node.died(str(cause))
        self._nodes = {}


def _gone(job: Job, cause: BaseException) -> WorkerDied:
    error = WorkerDied(f"task '{job.function.label}': the connection to the cluster has ended: {cause}")
    error.__cause__ = cause
    return error


def _not_run(job: Job, cause: Exception) -> RuntimeError:
    error = RuntimeError(f"task '{job.function.label}': the worker could not run it: {type(cause).__name__}: {cause}")
    error.__cause__ = cause
    return error
