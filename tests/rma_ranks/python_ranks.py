"""`dovetail.rma` between real ranks: one worker, so that a call that holds it hangs. With the argument `death`, rank 1 kills itself while the others
wait for it."""

import gc
import os
import signal
import sys
import threading
import traceback
import weakref

import dovetail as dt
import numpy as np
from dovetail import rma

NUMBERS, ROUNDS, VICTIM = 200, 30, 1

group = rma.Group.start(timeout=60)
rank, size = group.rank, group.size
of_program: list[weakref.ref] = []
inboxes: list[rma.Inbox] = []
right, left = (rank + 1) % size, (rank - 1) % size


# Each rank writes to the right one, which says when it has read: figure 8 of the paper.
def halos() -> None:
    halo = rma.Segment.allocate(group, 8 * NUMBERS)
    own, seen = np.zeros(NUMBERS), np.zeros(NUMBERS)

    @dt.task(array=dt.OUT)
    def fill(array, turn):
        array[:] = 1000 * rank + turn

    @dt.task(array=dt.IN)
    def send(array, turn):
        if turn > 0:
            rma.notify_wait(halo, 1, source=right)
        rma.write_notify(array, right, halo, id=0, value=turn + 1)

    @dt.task(array=dt.OUT)
    def receive(array, turn):
        assert rma.notify_wait(halo, 0, left) == turn + 1
        array[:] = halo.array(float)
        if turn + 1 < ROUNDS:
            rma.notify(left, halo, 1)

    @dt.task
    def total(array):
        return float(array.sum())

    totals = []
    for turn in range(ROUNDS):
        fill(own, turn)
        send(own, turn)
        receive(seen, turn)
        totals.append(total(seen))
    assert dt.wait(totals) == [NUMBERS * (1000.0 * left + turn) for turn in range(ROUNDS)]
    group.barrier()


# A task that is bound to notifications completes when they have come, and what it was given lives until then.
def bound() -> None:
    segment = rma.Segment.allocate(group, 64, notifications=20)
    values = np.zeros(3, np.uint32)
    returned = threading.Event()

    @dt.task(into=dt.OUT)
    def bind(into):
        rma.notify_awaitall(segment, 2, 3, into, source=left)
        returned.set()

    @dt.task(into=dt.IN)
    def look(into):
        return into.tolist()

    bind(values)
    looked = look(values)
    returned.wait()
    assert not looked.done()
    group.barrier()
    for id in (4, 2, 3):
        rma.notify(right, segment, id, 10 * id)
    assert dt.wait(looked) == [20, 30, 40]

    alive: list[weakref.ref] = []
    returned.clear()

    @dt.task
    def bind_own():
        own = np.zeros(1, np.uint32)
        alive.append(weakref.ref(own))
        rma.notify_await(segment, 5, own)
        returned.set()

    bound_own = bind_own()
    returned.wait()
    gc.collect()
    assert alive[0]() is not None
    rma.notify(rank, segment, 5)
    dt.wait(bound_own)
    while alive[0]() is not None:
        dt.wait(look(values))  # what the thread that told the task could not drop is dropped by another body
        gc.collect()

    # As an argument, a notification delays the start of a task.
    @dt.task
    def after(value, plus):
        return value + plus

    begun = after(rma.future(segment, 6, source=left), 5)
    rma.notify(right, segment, 6, 7)
    assert dt.wait(begun) == 12

    @dt.task
    async def coroutine():
        futures = [rma.future(segment, id) for id in range(10, 15)]
        rma.notify(right, segment.id, 19)
        return [await one for one in reversed(futures)]

    awaited = coroutine()
    rma.notify_wait(segment, 19)
    for id in range(10, 15):
        rma.notify(right, segment, id, id)
    assert dt.wait(awaited) == [14, 13, 12, 11, 10]
    group.barrier()


