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
import weakref
from collections.abc import Callable
from typing import Any

from .. import _core, elsewhere, process_worker
from ..directions import UNORDERED
from ..future import Future
from ..logger import logger
from ..runtime import Runtime
from ..tasks import Task
from . import devices, message
from .devices import Claim, asks_ledger
from .message import Fate

# A call that has not begun after this many seconds goes back to the driver, which may give it to another worker.
_PATIENCE = 0.1
# A call that has not got its share of a device after this many seconds leaves its slot of Dask until it has.
_BRIEFLY = 0.02
# Functions that are kept, of all drivers.
_MOST_FUNCTIONS = 4096
_NOT_BEGUN = (Fate.NOT_BEGUN, 0.0, None)


class _Gate:
    """Calls begin while it is open."""

    __slots__ = ("open",)

    def __init__(self) -> None:
        self.open = True


class _Started:
    """A call on its way to become a task, which it is when its device has room. Thread-safe, but for what says that it is of the event loop."""

    __slots__ = ("_begin", "_future", "_there", "claim")

    def __init__(self, waits: bool) -> None:
        """waits: `set` or `allow` may be called later, by another thread."""
        self.claim: Claim | None = None
        self._begin: Callable[[], None] | None = None
        self._future: Future[Any] | None = None
        self._there = threading.Event() if waits else None

    def set(self, future: Future[Any] | None) -> None:
        """None: it never will."""
        self._future = future
        if self._there is not None:
            self._there.set()

    def allow(self, begin: Callable[[], None]) -> None:
        """It has its share. begin: calls `set`."""
        self._begin = begin
        if self._there is not None:
            self._there.set()

    def begin_in_slot(self) -> None:
        """Begins it when it has its share. The calling thread is a slot of Dask, which runs other tasks if that takes long."""
        from distributed import rejoin, secede

        if self._there is None:
            return
        if not self._there.wait(_BRIEFLY):
            secede()
            self._there.wait()
            if self._begin is not None:
                rejoin()  # waits for a slot, which the share waits for as well
        if self._begin is not None:
            self._begin()

    def withdraw(self) -> None:
        """It need not begin. Of the event loop."""
        if self.claim is not None and self.claim.withdraw():
            self.set(None)

    def cancel(self) -> None:
        """As `withdraw`, and if it is a task already, that is asked to stop."""
        self.withdraw()
        if self._future is not None:
            self._future.cancel()

    def wait(self, until: float) -> bool:
        """Whether it ended before the time `until`."""
        if self._there is not None and not self._there.wait(max(until - time.monotonic(), 0.0)):
            return False
        return self._future is None or self._future.wait(max(until - time.monotonic(), 0.0))

    def end(self, number: int) -> message.End:
        if self._there is not None:
            self._there.wait()
        return (number, *_NOT_BEGUN) if self._future is None else _end_of(number, self._future)


class _Account:
    """What is under way for one program, and the ends of calls that it has not collected."""

    def __init__(self) -> None:
        self.gate = _Gate()
        self.ends: list[message.End] = []
        self.there = asyncio.Event()
        self.under_way: dict[int, _Started] = {}


