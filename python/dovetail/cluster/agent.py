"""Dovetail's runtime inside a worker process of Dask. Calls run as its tasks: I/O tasks beside the slots of Dask, admitted as on one machine."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import inspect
import pickle
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from .. import _core, elsewhere, process_worker
from ..directions import UNORDERED
from ..future import Future
from ..runtime import Runtime
from ..task import Task
from . import message
from .message import Fate

# A call that has not begun after this many seconds goes back to the driver, which may give it to another worker.
_PATIENCE = 0.1
# Functions that are kept, of all drivers.
_MOST_FUNCTIONS = 4096
_NOT_BEGUN = (Fate.NOT_BEGUN, 0.0, None)


class _Gate:
    """Calls begin while it is open."""

    __slots__ = ("open",)

    def __init__(self) -> None:
        self.open = True


class _Account:
    """What is under way for one program, and the ends of calls that it has not collected."""

    def __init__(self) -> None:
        self.gate = _Gate()
        self.ends: list[message.End] = []
        self.there = asyncio.Event()
        self.under_way: dict[int, Future[Any]] = {}


class Agent:
    """One for each worker process. Thread-safe, but for what says that it is of the event loop."""

    def __init__(self, threads: int) -> None:
        elsewhere.current = None  # tasks that a body makes run here
        self._loop = asyncio.get_running_loop()
        self._runtime = Runtime(workers=threads, progress=False).start()
        self._lock = threading.Lock()
        self._tasks: collections.OrderedDict[message.FunctionKey, Task[..., Any]] = collections.OrderedDict()
        self._limits: dict[str, _core.Limit] = {}
        self._batches: dict[str, tuple[_Gate, list[Future[Any]]]] = {}
        self._accounts: dict[str, _Account] = {}

    def stop(self) -> None:
        self._runtime.cancel()

    # Compute tasks: a task of Dask, on one of its threads, which is a slot, runs a batch of calls.

    def run(self, batch: bytes, key: str, once: bool) -> bytes:
        """Runs calls and returns their ends. once: they must not run if they have begun before."""
        functions, calls = message.unpack(batch)
        if once and _has_begun(key):
            return message.pack_ends([(number, Fate.BEGUN_BEFORE, 0.0, None) for number, *_ in calls])
        gate = _Gate()
        futures = [self._spawn(functions, call, gate) for call in calls]
        with self._lock:
            self._batches[key] = (gate, futures)
        try:
            if len(futures) > 1:
                until = time.monotonic() + _PATIENCE
                gate.open = all(future.wait(max(until - time.monotonic(), 0.0)) for future in futures)
            ends = [_end_of(call[0], future) for call, future in zip(calls, futures, strict=True)]
        finally:
            with self._lock:
                del self._batches[key]
        return message.pack_ends(ends)

    def cancel(self, key: str) -> None:
        """Dask does not want this batch any more: its driver has gone."""
        with self._lock:
            gate, futures = self._batches.get(key, (_Gate(), []))
        gate.open = False
        for future in futures:
            future.cancel()

    # I/O tasks: they come beside Dask's tasks, and hold none of its threads.

    def receive(self, account: str, batch: bytes) -> None:
        """Begins calls; `collect` gives their ends. Of the event loop."""
        there = self._accounts.setdefault(account, _Account())
        functions, calls = message.unpack(batch)
        for call in calls:
            number = call[0]
            future = there.under_way[number] = self._spawn(functions, call, there.gate)

            def done(future: Future[Any], number: int = number) -> None:
                with contextlib.suppress(RuntimeError):  # the loop has been closed: nobody collects
                    self._loop.call_soon_threadsafe(self._ended, account, number, future)

            future.add_done_callback(done)

    def _ended(self, account: str, number: int, future: Future[Any]) -> None:
        there = self._accounts.get(account)
        if there is not None:
            there.under_way.pop(number, None)
            there.ends.append(_end_of(number, future))
            there.there.set()

    async def collect(self, account: str) -> bytes:
        """Waits for ends of calls. Of the event loop."""
        there = self._accounts.setdefault(account, _Account())
        await there.there.wait()
        there.there.clear()
        ends, there.ends = there.ends, []
        return message.pack_ends(ends)

    def forget(self, account: str) -> None:
        """The driver has gone: what has not begun never will. Of the event loop."""
        there = self._accounts.pop(account, None)
        if there is not None:
            there.gate.open = False
            there.there.set()
            for future in list(there.under_way.values()):
                future.cancel()
        with self._lock:
            for key in [key for key in self._tasks if account.startswith(key[0])]:
                del self._tasks[key]
            for name in [name for name in self._limits if account.startswith(name.partition("-")[0])]:
                del self._limits[name]

    def _spawn(
        self, functions: dict[message.FunctionKey, tuple[message.Options, bytes]], call: message.Call, gate: _Gate
    ) -> Future[Any]:
        _number, key, changed, packed = call
        called = self._task(key, functions)
        try:
            future: Future[Any] = called(gate, changed, packed)
        except Exception as error:
            # What is wrong with it is wrong on this node, such as the name of a device, and is this call's failure alone.
            failing = Task(_body(_raising(error)), label=called.label, directions={"gate": UNORDERED})
            future = failing(gate, (), ())
        return future

    def _task(
        self, key: message.FunctionKey, functions: dict[message.FunctionKey, tuple[message.Options, bytes]]
    ) -> Task[..., Any]:
        with self._lock:
            found = self._tasks.get(key)
            if found is None:
                options, pickled = functions[key]
                found = self._tasks[key] = self._make_task(options, pickled)
                if len(self._tasks) > _MOST_FUNCTIONS:
                    self._tasks.popitem(last=False)
            return found

    def _make_task(self, options: message.Options, pickled: bytes) -> Task[..., Any]:
        limit = None
        if options.limit is not None:
            name, most = options.limit
            limit = self._limits.setdefault(name, _core.Limit(most))
        try:
            function = pickle.loads(pickled)
        except Exception as error:
            told = ImportError(
                f"a node cannot load the function of task '{options.label}': {error}; what the program imports must be installed on it"
            )
            told.__cause__ = error
            function = _raising(told)
        return Task(
            _body(function),
            label=options.label,
            io=options.io,
            storage_bw=options.storage_bw,
            device=options.device,
            limit=limit,
            time_limit=options.time_limit,
            on_failure="ignore",
            directions={"gate": UNORDERED},
        )


def _raising(error: Exception) -> Callable[..., Any]:
    def function(*_: Any, **__: Any) -> Any:
        raise error

    return function


def _body(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one call as it was sent. Its value is the end of the call, but for the number."""
    if inspect.iscoroutinefunction(function):

        async def coroutine(gate: _Gate, changed: tuple[int | str, ...], packed: Any) -> tuple[Fate, float, Any]:
            if not gate.open:
                return _NOT_BEGUN
            started = time.perf_counter()
            try:
                args, kwargs = _arguments(packed)
                value = await function(*args, **kwargs)
                return Fate.DONE, time.perf_counter() - started, _packed(value, changed, args, kwargs)
            except BaseException as error:
                return _failed(error, started)

        return coroutine

    def body(gate: _Gate, changed: tuple[int | str, ...], packed: Any) -> tuple[Fate, float, Any]:
        if not gate.open:
            return _NOT_BEGUN
        started = time.perf_counter()
        try:
            args, kwargs = _arguments(packed)
            value = function(*args, **kwargs)
            return Fate.DONE, time.perf_counter() - started, _packed(value, changed, args, kwargs)
        except BaseException as error:
            return _failed(error, started)

    return body


