"""Worker processes: `@dt.task(process=True)`.

The pool sends a ready process task to a process at once, in the order that the runtime decided. One thread of the program takes the results of
all processes. A process is a fresh interpreter, so that it has none of the program's threads and locks. It ends when the program does, however
that ends. See docs/design/python.md for why this is not a pool of the standard library.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import heapq
import os
import pickle
import selectors
import signal
import subprocess
import sys
import threading

from . import blas_threads, pickling, time_limit
from .channel import Channel, Message, Packet
from .logger import logger
from .process_call import SMALL, Job
from .process_worker import FUNCTION

# A process gets several short tasks ahead, so that it need not wait for the next one: this many, of that many seconds at most.
_AHEAD = 8
_SHORT = 0.001
# These variables tell libraries how many threads to compute with. Without them each process would use all cores.
_THREADS_OF_LIBRARIES = (*blas_threads.VARIABLES, "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS")


class WorkerProcessDied(RuntimeError):
    """A worker process ended while it ran a task."""


class RemoteTraceback(Exception):
    """The traceback of an exception in a worker process, as its cause."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


class _Worker:
    """One process and the calls that it has got."""

    def __init__(self, threads: int) -> None:
        self.channel, theirs = Channel.pair()
        with theirs:
            # In this order: the module must be found whatever the program has done to its path.
            package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
            environment = {name: str(threads) for name in _THREADS_OF_LIBRARIES} | os.environ
            environment["PYTHONPATH"] = os.pathsep.join([package, *filter(None, sys.path)])
            try:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "dovetail.process_worker", str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    env=environment,
                    stdin=subprocess.DEVNULL,
                )
            except BaseException:
                self.channel.close()
                raise
        self.jobs: dict[int, Job] = {}  # in the order in which they are sent
        self.functions: dict[int, bytes] = {}  # as they were sent last
        self.outbox: collections.deque[Packet] = collections.deque()
        self.short = False
        self._last_is_small = True

    def takes(self) -> bool:
        if not self.jobs:
            return True
        return self.short and len(self.jobs) < _AHEAD and self._last_is_small

    def assign(self, job: Job) -> None:
        """Raises what keeps the message from being sent; a process that is gone is noticed by what is received from it."""
        assert job.packet is not None
        self.jobs[job.number] = job
        self._last_is_small = not job.packet.files and len(job.packet.content) < SMALL
        try:
            if self.functions.get(job.call.number) is not job.function:
                self.outbox.append(Packet(FUNCTION, job.call.number, job.function, []))
                self.functions[job.call.number] = job.function
            self.outbox.append(job.packet)
            self.flush()
        except BaseException:
            del self.jobs[job.number]
            with contextlib.suppress(ValueError):
                self.outbox.remove(job.packet)
            raise

    def flush(self) -> bool:
        """Sends what the socket has room for. Returns whether that was all."""
        while self.outbox:
            try:
                if not self.channel.send(self.outbox[0], wait=False):
                    return False
            except ConnectionError:
                self.outbox.clear()
                break
            self.outbox.popleft()
        return True

    def fate(self) -> str:
        status = self.process.wait()
        if status < 0:
            name = signal.Signals(-status).name
            hint = " (the system may have run out of memory)" if -status == signal.SIGKILL else ""
            return f"worker process {self.process.pid} was killed by {name}{hint}"
        return f"worker process {self.process.pid} ended with status {status}"