class Agent:
    """One for each worker process. Thread-safe, but for what says that it is of the event loop."""

    def __init__(self, worker: Any) -> None:
        elsewhere.current = None  # tasks that a body makes run here
        self._loop = asyncio.get_running_loop()
        self._runtime = Runtime(workers=worker.state.nthreads, progress=False).start()
        self._devices = devices.of(worker)
        self._lock = threading.Lock()
        self._tasks: collections.OrderedDict[message.FunctionKey, Task[..., Any]] = collections.OrderedDict()
        self._others: weakref.WeakKeyDictionary[Task[..., Any], Task[..., Any]] = weakref.WeakKeyDictionary()
        self._limits: dict[str, _core.Limit] = {}
        self._batches: dict[str, tuple[_Gate, list[_Started]]] = {}
        self._accounts: dict[str, _Account] = {}

    def stop(self) -> None:
        """Of the event loop."""
        with self._lock:
            batches = list(self._batches)
        for key in batches:
            self.cancel(key)
        for account in list(self._accounts):
            self.forget(account)
        self._devices.stop()
        self._runtime.cancel()

    # Compute tasks: a task of Dask, on one of its threads, which is a slot, runs a batch of calls.

    def run(self, batch: bytes, key: str, once: bool) -> bytes:
        """Runs calls and returns their ends. once: they must not run if they have begun before."""
        functions, calls = message.unpack(batch)
        if once and _has_begun(key):
            return message.pack_ends([(number, Fate.BEGUN_BEFORE, 0.0, None) for number, *_ in calls])
        gate = _Gate()
        alone = len(calls) == 1
        started = [self._start(functions, call, gate, in_slot=alone) for call in calls]
        with self._lock:
            self._batches[key] = (gate, started)
        try:
            if alone:
                started[0].begin_in_slot()
            else:
                until = time.monotonic() + _PATIENCE
                gate.open = all(call.wait(until) for call in started)
                for waiting in [] if gate.open else started:
                    self._in_loop(waiting.withdraw)
            ends = [there.end(call[0]) for call, there in zip(calls, started, strict=True)]
        finally:
            with self._lock:
                del self._batches[key]
        return message.pack_ends(ends)

    def cancel(self, key: str) -> None:
        """Dask does not want this batch any more: its driver has gone. Of the event loop."""
        with self._lock:
            gate, started = self._batches.get(key, (_Gate(), []))
        gate.open = False
        for call in started:
            call.cancel()

    # I/O tasks: they come beside Dask's tasks, and hold none of its threads.

    def receive(self, account: str, batch: bytes) -> None:
        """Begins calls; `collect` gives their ends. Of the event loop."""
        there = self._accounts.setdefault(account, _Account())
        functions, calls = message.unpack(batch)
        for call in calls:
            number = call[0]

            def done(future: Future[Any], number: int = number) -> None:
                self._in_loop(self._ended, account, number, future)

            there.under_way[number] = self._start(functions, call, there.gate, done)

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
            for call in list(there.under_way.values()):
                call.cancel()
        with self._lock:
            for key in [key for key in self._tasks if account.startswith(key[0])]:
                del self._tasks[key]
            for name in [name for name in self._limits if account.startswith(name.partition("-")[0])]:
                del self._limits[name]

    def _start(
        self,
        functions: dict[message.FunctionKey, tuple[message.Options, bytes]],
        call: message.Call,
        gate: _Gate,
        done: Callable[[Future[Any]], None] | None = None,
        in_slot: bool = False,
    ) -> _Started:
        """done: called in any thread when its task, if it has become one, has ended. in_slot: `begin_in_slot` is called, which begins it."""
        called = self._task(call[1], functions)
        constraint = called.storage_bw
        if constraint is None or not asks_ledger(constraint):
            started = _Started(waits=False)
            self._spawn(called, call, gate, started, done)
        else:
            started = _Started(waits=True)

            # Where a device has room, the ledger of the cluster says, for all of its nodes.
            def begin(error: BaseException | None, mb_per_second: float | None) -> None:
                def spawn() -> None:
                    try:
                        self._spawn(called, call, gate, started, done, claim, error, mb_per_second)
                    except BaseException:
                        started.set(None)  # the call must not wait for it in vain
                        raise

                def spawn_in_slot() -> None:
                    try:
                        spawn()
                    except Exception:
                        logger.exception("task '%s' has its share of a device and could not begin", called.label)
                        self._in_loop(claim.leave)

                if in_slot:
                    started.allow(spawn_in_slot)
                else:
                    spawn()

            claim = started.claim = Claim(begin)
            self._in_loop(self._devices.claim, called.device or "", constraint, called.label, claim)
        return started

    def _spawn(
        self,
        called: Task[..., Any],
        call: message.Call,
        gate: _Gate,
        started: _Started,
        done: Callable[[Future[Any]], None] | None,
        claim: Claim | None = None,
        error: BaseException | None = None,
        mb_per_second: float | None = None,
    ) -> None:
        _number, _key, changed, packed = call
        try:
            if error is not None:
                raise error
            if mb_per_second is not None:
                called = self._with(called, mb_per_second)
            future: Future[Any] = called(gate, changed, packed)
        except Exception as wrong:
            # What is wrong with it is wrong on this node, such as the name of a device, and is this call's failure alone.
            failing = Task(_body(_raising(wrong)), label=called.label, directions={"gate": UNORDERED})
            future = failing(gate, (), ())
        started.set(future)
        if claim is not None:
            future.add_done_callback(lambda future: self._in_loop(claim.leave, _has_failed(future)))
        if done is not None:
            future.add_done_callback(done)

    def _with(self, called: Task[..., Any], mb_per_second: float) -> Task[..., Any]:
        """The same with another constraint."""
        with self._lock:
            found = self._others.get(called)
            if found is None:
                found = self._others[called] = called.replaced(storage_bw=mb_per_second)
            return found

    def _in_loop(self, function: Callable[..., None], *args: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has been closed, and with it all that waits
            self._loop.call_soon_threadsafe(function, *args)

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


def _has_failed(future: Future[Any]) -> bool:
    try:
        return bool(future.result()[0] is not Fate.DONE)
    except BaseException:
        return True


def _has_begun(key: str) -> bool:
    """Whether this is not the first time that a batch of this key is run. The scheduler knows, since it outlives the workers."""
    from distributed import Event

    event = Event(key)
    if event.is_set():
        return True
    event.set()
    return False


_agent: Agent | None = None


def start(worker: Any) -> None:
    """Of the event loop. worker: of Dask."""
    global _agent
    if _agent is None:
        _agent = Agent(worker)


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