def _arguments(packed: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return pickle.loads(packed) if type(packed) is bytes else (packed, {})


def _packed(value: Any, changed: tuple[int | str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not changed:
        return message.pack_value(value)
    new = {place: args[place] if isinstance(place, int) else kwargs[place] for place in changed}
    return message.pack_value((value, new))


def _failed(error: BaseException, started: float) -> tuple[Fate, float, Any]:
    text = "".join(traceback.format_exception(type(error), error, process_worker.own_part(error.__traceback__)))
    return Fate.FAILED, time.perf_counter() - started, process_worker.dump_error(error, text)


def _end_of(number: int, future: Future[Any]) -> message.End:
    try:
        return (number, *future.result())
    except BaseException as error:
        if future.cancelled():
            return (number, *_NOT_BEGUN)
        # Not of the body, which catches all: of the admission, such as an unknown device.
        cause = error.__cause__ or error
        return number, Fate.FAILED, 0.0, process_worker.dump_error(cause, "".join(traceback.format_exception(cause)))


def _has_begun(key: str) -> bool:
    """Whether this is not the first time that a batch of this key is run. The scheduler knows, since it outlives the workers."""
    from distributed import Event

    event = Event(key)
    if event.is_set():
        return True
    event.set()
    return False


_agent: Agent | None = None


def start(threads: int) -> None:
    """Of the event loop."""
    global _agent
    if _agent is None:
        _agent = Agent(threads)


def stop() -> None:
    global _agent
    if _agent is not None:
        _agent.stop()
        _agent = None


def the_agent() -> Agent:
    if _agent is None:
        raise RuntimeError("this worker has no agent of Dovetail")
    return _agent


def find() -> Agent | None:
    return _agent


# What a driver has Dask call.


def run(batch: bytes, key: str, once: bool) -> bytes:
    """A task of Dask."""
    return the_agent().run(batch, key, once)


async def is_there() -> bool:
    """Beside the tasks of Dask."""
    return _agent is not None


async def receive(account: str, batch: bytes) -> None:
    """Beside the tasks of Dask."""
    the_agent().receive(account, batch)


async def collect(account: str) -> bytes:
    """Beside the tasks of Dask."""
    return await the_agent().collect(account)


async def forget(account: str) -> None:
    """Beside the tasks of Dask."""
    the_agent().forget(account)