def waits() -> None:
    segment = rma.Segment.allocate(group, 0, notifications=40)

    @dt.task
    def some():
        assert rma.notify_test(segment, 1) is None
        assert rma.notify_wait_any(segment, 10, 10) == (14, 114)
        return rma.notify_wait(segment, 20, left)

    @dt.task
    def send():
        rma.notify(right, segment, 14, 114)
        rma.notify(right, segment, 20, np.uint32(2**32 - 1))

    waiting = some()
    send()
    assert dt.wait(waiting) == 2**32 - 1
    # Outside of tasks they block.
    rma.notify(right, segment, 30, 3)
    assert rma.notify_wait(segment, 30) == 3
    rma.notify(right, segment, 31, 4)
    assert rma.notify_wait_any(segment, 30, 5, source=left) == (31, 4)
    group.barrier()
    rma.notify(right, segment, 32, 5)
    group.barrier()
    assert rma.notify_test(segment, 32) == 5

    @dt.task
    def meet():
        group.barrier()
        return rank

    assert dt.wait(meet()) == rank

    # A thread that waits gives the interpreter away.
    thread = threading.Thread(target=lambda: rma.notify_wait(segment, 33))
    thread.start()
    rma.notify(rank, segment, 33)
    thread.join()


def lists() -> None:
    segment = rma.Segment.allocate(group, 128)
    numbers = np.arange(6, dtype="i8") + 10 * rank
    parts = [(numbers[:2], right, segment, 0), (numbers[2:], right, segment.id, 64)]
    rma.write_list_notify(parts, id=0)
    rma.notify_wait(segment, 0)
    own = segment.array("i8")
    assert own[:2].tolist() + own[8:12].tolist() == [10 * left + i for i in range(6)]
    read = np.zeros(6, "i8")
    rma.read_list([(read[:2], right, segment, 0), (read[2:], right, segment, 64)])
    assert (read == numbers).all()
    group.barrier()
    rma.write_list([(bytearray(b"12345678"), right, segment, 120)])
    rma.write(b"abc", right, segment, 8)
    back = bytearray(3)
    rma.read(back, right, segment, offset=8)
    assert back == b"abc"
    group.barrier()
    assert bytes(memoryview(segment)[120:]) == b"12345678"
    large = rma.Segment.allocate(group, 1 << 22)
    rma.write(np.full(1 << 22, rank + 1, "u1"), right, large)
    group.barrier()
    assert (large.array() == left + 1).all()


def counters() -> None:
    segment = rma.Segment.allocate(group, 64)

    @dt.task
    def count():
        return rma.fetch_add(0, segment, 8, -1)

    dt.wait([count() for _ in range(50)])
    group.barrier()
    assert rma.fetch_add(0, segment, 8, 0) == -50 * size
    group.barrier()
    before = rma.compare_swap(0, segment, 8, -50 * size, rank)
    group.barrier()
    assert (rma.fetch_add(0, segment, 8, 0) == rank) == (before == -50 * size)
    group.barrier()


def messages() -> None:
    inbox = rma.Inbox.open(group, 16, 2)
    assert inbox.most_bytes == 16 and inbox.try_receive() is None
    group.barrier()

    @dt.task
    def receive():
        return inbox.receive()

    @dt.task
    def send(number):
        inbox.send(right, number.to_bytes(2, "little"))

    received = [receive() for _ in range(20)]
    dt.wait([send(number) for number in range(20)])
    assert sorted(dt.wait(received)) == [(left, number.to_bytes(2, "little")) for number in range(20)]
    inbox.send(right, np.arange(2.0))
    sender, message = inbox.receive()
    assert sender == left and np.frombuffer(message).tolist() == [0, 1]
    refused(ValueError, "longer than the 16 of this inbox", inbox.send, right, b"12345678901234567")
    refused(ValueError, "none of the group's", inbox.send, size, b"1")
    refused(TypeError, "send needs an array", inbox.send, right, "text")
    refused(ValueError, "at most 4096 bytes", rma.Inbox.open, group, 4097)
    group.barrier()
    inboxes.append(inbox)  # which end with the group


# Arrays of the program's own, which live as long as the group.
def program_memory() -> None:
    array = np.zeros((4, 5))
    segment = rma.Segment.use(group, array, notifications=2)
    assert segment.size == 160 and segment.array().ctypes.data == array.ctypes.data
    rma.write_notify(np.full(5, 1.0 + rank), right, segment, 40, id=1)
    rma.notify_wait(segment, 1, left)
    assert (array[1] == 1 + left).all() and array.sum() == 5 * (1 + left)
    refused(ValueError, "memory of the program's own", rma.fetch_add, right, segment, 0, 1)
    refused(ValueError, "contiguous array that can be written to", rma.Segment.use, group, b"12345678")
    refused(ValueError, "contiguous array that can be written to", rma.Segment.use, group, array[:, 2])
    refused(TypeError, "Segment.use needs an array", rma.Segment.use, group, 8)
    of_program.append(weakref.ref(array))


