"""The runtime that tasks run in: an implicit one, or one made by `dt.Runtime(...)`."""

from __future__ import annotations

import atexit
import functools
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, overload

from . import _core, blas_threads, failure_log, learning_log  # noqa: F401 (two of them enter themselves)
from .errors import Stuck, TaskFailed
from .future import Future
from .unseen_failures import UnseenFailures

if TYPE_CHECKING:
    from .progress import Progress

T = TypeVar("T")

# As deep as a thread of Python itself: a task may recurse as deeply as it could there.
_STACK_SIZE = 8 * 1024 * 1024

_lock = threading.RLock()
_active: list[Runtime] = []
_was_used = False
# A task failed, and the program did not ask for its result.
_any_failed = False
_FOR_EVER = 1e9  # seconds


class Runtime:
    """Workers, I/O executors and storage engines.

        with dt.Runtime(workers=4):
            ...

    Leaving the block waits for all tasks and raises the first failure that the program has not seen yet. Tasks outside of any such block use an
    implicit runtime. The first of them makes it, and it ends with the program.

    workers: threads for computation; by default as many as the process has cores.
    config: path of a `dovetail.toml`.
    io_executors: most threads that run I/O tasks at once; 64 by default.
    engine: `uring`, `aio`, `threads` or `auto`.
    trace: a file for the recording, which Perfetto opens.
    stack_size: bytes of the stack of each task, as far as its body uses them; 8 MiB by default.
    report_after: seconds after which standard error is told what waits for what; 0: never. That is done when nothing runs. It is also done when a
    task waits for a message, a descriptor or an operation of a source though others run.
    stuck_after: tasks that wait for other threads fail when nothing can run for so many seconds; 0, as by default: never. Tasks that wait only for
    each other always do.
    progress: show a bar on standard error; by default if `DOVETAIL_PROGRESS` is set.
    """

    def __init__(
        self,
        workers: int | None = None,
        config: str | os.PathLike[str] | None = None,
        *,
        io_executors: int | None = None,
        engine: str | None = None,
        trace: str | os.PathLike[str] | None = None,
        stack_size: int | None = None,
        report_after: float = 5.0,
        stuck_after: float = 0.0,
        progress: bool | None = None,
    ) -> None:
        for name, value in (("workers", workers), ("io_executors", io_executors), ("stack_size", stack_size)):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ValueError(f"{name} must be a whole number above 0, not {value!r}")
        for name, seconds in (("report_after", report_after), ("stuck_after", stuck_after)):
            if seconds < 0:
                raise ValueError(f"{name} must not be negative, and is {seconds!r}")
        self.config = None if config is None else os.fspath(config)
        if self.config is not None and not os.path.isfile(self.config):
            raise FileNotFoundError(f"config names {self.config!r}, and there is no such file")
        self._show_progress = os.environ.get("DOVETAIL_PROGRESS", "") not in ("", "0") if progress is None else progress
        self._progress: Progress | None = None
        self._fields: dict[str, Any] = {
            "workers": workers,
            "io_executors": io_executors,
            "engine": engine,
            "config": self.config,
            "trace": None if trace is None else os.fspath(trace),
            "stack_size": stack_size or _STACK_SIZE,
            "report_after": report_after,
            "stuck_after": stuck_after,
        }
        self._core: _core.Runtime | None = None

    def start(self) -> Runtime:
        """Starts the workers; new tasks belong to this runtime until it is stopped."""
        global _was_used
        with _lock:
            if self._core is not None:
                raise RuntimeError("this runtime has been started already")
            self._core = _core.Runtime(self._fields)
            _active.append(self)
            _was_used = True
            if self._show_progress:
                from .progress import Progress

                self._progress = Progress()
                self._progress.start()
            _core.set_current(self._core)
        return self

    def stop(self) -> None:
        """Waits for all tasks and ends the workers. Prints the failures that the program has not seen; it ends with status 1 then."""
        global _any_failed
        if self._core is not None:
            try:
                unseen = UnseenFailures("the runtime")
                while True:
                    try:
                        self._core.wait(_FOR_EVER)
                        break
                    except (TaskFailed, Stuck) as error:
                        _any_failed = True
                        unseen.tell(error)
                        if isinstance(error, Stuck):
                            break
                unseen.tell_how_many_more()
            finally:
                self._end()

    def _end(self) -> None:
        with _lock:
            core, self._core = self._core, None
            if core is None:
                return
            _active.remove(self)
            _core.set_current(_active[-1]._core if _active else None)
        learning_log.tell()
        core.stop()
        if self._progress is not None:
            self._progress.stop()

    def cancel(self) -> None:
        """Cancels every task that has not started, and asks those that run to stop (`dt.cancelled()`)."""
        if self._core is not None:
            self._core.cancel()

    @property
    def workers(self) -> int:
        """Number of threads for computation."""
        if self._core is None:
            raise RuntimeError("this runtime has not been started, or has been stopped")
        return self._core.workers

    def __enter__(self) -> Runtime:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                _core.barrier()
        except BaseException as error:
            self._give_up(type(error))
            raise
        else:
            if kind is not None:
                self._give_up(kind)
        finally:
            self._end()

    def _give_up(self, kind: type[BaseException]) -> None:
        if self._core is None:
            return
        if issubclass(kind, KeyboardInterrupt):
            from . import interruption

            interruption.end(self._core, kind)
        else:
            self._core.cancel()