class Pool:
    """All worker processes of the program.

    A sender never waits for a socket to have room: the pool's thread sends what does not fit, when there is room. That thread always takes what
    the processes send. So the two sides cannot wait for each other.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._threads = max(1, len(os.sched_getaffinity(0)) // size)
        self._lock = threading.Lock()
        self._workers: list[_Worker] = []
        self._waiting: list[tuple[int, int, Job]] = []
        self._prepared = 0  # of those that wait
        self._selector = selectors.DefaultSelector()
        self._wake, self._waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._selector.register(self._wake, selectors.EVENT_READ, None)
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="dovetail-processes", daemon=True)
        try:
            self._thread.start()
        except BaseException:
            self._close()
            raise

    def submit(self, job: Job) -> None:
        with self._lock:
            ahead = job.light or self._stopped or self._prepared < 2 * self._size
            if not ahead:
                # The pool's thread makes the message when a process is about to be free.
                self._push(job)
        if ahead:
            self._prepare(job)

    def _prepare(self, job: Job) -> None:
        """Makes the message; then the job is sent, or waits with it. One that was cancelled has ended instead."""
        if job.ending.cancelled:
            job.drop()
            return
        try:
            job.prepare()
        except BaseException as error:
            job.fail(error)
            return
        with self._lock:
            self._push(job)
            lost = self._give_out()
        _fail(lost)

    def _push(self, job: Job) -> None:
        heapq.heappush(self._waiting, (-job.call.priority, job.number, job))
        self._prepared += job.packet is not None and not job.light

    def _pop(self) -> Job:
        job = heapq.heappop(self._waiting)[2]
        self._prepared -= job.packet is not None and not job.light
        return job

    def _give_out(self) -> list[tuple[Job, BaseException | None]]:
        """Sends what is prepared to processes that take it. Returns what could not be sent, and why; None: it was cancelled. Under the lock."""
        lost: list[tuple[Job, BaseException | None]] = []
        while self._waiting and (self._stopped or self._waiting[0][2].packet is not None):
            if self._stopped:
                job = self._pop()
                lost.append((job, self._ended(job)))
                continue
            try:
                worker = self._free_worker()
            except OSError as error:
                job = self._pop()
                lost.append((job, _cannot_start(job, error)))
                continue
            if worker is None:
                break
            self._give(worker, lost)
        return lost

    def _give(self, worker: _Worker, lost: list[tuple[Job, BaseException | None]]) -> None:
        job = self._pop()
        if not job.ending.begin():
            lost.append((job, None))
            return
        try:
            worker.assign(job)
        except BaseException as error:
            lost.append((job, error))
        if worker.outbox:
            # The pool's thread sends the rest.
            events = selectors.EVENT_READ | selectors.EVENT_WRITE
            self._selector.modify(worker.channel.fileno(), events, worker)

    def _free_worker(self) -> _Worker | None:
        worker = None
        for each in self._workers:
            if each.takes() and (worker is None or len(each.jobs) < len(worker.jobs)):
                worker = each
        if (worker is None or worker.jobs) and len(self._workers) < self._size:
            try:
                worker = _Worker(self._threads)
                self._selector.register(worker.channel.fileno(), selectors.EVENT_READ, worker)
                self._workers.append(worker)
                os.write(self._waker, b"w")
            except OSError:
                # Fewer processes are enough, if there are any.
                if not self._workers:
                    raise
        return worker

    def _run(self) -> None:
        while not self._stopped:
            for key, events in self._selector.select():
                if key.data is None:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wake, 4096)
                    continue
                worker = key.data
                try:
                    if events & selectors.EVENT_WRITE:
                        self._send_rest(worker)
                    if events & selectors.EVENT_READ:
                        self._receive(worker)
                except BaseException as error:
                    # The others go on.
                    self._give_up(worker, error)
            self._serve()

    def _serve(self) -> None:
        """Has the next message ready for the process that is free first."""
        while self._waiting:
            with self._lock:
                if not self._waiting or self._waiting[0][2].packet is not None:
                    return
                job = self._pop()
            self._prepare(job)

    def _send_rest(self, worker: _Worker) -> None:
        with self._lock:
            if worker in self._workers and worker.flush():
                self._selector.modify(worker.channel.fileno(), selectors.EVENT_READ, worker)

    def _receive(self, worker: _Worker) -> None:
        try:
            message = worker.channel.receive(wait=False)
        except BlockingIOError:
            return
        if message is None:
            self._bury(worker)
            return
        try:
            self._finish(worker, message)
        finally:
            message.close()

    def _finish(self, worker: _Worker, message: Message) -> None:
        with self._lock:
            job = worker.jobs.pop(message.number)
        try:
            good, result, changed, count, seconds = pickle.loads(message.payload())
            worker.short = seconds < _SHORT
        except BaseException as error:
            job.fail(error)
            good = None
        lost: list[tuple[Job, BaseException | None]] = []
        with self._lock:
            while self._waiting and self._waiting[0][2].packet is not None and worker.takes():
                self._give(worker, lost)
        _fail(lost)
        if good is None:
            return
        try:
            files, message.files[:count] = message.files[:count], []
            try:
                value = pickling.load(result, files)
            finally:
                message.files += files
            if not good:
                failure, text = value
                failure.__cause__ = RemoteTraceback(text)
                job.fail(failure)
                return
            if job.written is not None:
                job.call.write_back(*job.written, changed, message.files)
        except BaseException as error:
            job.fail(error)
        else:
            job.ending.give(value)

    def _bury(self, worker: _Worker, cause: BaseException | None = None) -> None:
        with self._lock:
            if self._stopped or worker not in self._workers:
                return
            self._selector.unregister(worker.channel.fileno())
            worker.channel.close()
            self._workers.remove(worker)
            jobs = list(worker.jobs.values())
            worker.jobs.clear()
            # The others it had not begun.
            for job in jobs[1:]:
                self._push(job)
            lost = self._give_out()
        _fail(lost)
        fate = worker.fate()
        if jobs:
            call = jobs[0].call
            died: Exception = WorkerProcessDied(f"{fate} while it ran task '{call.label}'")
            if call.time_limit is not None and worker.process.returncode == -signal.SIGALRM:
                died = time_limit.of_killed(call.label, call.time_limit)
            else:
                logger.warning("%s", died)
            died.__cause__ = cause
            jobs[0].fail(died)
        elif not self._stopped:
            logger.warning("%s while it ran no task", fate)

    def _give_up(self, worker: _Worker, cause: BaseException) -> None:
        worker.process.kill()
        self._bury(worker, cause)

    def kill(self) -> None:
        """Ends all processes, whatever they do."""
        with self._lock:
            self._stopped = True
            workers, self._workers = self._workers, []
            lost = self._give_out()
            os.write(self._waker, b"s")
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.process.wait()
        if threading.current_thread() is not self._thread:
            self._thread.join()
            self._close()
        for worker in workers:
            worker.channel.close()
        _fail(lost + [(job, self._ended(job)) for worker in workers for job in list(worker.jobs.values())])

    def _close(self) -> None:
        self._selector.close()
        os.close(self._wake)
        os.close(self._waker)

    @staticmethod
    def _ended(job: Job) -> WorkerProcessDied:
        return WorkerProcessDied(f"the worker processes were ended before task '{job.call.label}' had ended")

    def processes(self) -> list[int]:
        with self._lock:
            return [worker.process.pid for worker in self._workers]


def _cannot_start(job: Job, error: OSError) -> OSError:
    text = f"no worker process can be started for task '{job.call.label}': {error.strerror} (see ulimit -a)"
    return OSError(error.errno, text)


def _fail(lost: list[tuple[Job, BaseException | None]]) -> None:
    """Fails tasks, or drops those that were cancelled. Not under the lock, since a callback may make other tasks."""
    for job, error in lost:
        if error is None:
            job.drop()
        else:
            job.fail(error)


def submit(job: Job) -> None:
    """To the pool that there is now."""
    the_pool().submit(job)


_pool: Pool | None = None
_pool_lock = threading.Lock()
_was_used = False


def the_pool() -> Pool:
    """Starts it, if need be; the processes come with the tasks."""
    global _pool, _was_used
    with _pool_lock:
        _was_used = True
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


def was_used() -> bool:
    """A task has gone on in a worker process, or could have."""
    return _was_used


def worker_processes() -> list[int]:
    """The process numbers of the workers."""
    return [] if _pool is None else _pool.processes()


def _forget() -> None:
    """The processes are those of the parent of this fork."""
    global _pool, _pool_lock, _was_used
    _pool, _was_used = None, False
    _pool_lock = threading.Lock()


os.register_at_fork(after_in_child=_forget)
# The runtime waits for its tasks earlier, while the threads of the program are ended.
atexit.register(kill_all)
