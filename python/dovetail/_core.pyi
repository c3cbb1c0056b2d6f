"""The extension module in C++."""

import enum
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

class Direction(enum.Enum):
    """What a task does with a parameter. Each member is also a name of the package, such as `dovetail.IN`.

    NumPy arrays are ordered by their bytes in memory, so that overlapping views are ordered; other objects by identity. Lists, tuples and
    dictionaries are searched for such objects. Directions that write are for objects that can change."""

    IN = ...
    """Read. So is a parameter without a direction."""
    OUT = ...
    """Overwritten, without looking at what was there."""
    INOUT = ...
    """Read and changed."""
    COMMUTATIVE = ...
    """Read and changed, by one task at a time, in any order."""
    FILE_IN = ...
    """The path of a file that is read."""
    FILE_OUT = ...
    """The path of a file that is overwritten or made."""
    FILE_INOUT = ...
    """The path of a file that is read and changed."""
    FILE_COMMUTATIVE = ...
    """The path of a file that is read and changed, by one task at a time, in any order."""
    UNORDERED = ...
    """Only futures in it are waited for; it orders no tasks otherwise."""

class FutureBase:
    """What the extension knows of a future. `Future` of the package derives from it, and from `concurrent.futures.Future`."""

    def result(self, timeout: float | None = None) -> Any:
        """Waits for the task, for at most `timeout` seconds, and returns its result. In a task, the task pauses. Raises `TaskFailed` if it
        failed, `TaskCancelled` (a `concurrent.futures.CancelledError`) if it was cancelled, `TimeoutError` when the time has passed."""
    def exception(self, timeout: float | None = None) -> Any:
        """Waits as `result`, and returns the exception that `result` would raise; None if the task has succeeded. Raises `TaskCancelled` and
        `TimeoutError` as `result`. The program counts as having seen the failure."""
    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the task, failed or not, for at most `timeout` seconds. Returns whether it is done. In a task, the task pauses."""
    def add_done_callback(self, fn: Callable[[Any], object]) -> None:
        """Has fn(future) called once, when the task has completed, failed or been cancelled. The thread that completes or cancels it does
        so; the caller at once if it is done. Callbacks are called in the order in which they were added.

        It must be short and must not wait for anything. The logger `dovetail` is told what it raises, which changes nothing else."""
    def done(self) -> bool:
        """Whether the task has completed, failed or been cancelled. Does not wait."""
    def running(self) -> bool:
        """Whether the task has begun and not completed. A coroutine has begun when it was handed over, a process task when a process has got it. Does not wait."""
    def cancelled(self) -> bool:
        """Whether the task does not run because it, or one that it needs, was cancelled. Does not wait."""
    def cancel(self) -> bool:
        """Keeps the task from beginning, and returns True; the future is done then. False: it has begun or completed. One that runs can see
        the request by `dovetail.cancelled()`. Tasks that need its result do not run either."""
    def _state_name(self) -> str: ...
    def _label(self) -> str: ...
    def _item(self, key: object) -> Any: ...
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

class Lock:
    """A lock as `threading.Lock`, which pauses the task that waits for it: its core runs other tasks meanwhile. It may be held across a
    transfer or a `dt.wait`. Outside of tasks, and in I/O tasks, it blocks the thread. Not recursive. Of one process. From any thread; a
    coroutine that waits for it stops its event loop. A function that must not wait (a callback of a future, `poll` of a source) gets a
    `RuntimeError` where it would have to."""

    def __init__(self) -> None: ...
    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        """Waits until the caller holds the lock, for at most `timeout` seconds (None, or -1: for as long as it takes). Returns whether it
        does. Those that wait get it by turns. Raises `Stuck` if the runtime finds the program stuck (see `Runtime`'s `stuck_after`)."""
    def release(self) -> None:
        """By the task or thread that holds it. Never waits. Raises RuntimeError if it is not held."""
    def locked(self) -> bool:
        """Whether it is held. Others may change that before the caller looks at it."""
    def __enter__(self) -> bool: ...
    def __exit__(self, *_: object) -> None: ...

class Semaphore:
    """A number of units of something, such as bytes of memory or connections, of which each user takes some. `with semaphore:` takes one.
    What a wait does, and where it is not allowed: as `Lock`."""

    def __init__(self, units: int = 1) -> None: ...
    def acquire(self, blocking: bool = True, timeout: float | None = None, *, units: int = 1) -> bool:
        """Waits until `units` are available and all earlier calls have got theirs, then takes them. So small requests do not overtake a
        large one. Timeout, result and `Stuck` as for `Lock.acquire`."""
    def release(self, units: int = 1) -> None:
        """Gives back units, or adds new ones. Never waits."""
    @property
    def available(self) -> int:
        """Units that can be taken now. Others may change the number before the caller looks at it."""
    def __enter__(self) -> bool: ...
    def __exit__(self, *_: object) -> None: ...

class Latch:
    """Opens once it has been counted down to zero, and stays open. What a wait does, and where it is not allowed: as `Lock`."""

    def __init__(self, count: int) -> None: ...
    def count_down(self, steps: int = 1) -> None:
        """Never waits. Raises ValueError for more steps than are left; then it has counted none."""
    def try_wait(self) -> bool:
        """Whether it is open."""
    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it is open, for at most `timeout` seconds. Returns whether it is. Raises `Stuck` as `Lock.acquire`."""

class Limit:
    """At most `most` tasks run at once, of all those that have it as the option `limit`. A task that pauses counts; one that waits for others
    to begin does not. Those that wait get their turn in the order in which they came. Of one process."""

    def __init__(self, most: int) -> None: ...
    @property
    def most(self) -> int:
        """How many tasks run at once."""

class Barrier:
    """Lets no participant pass until all have arrived, phase after phase. What a wait does, and where it is not allowed: as `Lock`. For all tasks
    of a program there is the function `barrier`."""

    def __init__(self, participants: int) -> None: ...
    def arrive_and_wait(self, timeout: float | None = None) -> bool:
        """Waits until all participants of this phase have arrived, for at most `timeout` seconds. Returns whether they have. If not, or if
        it raises, the arrival counts all the same: the others do not wait for this participant in this phase. Raises `Stuck` as
        `Lock.acquire`."""
    def arrive_and_drop(self) -> None:
        """Arrives without waiting, and takes part in no later phase."""

class SpaceRegion:
    """A region of a space, as an argument of tasks."""

class Space:
    """Regions of something that is neither memory nor a file, such as the window of another rank. Given to a task, `space[begin:end]`
    (or `space[place]`, or the space: all of it) orders it as a part of an array would. Reports and traces show the name. Each is a space of
    its own, whatever its name."""

    def __init__(self, name: str) -> None: ...
    @property
    def name(self) -> str:
        """As given to the constructor."""
    def __getitem__(self, key: int | slice) -> SpaceRegion: ...

class OpenFile:
    """An open file whose transfers pause the calling task, not its core; outside of tasks and in I/O tasks they block the thread. As a context manager
    it is closed with the block.

    Arrays are NumPy arrays or other buffers, contiguous. Any number of tasks and threads may use one file at once; transfers that overlap are ordered by
    the directions of their tasks alone. A transfer that fails raises `OSError` with path, offset and errno."""

    def __enter__(self) -> OpenFile: ...
    def __exit__(self, *_: object) -> None: ...
    def pread(self, array: Any, offset: int = 0) -> int:
        """Fills the array from the offset (bytes). Returns the bytes read: fewer only at the end of the file."""
    def pwrite(self, array: Any, offset: int = 0) -> int:
        """Writes the whole array at the offset (bytes). Returns the bytes written."""
    def pwrite_durable(self, array: Any, offset: int = 0) -> int:
        """As pwrite and fdatasync in one go."""
    def prefetch(self, ranges: list[tuple[int, int]]) -> None:
        """As dovetail.prefetch, for a list of (offset, length)."""
    def fsync(self) -> None:
        """Makes data and metadata durable."""
    def fdatasync(self) -> None:
        """Makes data durable, and the metadata needed to read it."""
    def drain(self) -> None:
        """Makes all that was written durable in the file itself, where others see it. Of a file that is not staged, as fsync."""
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

class Group:
    """The processes of the program. A process has one group at a time. It ends with its last segment and array, or by `end`; as a context
    manager it does so with the block."""

    @staticmethod
    def start(timeout: float = 60.0, silence_timeout: float = 60.0) -> Group:
        """By all processes at the same time; blocks until all have come. `timeout` (seconds) holds for that, and for each segment. A process on another
        node has died when its node has not answered for `silence_timeout` seconds."""
    def __enter__(self) -> Group: ...
    def __exit__(self, *_: object) -> None: ...
    @property
    def rank(self) -> int:
        """Of this process, from 0."""
    @property
    def size(self) -> int:
        """How many processes there are."""
    def transport(self, rank: int) -> str:
        """How data gets to a rank: "shared memory", or "this process"."""
    def barrier(self) -> None:
        """Returns when all processes have called it. In a task, the task pauses. By one thread of a process at a time."""
    def end(self) -> None:
        """Gives up the group and its segments. Raises BufferError while an array of one of them is in use."""

class Segment:
    """Memory of this process into which the others write, and its notifications. It is a buffer, so `memoryview` and NumPy take it, and a task that
    gets it is ordered by its bytes; arrays of it keep it."""

    @staticmethod
    def allocate(group: Group, bytes: int, notifications: int = 65536) -> Segment:
        """Memory of zeros. By all processes at the same time, in the same order; blocks. Each chooses its own size. `notifications`: their
        numbers are below this; at most 2^24, 8 bytes each."""
    @staticmethod
    def use(group: Group, memory: Any, notifications: int = 65536) -> Segment:
        """The same with an array of the program's own (contiguous, and such as can be written to), which is kept until the segment has ended, or the group.
        The kernel copies for the others, which costs a system call and has no atomic operations. Some processes may use their own memory, and others allocate.
        Raises RuntimeError in all processes where the kernel does not allow it (Yama, the filter of a container)."""
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def end(self, objection: str = "") -> None:
        """By all processes at the same time, in the same order as they begin and end others; blocks. What tasks have begun to write or read is waited
        for. Waits for its notifications fail, and those that were not taken are lost. Then no rank writes into its memory any more: that of `allocate` is
        gone. Its number serves a later segment. No other thread uses the segment meanwhile, but for tasks that wait.

        A rank where an array of it is in use raises BufferError. It keeps all others from it, and so does one with an `objection`: they raise
        RuntimeError, which names it, and the segment goes on. Raises `Error` if a process has died; the segment has ended all the same."""
    def array(self, dtype: Any = "u1") -> Any:
        """The memory as a NumPy array of one dimension."""
    @property
    def id(self) -> int:
        """The same in all processes."""
    @property
    def size(self) -> int:
        """In bytes."""
    @property
    def notifications(self) -> int:
        """How many it has in this process."""

class Inbox:
    """A rank takes the next message of any rank: the passive communication of GASPI. It is for rare messages whose sender the receiver does not know;
    for frequent ones `write_notify` is faster."""

    @staticmethod
    def open(group: Group, bytes: int = 1024, messages: int = 4) -> Inbox:
        """By all processes at the same time, in the same order as segments, of which it is one, with the same options. `bytes`: of the longest message,
        at most 4096. So many `messages` of each sender lie there until they are taken."""
    @property
    def most_bytes(self) -> int:
        """Of the longest message."""
    def send(self, rank: int, message: Any) -> None:
        """Sends bytes, or a contiguous array. Where the rank has not taken the last `messages` of this process, the task pauses until it has; outside of
        tasks it blocks. Messages from one thread to one rank are received in order."""
    def receive(self) -> tuple[int, bytes]:
        """Pauses the task until there is a message; outside of tasks it blocks. Returns the rank of the sender and the message. Senders are served in
        turn. Raises `Error` if there is none, and a process has died that might have sent one. One that Ctrl-C has ended takes a message all the same,
        which is lost."""
    def try_receive(self) -> tuple[int, bytes] | None:
        """Takes a message that has come, if no other task waits for it. Never waits."""

class Signature:
    def __init__(
        self,
        function: Callable[..., Any],
        label: str,
        positional: list[tuple[str, Direction]],
        rest: Direction,
        others: Direction,
        named: dict[str, Direction],
        kind: str,
        priority: int,
        io: bool,
        deferred: bool,
        retries: int,
        ignore: bool,
        storage_bw: str,
        device: str,
        standalone: bool = False,
        limit: Limit | None = None,
        retry_on: tuple[type[BaseException], ...] | None = None,
        retry_delay: float = 0.0,
        returns: int = 1,
    ) -> None: ...

class Ending:
    def give(self, value: Any) -> None: ...
    def fail(self, exception: BaseException) -> None: ...
    def postpone(self) -> None: ...
    def begin(self) -> bool: ...
    def drop(self) -> None: ...
    @property
    def cancelled(self) -> bool: ...
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

def set_failure_classes(
    task_failed: type[BaseException],
    task_cancelled: type[BaseException],
    stuck: type[BaseException],
    mpi_error: type[BaseException],
    rma_error: type[BaseException],
) -> None: ...

class DescribedRequests:
    def __init__(self, addresses: list[int], size: int) -> None: ...
    def text(self, number: int) -> str: ...

def wait_for_requests(addresses: list[int], size: int) -> bool: ...
def wait_for_one_request(addresses: list[int], size: int) -> int: ...
def start_request(address: int, size: int, kept: object) -> None: ...
def bind_requests(
    addresses: list[int], size: int, taken_over: bool, statuses: list[int], size_of_status: int, kept: object
) -> None: ...
def rma_write(array: Any, rank: int, segment: Segment | int, offset: int = 0) -> None:
    """Writes the array to `offset` (bytes) in the segment of a rank. The data has been moved when it returns. A segment may be given by its `id`."""

def rma_read(array: Any, rank: int, segment: Segment | int, offset: int = 0) -> None:
    """Fills the array from `offset` (bytes) on in the segment of a rank."""

def rma_write_list(parts: Iterable[tuple[Any, int, Segment | int, int]]) -> None:
    """Writes several parts, each a tuple of array, rank, segment and offset; none if one of them is wrong."""

def rma_read_list(parts: Iterable[tuple[Any, int, Segment | int, int]]) -> None:
    """Reads several parts, each a tuple of array, rank, segment and offset; none if one of them is wrong."""

def rma_notify(rank: int, segment: Segment | int, id: int, value: int = 1) -> None:
    """Notifies a rank. `value` is not 0. What this thread has written to the rank before is there when it takes the notification. Where the rank has
    not taken the last 4096, the calling task completes when there is room; outside of tasks it blocks."""

def rma_write_notify(
    array: Any, rank: int, segment: Segment | int, offset: int = 0, *, id: int, value: int = 1
) -> None:
    """Writes as `write`, and notifies as `notify`."""

def rma_write_list_notify(parts: Iterable[tuple[Any, int, Segment | int, int]], *, id: int, value: int = 1) -> None:
    """Writes all parts, which are to one rank, and notifies it of the segment of the last one."""

def rma_notify_await(segment: Segment, first: int, count: int, values: Any, source: int | None) -> None: ...
def rma_notify_wait(segment: Segment, id: int, source: int | None = None) -> int:
    """Pauses the task until the notification has come, and returns its value. Outside of a task it blocks. `source`: the rank that sends it, whose
    end is an error, too."""

def rma_notify_wait_any(segment: Segment, first: int, count: int, source: int | None = None) -> tuple[int, int]:
    """The same for the first of `count` notifications from `first` on. Returns its id and its value."""

def rma_notify_test(segment: Segment, id: int) -> int | None:
    """Takes a notification that has come, and returns its value; else None. Never waits."""

def rma_fetch_add(rank: int, segment: Segment | int, offset: int, added: int) -> int:
    """Adds to the signed number of 8 bytes at `offset`, a multiple of 8, and returns what was there. Atomic; additions wrap."""

def rma_compare_swap(rank: int, segment: Segment | int, offset: int, expected: int, wanted: int) -> int:
    """Stores `wanted` there if `expected` is there, and returns what was there. Atomic."""

def set_file_class(file_class: type) -> None: ...
def set_future_class(
    future_class: type, reporter: Callable[[Any, Callable[..., object], BaseException], None]
) -> None: ...
def set_current(runtime: Runtime | None) -> None: ...
def set_default(start: Callable[[], None]) -> None: ...
def open_file(path: str, flags: int, mode: int, direct: str, urgency: str, staged: bool, tier: str) -> OpenFile: ...
def read_file(path: str) -> bytes: ...
def spawn(
    signature: Signature, arguments: tuple[Any, ...], keywords: dict[str, Any], caller: FrameType | None = None
) -> Any: ...
def set_package_folder(folder: str) -> None: ...
def set_worker_process() -> None: ...
def made_at() -> str: ...
def end_as_failed() -> None: ...
def items_of(object: Any) -> list[Any] | None: ...
def container_like(container: Any, items: list[Any]) -> Any: ...
def wait(x: Any, timeout: float | None = None) -> Any: ...
def wait_for_any(futures: Iterable[FutureBase], timeout: float | None = None) -> int | None:
    """Waits until the task of one of these futures has completed, failed or not, and returns its place; None if `timeout` seconds have
    passed first. In a task, the task pauses."""

def select(
    things: Iterable[FutureBase | Lock | Semaphore | tuple[Semaphore, int] | Latch], timeout: float | None = None
) -> int | None:
    """Waits for the first of several things, and returns its place; None if `timeout` seconds have passed first. A future: its task has
    completed, failed or not. A lock: the caller holds it. A semaphore: a unit has been taken; in a pair with a number, so many units. A
    latch: it is open. If several have happened, the first of them. It takes effect alone: no units and no locks of the others are taken. In a
    task, the task pauses. Raises `Stuck` as `Lock.acquire`."""

def wait_readable(file: Any, timeout: float | None = None) -> bool:
    """Pauses the task until `file` (a descriptor, or an object with fileno()) can be read without blocking, for at most `timeout` seconds.
    Returns whether it can. For sockets, pipes and the like; a file on a disk always can. Only in a task."""

def wait_writable(file: Any, timeout: float | None = None) -> bool:
    """As wait_readable, until it can be written."""

def barrier() -> None: ...
def task_types() -> list[tuple[str, str, int, int, int, int]]: ...
def workers() -> int: ...
def running() -> list[tuple[str, list[str]]]: ...
def take_incomplete() -> list[tuple[str, str]]: ...
def interrupt_bodies(exception: type[BaseException]) -> None: ...
def admission_report() -> str: ...
def storage_device(name: str, measured: bool) -> tuple[str, tuple[str, ...], float, bool, bool]:
    """(name, paths, MB/s written or 0, shared, configured) of the device that tasks call by a name or path. measured: measures what is not known, for
    half a second or more. Raises ValueError if there is no such device."""

def rank_of_process() -> tuple[int, int]:
    """Which of how many processes of a program this one is, as MPI's starter or `dovetail launch` says."""

def set_failure_reporter(
    reporter: Callable[[str, str, BaseException, int, bool, float], None],
) -> None: ...
def set_computing_reporter(reporter: Callable[[bool], bool]) -> None: ...
def set_blocking_reporter(reporter: Callable[[str, int, str], None]) -> None: ...
def body_number() -> int: ...
def raise_in_body(number: int, exception: type[BaseException] | None) -> None: ...
def cancelled() -> bool:
    """Whether the calling task was asked to stop: by `Future.cancel`, `Group.cancel` or `Runtime.cancel`. A body that runs long asks from time
    to time, and returns early. False outside of tasks. Never waits."""

def in_task() -> bool:
    """Whether the caller runs in a task, where what waits pauses the task and not its core. Never waits."""

def label() -> str: ...