# Memory of an ended segment is nobody's; an array of it that is in use keeps all ranks from its end.
def ends() -> None:
    of_own = np.full(50, 3.0)
    used = rma.Segment.use(group, of_own)
    segment = rma.Segment.allocate(group, 400)
    number = segment.id
    rma.write_notify(np.full(50, 1.0 + rank), right, segment, id=2)
    rma.write_notify(np.full(50, 5.0), right, used, id=2)
    rma.notify_wait(segment, 2, left)
    array = segment.array(float)
    assert (array == 1 + left).all()
    if rank == 0:
        refused(BufferError, f"Rank 0 cannot end segment {number}: arrays of it are in use", segment.end)
    else:
        del array
        refused(RuntimeError, f"Rank 0 cannot end segment {number}: arrays of it are in use", segment.end)
    array = None
    refused(RuntimeError, "cannot end segment", segment.end, "not yet")
    assert (segment.array(float) == 1 + left).all()
    gc.collect()

    @dt.task
    def wait():
        return rma.notify_wait(segment, 3)

    waiting = wait()
    used.end()
    assert (of_own == 5).all()
    references = sys.getrefcount(of_own)
    segment.end()
    try:
        dt.wait(waiting)
    except dt.TaskFailed as failure:  # it began to wait before or after
        assert any(words in str(failure.__cause__) for words in ("has ended segment", "has been ended")), failure
    else:
        raise AssertionError("a notification of an ended segment came")
    refused(RuntimeError, "this segment has been ended", segment.end)
    refused(RuntimeError, "this segment has been ended", rma.notify, right, segment, 1)
    refused(BufferError, "this segment has been ended", memoryview, segment)
    refused(IndexError, f"has no segment {number}: it has not begun, or has been ended", rma.notify, right, number, 1)
    assert references == 2, "an ended segment keeps the array"
    group.barrier()


# Arrays keep the memory, and the memory keeps the group.
def lifetimes() -> None:
    segment = rma.Segment.allocate(group, 800, notifications=1)
    array = segment.array(float)[10:20]
    address = array.ctypes.data
    array[:] = 1
    del segment
    gc.collect()
    assert array.sum() == 10 and array.ctypes.data == address
    empty = rma.Segment.allocate(group, 0)
    assert empty.array(float).size == 0 and bytes(empty) == b""
    assert rma.Segment.allocate(group, 7).array("u4").size == 1
    try:
        group.end()
    except BufferError as error:
        assert "arrays of its segments are in use" in str(error)
    else:
        raise AssertionError("the group was ended below an array")
    assert group.transport(rank) == "this process"
    between_nodes = os.environ.get("DOVETAIL_TEST_TRANSPORT") if (rank + right) % 2 == 1 else None
    assert size == 1 or group.transport(right).startswith(between_nodes or "shared memory")


def refused(kind, words, call, *arguments, **keywords):
    try:
        call(*arguments, **keywords)
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"accepted, where {words!r} is wrong")