def _start_default() -> None:
    with _lock:
        if not _active:
            Runtime().start()


def _say_next_step(told: BaseException | None) -> None:
    """The last line, if the program ends by a failure: the one that ended it, or the first that it did not ask for."""
    error = getattr(sys, "last_value", None)
    if not isinstance(error, TaskFailed | Stuck):
        error = told
    if error is not None:
        from .next_step import next_step

        print(f"dovetail: what to do: {next_step(error)}", file=sys.stderr)


def _stop_all() -> None:
    """The end of the program: its tasks are waited for, unless it was interrupted."""
    global _any_failed
    interrupted = issubclass(getattr(sys, "last_type", None) or type(None), KeyboardInterrupt)
    unseen = UnseenFailures("the program")
    while _active:
        runtime = _active[-1]
        try:
            if interrupted:
                runtime._give_up(KeyboardInterrupt)
            else:
                _core.barrier()
        except KeyboardInterrupt:
            interrupted = True
            runtime._give_up(KeyboardInterrupt)
        except BaseException as error:
            _any_failed = True
            unseen.tell(error)
            if isinstance(error, TaskFailed):
                continue  # there may be more
        runtime._end()
    unseen.tell_how_many_more()
    if not interrupted:
        _say_next_step(unseen.first)
    if _any_failed and not interrupted and not _left_by_itself():
        _core.end_as_failed()
    if interrupted and _was_used:
        from . import interruption

        interruption.exit_with_status()


_exit_called = False


def _left_by_itself() -> bool:
    """Whether a module that is run by `python -m` has called `sys.exit` or raised `SystemExit`, as far as that can be known.

    For other programs, the interpreter's own stack tells.
    """
    if _exit_called:
        return True
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    try:
        return spec is not None and "SystemExit" in spec.loader.get_code(spec.name).co_names
    except (AttributeError, ImportError):
        return False


def _notice_exit() -> None:
    leave = sys.exit

    @functools.wraps(leave)
    def exit(status: Any = None, /) -> NoReturn:
        global _exit_called
        _exit_called = True
        leave(status)

    sys.exit = exit


if getattr(sys.modules.get("__main__"), "__spec__", None) is not None:
    _notice_exit()


def _forget_all() -> None:
    """In the child of a fork there are no workers: the next task starts a runtime of the child's own."""
    global _lock, _any_failed
    _lock = threading.RLock()
    _any_failed = False  # that is the parent's to tell
    for runtime in _active:
        if runtime._core is not None:
            runtime._core.forget()
            runtime._core = None
    _active.clear()
    _core.set_current(None)


_core.set_default(_start_default)
# As the pools of the standard library do: while threads can still be started, which tasks and their interruption may need.
_register = getattr(threading, "_register_atexit", atexit.register)
_register(_stop_all)
os.register_at_fork(after_in_child=_forget_all)


@overload
def wait(x: Future[T], /, *, timeout: float | None = None) -> T: ...
@overload
def wait(x: list[Future[T]], /, *, timeout: float | None = None) -> list[T]: ...
@overload
def wait(x: T, /, *, timeout: float | None = None) -> T: ...
def wait(x: Any, /, *, timeout: float | None = None) -> Any:
    """Waits for `x` and returns its value. In a task, the core runs other tasks meanwhile.

    x: a future, whose value is its result; an object that tasks change, whose value is itself, with all changes made; or lists, tuples and
    dictionaries of these, nested in any way.
    timeout: seconds after which `TimeoutError` is raised; the tasks go on.

    Raises `TaskFailed` if a task failed that it depends on.
    """
    return _core.wait(x, timeout)


def workers() -> int:
    """Threads for computation of the runtime in use, which is started if need be."""
    _start_default()
    with _lock:
        return _active[-1].workers


def barrier() -> None:
    """Waits for all tasks (in a task: for those it has made). Raises the first failure that the program has not seen yet."""
    _core.barrier()
