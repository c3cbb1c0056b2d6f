"""Worker processes: `@dt.task(process=True)`.

A ready process task is sent to a process at once, in the order that the runtime decided, and one thread of the program takes the results
of all processes. A process is a fresh interpreter, so that nothing of the program's threads or locks is in it. It ends when the program does,
however that ends. See docs/design/python.md for why this is not a pool of the standard library.
"""

from __future__ import annotations

import atexit
import collections
import heapq
import itertools
import os
import pickle
import selectors
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from . import _core, pickling
from .channel import Channel

# A process gets several short tasks ahead, so that it need not wait for the next one: this many, of that many seconds at most.
_AHEAD = 8
_SHORT = 0.001
_SMALL_MESSAGE = 4096


class WorkerProcessDied(RuntimeError):
    """A worker process ended while it ran a task."""


class RemoteTraceback(Exception):
    """The traceback of an exception in a worker process, as its cause."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


class _Job:
    """One call on its way."""

    __slots__ = ("call", "ending", "function", "keep", "message", "written")

    def __init__(
        self, ending: _core.Ending, call: Function, function: int, message: bytes, keep: list[Any], written: list[Any]
    ) -> None:
        self.ending = ending
        self.call = call
        self.function = function
        self.message = message
        self.keep = keep  # segments that the message carries
        self.written = written  # arguments that the task changes, and arrays to be copied back


class _Worker:
    """One process and what it has been given."""

    def __init__(self) -> None:
        self.channel, theirs = Channel.pair()
        with theirs:
            # In this order: the module must be found whatever the program has done to its path.
            package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join([package, *filter(None, sys.path)])}
            self.process = subprocess.Popen(
                [sys.executable, "-m", "dovetail.process_worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
            )
        self.jobs: collections.deque[_Job] = collections.deque()
        self.functions: set[int] = set()
        self.short = False

    def takes(self) -> bool:
        if not self.jobs:
            return True
        return self.short and len(self.jobs) < _AHEAD and len(self.jobs[-1].message) < _SMALL_MESSAGE

    def send(self, job: _Job) -> None:
        # First: whatever becomes of the process is looked up there.
        self.jobs.append(job)
        if job.function not in self.functions:
            self.channel.send(pickle.dumps(("function", job.function, job.call.pickled())), [])
            self.functions.add(job.function)
        self.channel.send(job.message, [segment.descriptor for segment in job.keep])

    def fate(self) -> str:
        status = self.process.wait()
        if status < 0:
            name = signal.Signals(-status).name
            hint = " (the system may have run out of memory)" if -status == signal.SIGKILL else ""
            return f"worker process {self.process.pid} was killed by {name}{hint}"
        return f"worker process {self.process.pid} ended with status {status}"


class Pool:
    """All worker processes of the program."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._workers: list[_Worker] = []
        self._waiting: list[tuple[int, int, _Job]] = []
        self._order = itertools.count()
        self._selector = selectors.DefaultSelector()
        self._wake, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._wake, self._waker = self._wake, wake
        self._selector.register(self._wake, selectors.EVENT_READ, None)
        self._stopped = False
        self._thread = threading.Thread(target=self._receive, name="dovetail-processes", daemon=True)
        self._thread.start()

    def submit(self, job: _Job) -> None:
        with self._lock:
            if self._stopped:
                job.ending.fail(self._ended(job))
                return
            worker = min((w for w in self._workers if w.takes()), key=lambda w: len(w.jobs), default=None)
            if (worker is None or worker.jobs) and len(self._workers) < self._size:
                worker = _Worker()
                self._workers.append(worker)
                self._selector.register(worker.channel.fileno(), selectors.EVENT_READ, worker)
                os.write(self._waker, b"w")
            if worker is None:
                heapq.heappush(self._waiting, (-job.call.priority, next(self._order), job))
                return
            self._give(worker, job)

    def _give(self, worker: _Worker, job: _Job) -> None:
        try:
            worker.send(job)
        except OSError as error:
            # A process that is gone is noticed by the receiving thread, which then deals with all its jobs.
            if not isinstance(error, ConnectionError):
                worker.jobs.remove(job)
                job.ending.fail(error)
        except Exception as error:
            worker.jobs.remove(job)
            job.ending.fail(error)

    def _receive(self) -> None:
        while not self._stopped:
            for key, _ in self._selector.select():
                worker = key.data
                if worker is None:
                    os.read(self._wake, 4096)
                    continue
                message = worker.channel.receive()
                if message is None:
                    self._bury(worker)
                else:
                    self._finish(worker, *message)

    def _finish(self, worker: _Worker, payload: bytes, files: list[int]) -> None:
        good, result, changed, counts, seconds = pickle.loads(payload)
        with self._lock:
            job = worker.jobs.popleft()
            worker.short = seconds < _SHORT
            while self._waiting and worker.takes():
                self._give(worker, heapq.heappop(self._waiting)[2])
        try:
            value = pickling.load(result, files[: counts[0]])
            if not good:
                error, text = value
                error.__cause__ = RemoteTraceback(text)
                job.ending.fail(error)
                return
            if job.written:
                job.call.write_back(job.written, changed, files[counts[0] :])
        except BaseException as error:
            job.ending.fail(error)
        else:
            job.ending.give(value)

    def _bury(self, worker: _Worker) -> None:
        with self._lock:
            if self._stopped:
                return
            self._selector.unregister(worker.channel.fileno())
            worker.channel.close()
            self._workers.remove(worker)
            jobs = list(worker.jobs)
        fate = worker.fate()
        if jobs:
            job = jobs.pop(0)
            job.ending.fail(WorkerProcessDied(f"{fate} while it ran task '{job.call.label}'"))
        # The others it had not begun.
        for job in jobs:
            self.submit(job)

    def kill(self) -> None:
        """Ends all processes, whatever they do."""
        with self._lock:
            self._stopped = True
            workers, self._workers = self._workers, []
            waiting, self._waiting = self._waiting, []
            os.write(self._waker, b"s")
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.process.wait()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        for worker in workers:
            worker.channel.close()
        for job in [job for worker in workers for job in worker.jobs] + [entry[2] for entry in waiting]:
            if not job.ending.ended:
                job.ending.fail(self._ended(job))

    @staticmethod
    def _ended(job: _Job) -> WorkerProcessDied:
        return WorkerProcessDied(f"the worker processes were ended before task '{job.call.label}' had ended")

    def processes(self) -> list[int]:
        with self._lock:
            return [worker.process.pid for worker in self._workers]


