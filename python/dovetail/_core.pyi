"""The extension module in C++."""

import enum
from collections.abc import Awaitable, Callable, Generator, Iterable
from types import FrameType
from typing import Any, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)

class Direction(enum.Enum):
    IN = ...
    OUT = ...
    INOUT = ...
    COMMUTATIVE = ...
    FILE_IN = ...
    FILE_OUT = ...
    FILE_INOUT = ...
    FILE_COMMUTATIVE = ...
    UNORDERED = ...

class Future(Generic[T_co], Awaitable[T_co]):
    """The result of a task that may not have run yet. Passed to another task, it makes that task wait."""

    def __await__(self) -> Generator[Any, None, T_co]: ...
    def result(self) -> T_co:
        """Waits for the task and returns its result. Raises TaskFailed if it failed."""
    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the task, failed or not, for at most `timeout` seconds. Returns whether it has completed. In a task, the task pauses."""
    def add_done_callback(self, callback: Callable[[Future[T_co]], object]) -> None:
        """Has callback(future) called once, when the task has completed, failed or not: by the thread that completes it, or at once.

        It must be short and must not wait for anything. What it raises is printed, and changes nothing."""
    def done(self) -> bool:
        """Whether the task has completed, failed or been cancelled. Does not wait."""
    def cancel(self) -> None:
        """Asks that the task does not run. One that runs can see it by dovetail.cancelled()."""
    @property
    def label(self) -> str:
        """The label of the task."""
    def _item(self, key: object) -> Future[Any]: ...
    def _notify(self, descriptor: int) -> bool: ...

class Operation:
    """Something that an event source expects to end. One task may wait for it; the last reference that is dropped before it has ended fails
    it."""

    def wait(self, timeout: float | None = None) -> bool:
        """Pauses the task until the operation has ended, for at most `timeout` seconds. Returns whether it has; raises what `fail` was
        given. Only in a task."""
    def bind(self) -> None:
        """The calling task completes no earlier than the operation, and fails with it. Returns at once. Only in a task."""
    def complete(self) -> None:
        """It has ended. Later calls do nothing. From any thread."""
    def fail(self, exception: BaseException) -> None:
        """It has ended by an error. Later calls do nothing. From any thread."""

class EventSource:
    """Something of your own that ends operations, and that can be asked whether any has ended.

    While operations are pending, `poll()` is called every `shortest` to `longest` seconds, more often the more it finds, and at once when
    `fileno` (a number, or an object that has one) can be read. It calls `Operation.complete` or `fail` for what has ended. It runs on some
    thread of the runtime, in no task, must be short and must not wait. What it raises fails all that is pending. Belongs to the
    runtime in use when it is made. From any thread."""

    def __init__(
        self,
        poll: Callable[[], object],
        *,
        label: str = "event source",
        shortest: float = 5e-6,
        longest: float = 5e-4,
        fileno: Any = None,
    ) -> None: ...
    def expect(self, what: str) -> Operation:
        """One more operation that is to end. `what` is said where the runtime reports what tasks wait for."""
    def close(self) -> None:
        """Asks no more. What is still pending fails. Waits for a call of `poll` that is running, so not in `poll`."""
    @property
    def pending(self) -> int:
        """Operations that have not ended."""

class SpaceRegion:
    """A region of a space, as an argument of tasks."""

class Space:
    """Regions of something that is neither memory nor a file, such as the window of another rank. Given to a task, `space[begin:end]`
    (or `space[place]`, or the space: all of it) orders it as a part of an array would. Reports and traces show the name. Each is a space of
    its own, whatever its name."""

    def __init__(self, name: str) -> None: ...
    @property
    def name(self) -> str: ...
    def __getitem__(self, key: int | slice) -> SpaceRegion: ...

class OpenFile:
    """An open file whose transfers pause the calling task, not its core."""

    def __enter__(self) -> OpenFile: ...
    def __exit__(self, *_: object) -> None: ...
    def pread(self, array: Any, offset: int = 0) -> int:
        """Fills the array from the offset (bytes). Returns the bytes read: fewer only at the end of the file."""
    def pwrite(self, array: Any, offset: int = 0) -> int:
        """Writes the whole array at the offset (bytes). Returns the bytes written."""
    def pwrite_durable(self, array: Any, offset: int = 0) -> int:
        """As pwrite and fdatasync in one go."""
    def fsync(self) -> None:
        """Makes data and metadata durable."""
    def fdatasync(self) -> None:
        """Makes data durable, and the metadata needed to read it."""
    def truncate(self, size: int) -> None:
        """Cuts or extends the file."""
    def close(self) -> None:
        """Closes the file when the transfers in flight have ended."""
    def fileno(self) -> int:
        """The descriptor; -1 when closed."""
    @property
    def size(self) -> int:
        """Bytes in the file."""
    @property
    def path(self) -> str:
        """The path it was opened with."""
    @property
    def closed(self) -> bool:
        """Whether it has been closed."""
    @property
    def direct(self) -> bool:
        """Whether transfers may bypass the page cache."""

class Signature:
    def __init__(
        self,
        function: Callable[..., Any],
        label: str,
        positional: list[tuple[str, Direction]],
        rest: Direction,
        others: Direction,
        named: dict[str, Direction],
        priority: int,
        io: bool,
        deferred: bool,
        retries: int,
        ignore: bool,
        storage_bw: str,
        device: str,
    ) -> None: ...

class Ending:
    def give(self, value: Any) -> None: ...
    def fail(self, exception: BaseException) -> None: ...
    @property
    def ended(self) -> bool: ...

class Mapping:
    def __init__(self, descriptor: int, size: int, shared: bool) -> None: ...
    @property
    def address(self) -> int: ...
    @property
    def size(self) -> int: ...
    def unchanged(self, offset: int, length: int) -> bool: ...

class Runtime:
    def __init__(self, fields: dict[str, Any]) -> None: ...
    def wait(self, seconds: float) -> bool: ...
    def stop(self) -> None: ...
    def forget(self) -> None: ...
    def cancel(self) -> None: ...
    @property
    def stopped(self) -> bool: ...
    @property
    def workers(self) -> int: ...
    @property
    def pending(self) -> int: ...

def set_failure_classes(task_failed: type[BaseException], stuck: type[BaseException]) -> None: ...
def set_file_class(file_class: type) -> None: ...
def set_current(runtime: Runtime | None) -> None: ...
def set_default(start: Callable[[], None]) -> None: ...
def open_file(path: str, flags: int, mode: int, direct: str) -> OpenFile: ...
def spawn(
    signature: Signature, arguments: tuple[Any, ...], keywords: dict[str, Any], caller: FrameType | None = None
) -> Future[Any]: ...
def set_package_folder(folder: str) -> None: ...
def made_at() -> str: ...
def end_as_failed() -> None: ...
def items_of(object: Any) -> list[Any] | None: ...
def container_like(container: Any, items: list[Any]) -> Any: ...
def wait(x: Any) -> Any: ...
def wait_for_any(futures: Iterable[Future[Any]], timeout: float | None = None) -> int | None:
    """Waits until the task of one of these futures has completed, failed or not, and returns its place; None if `timeout` seconds have
    passed first. In a task, the task pauses."""

def wait_readable(file: Any, timeout: float | None = None) -> bool:
    """Pauses the task until `file` (a descriptor, or an object with fileno()) can be read without blocking, for at most `timeout` seconds.
    Returns whether it can. For sockets, pipes and the like; a file on a disk always can. Only in a task."""

def wait_writable(file: Any, timeout: float | None = None) -> bool:
    """As wait_readable, until it can be written."""

def barrier() -> None: ...
def counts() -> dict[str, tuple[int, int, int, int]]: ...
def running() -> list[tuple[str, list[str]]]: ...
def take_incomplete() -> list[tuple[str, str]]: ...
def interrupt_bodies(exception: type[BaseException]) -> None: ...
def admission_report() -> str: ...
def cancelled() -> bool: ...
def in_task() -> bool: ...
def label() -> str: ...
