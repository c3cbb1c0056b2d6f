"""`dovetail.mpi`: requests of mpi4py in tasks of Python, under both MPI libraries, without preloading: one worker, so that a call that holds it
hangs.

Called with the name of a library and the program that starts its ranks. Status 77: mpi4py is not there.
"""

import sys

from mpi4py_test import run

PROGRAM = """
import gc
import threading
import traceback
import weakref

import numpy as np

import dovetail as dt

try:
    dt.mpi.iwait(None)
except TypeError as error:
    assert "has not been imported" in str(error), error
else:
    raise AssertionError("a request without mpi4py")

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
after, before = (rank + 1) % size, (rank - 1) % size


@dt.task
def receive_object(tag):
    return dt.mpi.wait(comm.irecv(source=before, tag=tag))


@dt.task
def send_object(tag):
    assert dt.mpi.wait(comm.issend({"from": rank, "tag": tag}, dest=after, tag=tag)) is None


@dt.task
def receive_objects(tags):
    status = [MPI.Status() for _ in tags]
    values = dt.mpi.waitall([comm.irecv(source=MPI.ANY_SOURCE, tag=tag) for tag in tags], status)
    assert [(one.Get_source(), one.Get_tag()) for one in status] == [(before, tag) for tag in tags]
    return values


def objects():
    received = [receive_object(tag) for tag in range(10)]
    sent = [send_object(tag) for tag in reversed(range(10))]
    assert dt.wait(received) == [{"from": before, "tag": tag} for tag in range(10)]
    dt.wait(sent)
    received = receive_objects([5, 6, 7])
    sent = [send_object(tag) for tag in (7, 5, 6)]
    assert dt.wait(received) == [{"from": before, "tag": tag} for tag in (5, 6, 7)]
    dt.wait(sent)


@dt.task(into=dt.OUT)
def receive_array(into, tag):
    request = comm.Irecv(into, source=before, tag=tag)
    dt.mpi.iwait(request)
    assert request == MPI.REQUEST_NULL


@dt.task(array=dt.OUT)
def fill(array, value):
    array[:] = value


@dt.task(array=dt.IN)
def send_array(array, tags):
    requests = [comm.Issend(array, dest=after, tag=tag) for tag in tags]
    dt.mpi.iwaitall(requests, array)


@dt.task
def total(*arrays):
    return float(sum(array.sum() for array in arrays))


def arrays():
    own, one, two = np.zeros(10_000), np.zeros(10_000), np.zeros(10_000)
    results = []
    for turn in range(20):
        receive_array(one, 2 * turn)
        receive_array(two, 2 * turn + 1)
        fill(own, rank + turn)
        send_array(own, [2 * turn + 1, 2 * turn])
        results.append(total(one, two))
    assert dt.wait(results) == [20_000.0 * (before + turn) for turn in range(20)]


# A buffer to which nothing else refers lives until the task has completed, and no longer.
class Kept:
    pass


def lifetimes():
    seen = []
    bound = threading.Event()

    @dt.task
    def receive():
        into, kept = np.zeros(1000), Kept()
        seen.extend([weakref.ref(into), weakref.ref(kept)])
        dt.mpi.iwait(comm.Irecv(into, source=before, tag=50), kept)
        bound.set()

    received = receive()
    bound.wait()
    gc.collect()
    assert seen[0]() is not None and seen[1]() is not None
    comm.Barrier()  # no rank sends before the other has looked
    comm.Send(np.ones(1000), dest=after, tag=50)
    dt.wait(received)
    while seen[0]() is not None or seen[1]() is not None:
        dt.wait(total())  # what the thread that told the task could not drop is dropped by another body
        gc.collect()


@dt.task(into=dt.OUT)
def start(request, into):
    dt.mpi.start(request)
    assert request != MPI.REQUEST_NULL


def persistent():
    own, into = np.zeros(100), np.zeros(100)
    sends = comm.Send_init(own, dest=after, tag=60)
    receives = comm.Recv_init(into, source=before, tag=60)

    @dt.task(array=dt.IN)
    def begin(array):
        dt.mpi.start(sends)

    results = []
    for turn in range(20):
        start(receives, into)
        fill(own, 3 * turn + rank)
        begun = begin(own)
        results.append(total(into))
    assert dt.wait(results) == [100.0 * (3 * turn + before) for turn in range(20)]
    dt.wait(begun)  # MPI has the last message until then
    sends.Free()
    receives.Free()


def coroutines():
    @dt.task
    async def many():
        sent = [dt.mpi.future(comm.isend(tag, dest=after, tag=tag)) for tag in range(70, 80)]
        values = [await dt.mpi.future(comm.irecv(source=before, tag=tag)) for tag in reversed(range(70, 80))]
        for one in sent:
            await one
        return values

    assert dt.wait(many()) == list(reversed(range(70, 80)))


def errors():
    @dt.task
    def send_many(tag):
        dt.mpi.wait(comm.Isend(np.ones(100), dest=after, tag=tag))

    @dt.task
    def bound(tag):
        dt.mpi.iwait(comm.Irecv(np.ones(1), source=before, tag=tag))

    @dt.task
    def waited(tag):
        try:
            dt.mpi.wait(comm.Irecv(np.ones(1), source=before, tag=tag))
        except MPI.Exception as error:
            return error.Get_error_class()

    sent = [send_many(90), send_many(91)]
    failed = bound(90)
    try:
        dt.wait(failed)
    except dt.TaskFailed as failure:
        cause = failure.__cause__
        assert isinstance(cause, dt.mpi.Error) and cause.error_class == MPI.ERR_TRUNCATE, repr(cause)
        assert str(cause).startswith("MPI_Wait: ") and "runcate" in str(cause), cause
        assert cause.call == "MPI_Wait" and cause.code != 0, repr(cause)
    else:
        raise AssertionError("a message that is too long was received")
    assert dt.wait(waited(91)) == MPI.ERR_TRUNCATE
    dt.wait(sent)
    request = comm.Irecv(np.ones(1), source=before, tag=92)
    try:
        dt.mpi.iwait(request)
    except RuntimeError as error:
        assert "outside of one" in str(error), error
    else:
        raise AssertionError("bound to no task")
    assert request != MPI.REQUEST_NULL
    comm.Send(np.ones(1), dest=after, tag=92)
    dt.mpi.wait(request)  # outside of a task it blocks
    assert request == MPI.REQUEST_NULL


def where(status):
    return status.Get_source(), status.Get_tag(), status.Get_count(MPI.DOUBLE)


def is_empty(status):
    return status.Get_source() == MPI.ANY_SOURCE and status.Get_tag() == MPI.ANY_TAG and status.Get_count(MPI.BYTE) == 0


# What is true of a call in a task, and outside of one.
def in_task_and_outside(call):
    dt.wait(dt.task(call)())
    call()


def refuses(error_class, text, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except error_class as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"{text!r} was not said")


def statuses():
    def of_waits():
        sent = [comm.isend("of one", dest=after, tag=200), comm.Isend(np.ones(3), dest=after, tag=201)]
        one = MPI.Status()
        assert dt.mpi.wait(comm.irecv(source=MPI.ANY_SOURCE, tag=200), one) == "of one"
        assert one.Get_source() == before and one.Get_tag() == 200, where(one)
        assert dt.mpi.wait(comm.Irecv(np.zeros(5), source=MPI.ANY_SOURCE, tag=201), one) is None
        assert where(one) == (before, 201, 3), where(one)
        dt.mpi.waitall(sent)
        dt.mpi.wait(MPI.Request(), one)
        assert is_empty(one), where(one)

    in_task_and_outside(of_waits)
    own, into, of_another = np.zeros(5), np.zeros(5), np.zeros(5)
    again = comm.Recv_init(of_another, source=MPI.ANY_SOURCE, tag=203)
    bound = [MPI.Status() for _ in range(3)]

    @dt.task(own=dt.OUT)
    def receive(own):
        dt.mpi.iwait(comm.Irecv(own, source=MPI.ANY_SOURCE, tag=202), status=bound[0])

    @dt.task(into=dt.OUT)
    def receive_two(into):
        again.Start()
        requests = [again, MPI.Request(), comm.Irecv(into, source=MPI.ANY_SOURCE, tag=204)]
        empty = MPI.Status()
        dt.mpi.iwaitall(requests, statuses=[bound[1], empty, bound[2]])
        assert is_empty(empty), where(empty)

    @dt.task(own=dt.IN, into=dt.IN)
    def look(own, into):
        return [where(status) for status in bound]

    receive(own)
    receive_two(into)
    seen = look(own, into)
    for tag in (203, 204, 202):
        comm.Send(np.ones(tag - 200), dest=after, tag=tag)
    assert dt.wait(seen) == [(before, 202, 2), (before, 203, 3), (before, 204, 4)], dt.wait(seen)
    again.Free()

    def wrong():
        request = comm.Irecv(own, source=before, tag=205)
        for given, error_class, text in (([], ValueError, "0 statuses for 1 requests"), (["none"], TypeError, "'none'")):
            refuses(error_class, text, dt.mpi.iwaitall, [request], statuses=given)
        assert request != MPI.REQUEST_NULL, "taken over by a call that was refused"
        dt.mpi.wait(request)

    comm.Send(np.ones(1), dest=after, tag=205)
    dt.wait(dt.task(wrong)())


def one_of_several():
    def choose():
        never = comm.Recv_init(np.zeros(1), before, 103)
        requests = [comm.irecv(source=before, tag=100), MPI.Request(), comm.irecv(source=before, tag=101), never]
        status = MPI.Status()
        chosen = dt.mpi.waitany(requests, status)
        assert chosen == (2, "first"), chosen
        assert (status.Get_source(), status.Get_tag()) == (before, 101)
        assert requests[2] == MPI.REQUEST_NULL and requests[0] != MPI.REQUEST_NULL
        dt.mpi.wait(comm.isend("go on", dest=before, tag=102))
        chosen = dt.mpi.waitany(iter(requests), status)
        assert chosen == (0, "last"), chosen
        assert status.Get_tag() == 100
        # There is none.
        assert dt.mpi.waitany(requests[:3], status) == (MPI.UNDEFINED, None) and is_empty(status)
        assert dt.mpi.waitany(requests) == (MPI.UNDEFINED, None)
        assert dt.mpi.waitany([]) == (MPI.UNDEFINED, None)
        never.Free()

    @dt.task
    def offer():
        dt.mpi.wait(comm.isend("first", dest=after, tag=101))
        assert dt.mpi.wait(comm.irecv(source=after, tag=102)) == "go on"
        dt.mpi.wait(comm.isend("last", dest=after, tag=100))

    # In a task it waits before messages are sent: its worker is the only one.
    chosen, offered = dt.task(choose)(), offer()
    dt.wait(chosen)
    dt.wait(offered)
    offered = offer()
    choose()
    dt.wait(offered)

    def of_persistent():
        into, other = np.zeros(2), np.zeros(2)
        again, never = comm.Recv_init(into, before, 110), comm.Recv_init(other, before, 111)
        assert dt.mpi.waitany([again, never]) == (MPI.UNDEFINED, None)  # none is active
        sent = comm.isend("an object", dest=after, tag=112)
        assert dt.mpi.waitany([never, again, comm.irecv(source=before, tag=112)]) == (2, "an object")
        again.Start()
        array_sent = comm.Isend(np.full(2, float(rank)), dest=after, tag=110)
        assert dt.mpi.waitany([never, again])[0] == 1
        assert list(into) == [before, before], into
        dt.mpi.waitall([sent, array_sent])
        again.Free()
        never.Free()

    in_task_and_outside(of_persistent)

    def wrong():
        refuses(TypeError, "not a request of mpi4py: 7", dt.mpi.waitany, [MPI.Request(), 7])

    in_task_and_outside(wrong)

    # The one that fails is not the first; the other goes on.
    def fails():
        good = comm.irecv(source=before, tag=120)
        try:
            dt.mpi.waitany([good, comm.Irecv(np.ones(1), source=before, tag=121)])
        except MPI.Exception as error:
            assert error.Get_error_class() == MPI.ERR_TRUNCATE, error
        else:
            raise AssertionError("a message that is too long was received")
        assert good != MPI.REQUEST_NULL
        dt.mpi.wait(comm.isend("go on", dest=before, tag=122))
        assert dt.mpi.waitany([good]) == (0, "good")

    @dt.task
    def send_too_long():
        dt.mpi.wait(comm.Isend(np.ones(100), dest=after, tag=121))
        assert dt.mpi.wait(comm.irecv(source=after, tag=122)) == "go on"
        dt.mpi.wait(comm.isend("good", dest=after, tag=120))

    failed, sent = dt.task(fails)(), send_too_long()
    dt.wait(failed)
    dt.wait(sent)


try:
    for test in (objects, arrays, lifetimes, persistent, coroutines, errors, statuses, one_of_several):
        comm.Barrier()
        test()
except BaseException:
    traceback.print_exc()
    comm.Abort(1)  # or the other rank would wait for this one
if rank == 0:
    print("right", flush=True)
"""

if __name__ == "__main__":
    sys.exit(run(PROGRAM, preloads=False))