_pool: Pool | None = None
_pool_lock = threading.Lock()


def the_pool() -> Pool:
    """Starts it, if need be; the processes come with the tasks."""
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = Pool(_size or len(os.sched_getaffinity(0)))
        return _pool


_size = 0


def set_size(processes: int) -> None:
    """How many processes there may be, for pools that start from now on."""
    global _size
    _size = processes


def kill_all() -> None:
    """Ends the worker processes; the next process task starts others."""
    global _pool
    with _pool_lock:
        pool, _pool = _pool, None
    if pool is not None:
        pool.kill()


def worker_processes() -> list[int]:
    """The process numbers of the workers."""
    return [] if _pool is None else _pool.processes()


def _forget() -> None:
    """The processes are those of the parent of this fork."""
    global _pool, _pool_lock
    _pool = None
    _pool_lock = threading.Lock()


os.register_at_fork(after_in_child=_forget)
# The runtime waits for its tasks earlier, while the threads of the program are ended.
atexit.register(kill_all)

_numbers = itertools.count(1)


class Function:
    """A function whose calls run in worker processes."""

    def __init__(
        self, function: Callable[..., Any], label: str, priority: int, names: tuple[str, ...], written: frozenset[str]
    ) -> None:
        self.function = function
        self.label = label
        self.priority = priority
        self.names = names
        self.written = written
        self.number = next(_numbers)
        self._pickled: bytes | None = None

    def pickled(self) -> bytes:
        if self._pickled is None:
            import cloudpickle

            self._pickled = cloudpickle.dumps(self.function)
        return self._pickled

    def __call__(self, ending: _core.Ending, /, *args: Any, **kwargs: Any) -> None:
        keep: list[Any] = []
        written: list[Any] = []
        message: bytes
        if not self.written and pickling.is_plain(args) and pickling.is_plain(tuple(kwargs.values())):
            message = pickle.dumps(("call", self.number, 0, pickle.dumps((args, kwargs), -1), None), -1)
        else:
            message = self._message(args, kwargs, keep, written)
        the_pool().submit(_Job(ending, self, self.number, message, keep, written))

    def _message(self, args: tuple[Any, ...], kwargs: dict[str, Any], keep: list[Any], written: list[Any]) -> bytes:
        changed: dict[str | int, Any] = {}
        constant_args = list(args)
        constant_kwargs = dict(kwargs)
        for place, name in enumerate(self.names[: len(args)]):
            if name in self.written:
                changed[place] = args[place]
                constant_args[place] = None
        for name in kwargs.keys() & self.written:
            changed[name] = kwargs[name]
            constant_kwargs[name] = None
        constant_parcel = pickling.parcel()
        changed_parcel = pickling.parcel(writable=True, every_array=True)
        try:
            constant_payload = pickling.dump((tuple(constant_args), constant_kwargs), constant_parcel)
            changed_payload = pickling.dump(changed, changed_parcel) if changed else None
        except Exception as error:
            raise self._unpicklable(args, kwargs, error) from error
        keep += constant_parcel.segments + changed_parcel.segments
        if changed:
            written += [changed, changed_parcel.arrays]
        return pickle.dumps(
            ("call", self.number, len(constant_parcel.segments), constant_payload, changed_payload),
            pickle.HIGHEST_PROTOCOL,
        )

    def _unpicklable(self, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> TypeError:
        names = [*self.names[: len(args)], *(f"*args[{i}]" for i in range(len(args) - len(self.names))), *kwargs]
        values = [*args, *kwargs.values()]
        name = pickling.failing_argument(names, values, lambda value: pickling.dump(value, pickling.parcel()))
        where = "an argument" if name is None else f"argument '{name}' (a '{type(values[names.index(name)]).__name__}')"
        return TypeError(f"{where} of task '{self.label}' cannot be sent to a worker process: {error}")

    def write_back(self, written: list[Any], payload: bytes, files: list[int]) -> None:
        """Brings what the task changed into the objects of this process."""
        originals, arrays = written
        new = pickling.load(payload, files)
        for array, segment, strides, offset, copied in arrays:
            if copied:
                from . import shared_memory

                array[...] = shared_memory.array_on(segment, array.dtype, array.shape, strides, offset, False)
        for place, original in originals.items():
            if place in new:
                name = self.names[place] if isinstance(place, int) else place
                _update(original, new[place], name, self.label)


def _update(original: Any, new: Any, name: str, label: str) -> Any:
    """Makes `original` equal to `new`, in place where that is possible, and returns what stands for it then."""
    if type(original) is not type(new):
        return new
    if isinstance(original, list):
        kept = [_update(a, b, name, label) for a, b in zip(original, new, strict=False)]
        original[:] = kept + new[len(kept) :]
    elif isinstance(original, dict):
        merged = {
            key: _update(original[key], value, name, label) if key in original else value for key, value in new.items()
        }
        original.clear()
        original.update(merged)
    elif isinstance(original, set):
        original.clear()
        original.update(new)
    elif isinstance(original, bytearray):
        original[:] = new
    elif hasattr(original, "__array_interface__") and hasattr(original, "shape"):
        if original.shape != new.shape:
            return new
        original[...] = new
    elif hasattr(original, "__dict__") and not callable(original):
        merged = {key: _update(vars(original).get(key), value, name, label) for key, value in vars(new).items()}
        vars(original).clear()
        vars(original).update(merged)
    else:
        return new
    return original