def errors() -> None:
    segment = rma.Segment.allocate(group, 64, notifications=10)
    data = bytearray(8)
    refused(ValueError, "rank 99 is none of the group's", rma.write, data, 99, segment)
    refused(ValueError, "rank -1", rma.write, data, -1, segment)
    refused(IndexError, "has no segment 200", rma.write, data, 0, 200)
    refused(ValueError, "segment is 256; it must be 0 to 255", rma.write, data, 0, 256)
    refused(IndexError, "bytes 60 to 68 are beyond segment", rma.write, data, rank, segment, 60)
    refused(ValueError, "offset is -8", rma.read, data, rank, segment, -8)
    refused(TypeError, "offset must be a whole number, not a value of type 'float'", rma.read, data, rank, segment, 0.5)
    refused(TypeError, "read needs an array", rma.read, 17, rank, segment)
    refused(ValueError, "read needs a contiguous array that can be written to", rma.read, b"12345678", rank, segment)
    refused(ValueError, "write needs a contiguous array", rma.write, np.zeros((4, 4))[:, 1], rank, segment)
    refused(IndexError, "notification 10 is beyond segment", rma.notify, rank, segment, 10)
    refused(ValueError, "the value 0", rma.notify, rank, segment, 1, 0)
    refused(ValueError, "value is 4294967296", rma.notify, rank, segment, 1, 2**32)
    refused(
        ValueError, "it is for one", rma.write_list_notify, [(data, rank, segment, 0), (data, size, segment, 0)], id=1
    )
    refused(ValueError, "at least one part", rma.write_list_notify, [], id=1)
    refused(TypeError, "tuples of array, rank, segment and offset", rma.write_list, [(data, rank)])
    refused(ValueError, "multiple of 8", rma.fetch_add, rank, segment, 4, 1)
    refused(ValueError, f"added is {2**63}", rma.fetch_add, rank, segment, 0, 2**63)
    refused(IndexError, "which has 10", rma.notify_wait_any, segment, 9, 2)
    refused(ValueError, "none of the group's", rma.notify_wait, segment, 1, size)
    refused(RuntimeError, "outside of one", rma.notify_await, segment, 1)
    refused(ValueError, "at most 2^24", rma.Segment.allocate, group, 8, 2**25)
    refused(RuntimeError, "a group already", rma.Group.start)

    @dt.task
    def twice():
        refused(ValueError, "values needs an array of 2 numbers", rma.notify_awaitall, segment, 5, 2, np.zeros(1, "u4"))
        rma.notify_await(segment, 5)
        refused(RuntimeError, "waited for already", rma.notify_wait, segment, 5)
        rma.notify(rank, segment, 5)

    dt.wait(twice())


def death() -> None:
    segment = rma.Segment.allocate(group, 8)
    if rank == VICTIM:
        for other in range(size):
            if other != rank:
                rma.notify_wait(segment, other)
        os.kill(os.getpid(), signal.SIGKILL)

    @dt.task
    def binds():
        rma.notify_await(segment, 50, source=VICTIM)

    @dt.task
    def pauses():
        rma.notify_wait(segment, 51, source=VICTIM)

    failing = [binds(), pauses(), rma.future(segment, 52)]
    rma.notify(VICTIM, segment, rank)
    for one in failing:
        try:
            dt.wait(one)
        except dt.TaskFailed as failure:
            cause = failure.__cause__
            assert isinstance(cause, rma.Error) and cause.rank == VICTIM, repr(cause)
            assert str(cause).startswith("notification 5") and "has died" in str(cause), cause
        else:
            raise AssertionError("a notification came from a dead process")
    refused(rma.Error, "rank 1 (process", rma.notify_wait, segment, 53, VICTIM)
    refused(rma.Error, "nothing can be sent: rank 1", rma.write, b"1", VICTIM, segment)
    os.write(1, b"told\n")  # in one piece


def main() -> None:
    tests = (
        [death]
        if sys.argv[1:] == ["death"]
        else [halos, bound, waits, lists, counters, messages, program_memory, ends, lifetimes, errors]
    )
    with dt.Runtime(workers=1, report_after=20):
        try:
            for test in tests:
                group.barrier()
                test()
            if test is not death:
                group.barrier()
        except BaseException:
            traceback.print_exc()
            os._exit(1)  # or the others would wait for this one, and its runtime for its tasks


main()
gc.collect()
segment = rma.Segment.allocate(group, 8) if not sys.argv[1:] else None
assert not of_program or of_program[0]() is not None
with group:
    pass
assert not of_program or of_program[0]() is None
refused(RuntimeError, "has been ended", group.barrier)
for inbox in inboxes:
    refused(RuntimeError, "has been ended", inbox.try_receive)
if segment is not None:
    refused(RuntimeError, "has been ended", rma.write, b"1", rank, segment)
    refused(BufferError, "has been ended", memoryview, segment)
    refused(RuntimeError, "There is no group", rma.write, b"1", rank, 0)
    # A segment keeps its group, and an array both.
    array = rma.Segment.allocate(rma.Group.start(timeout=60), 8).array("u8")
    gc.collect()
    rma.notify(right, 0, 0)
    rma.write(np.array([rank + 1], "u8"), rank, 0)
    assert array[0] == rank + 1
    segment = array.base.obj if isinstance(array.base, memoryview) else array.base
    rma.notify_wait(segment, 0, source=left)
    del array, segment
    gc.collect()
    refused(RuntimeError, "There is no group", rma.write, b"1", rank, 0)
    os.write(1, b"right\n")
