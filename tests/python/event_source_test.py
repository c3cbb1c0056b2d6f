"""Sources of events in Python, and descriptors."""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
import weakref

import dovetail as dt
import pytest


class Mailbox:
    """A library that can only be asked: what a user would write for one."""

    def __init__(self, **options):
        self.lock = threading.Lock()
        self.waiting: list[tuple[dt.Operation, list]] = []
        self.letters: list[object] = []
        self.polls = 0
        self.source = dt.EventSource(self.poll, label="mailbox", **options)

    def poll(self):
        self.polls += 1
        assert not dt.in_task()
        with self.lock:
            while self.waiting and self.letters:
                operation, place = self.waiting.pop(0)
                place.append(self.letters.pop(0))
                operation.complete()

    def expect(self):
        place: list[object] = []
        operation = self.source.expect("a letter")
        with self.lock:
            self.waiting.append((operation, place))
        return operation, place

    def receive(self):
        operation, place = self.expect()
        operation.wait()
        return place[0]

    def send(self, letter):
        with self.lock:
            self.letters.append(letter)


@dt.task
def receive(mailbox):
    return mailbox.receive()


@dt.task(mailbox=dt.UNORDERED)
def receive_unordered(mailbox):
    return mailbox.receive()


def until(condition):
    while not condition():
        time.sleep(0.001)


def test_tasks_wait_for_a_source_and_others_run_meanwhile():
    mailbox = Mailbox()
    futures = [receive_unordered(mailbox) for _ in range(50)]
    assert dt.wait(dt.task(lambda: 7)()) == 7
    until(lambda: mailbox.source.pending == 50)
    for number in range(50):
        mailbox.send(number)
    assert sorted(dt.wait(futures)) == list(range(50))
    assert mailbox.source.pending == 0


def test_nothing_pending_costs_nothing():
    mailbox = Mailbox()
    future = receive_unordered(mailbox)
    until(lambda: mailbox.polls > 3)
    mailbox.send("x")
    assert dt.wait(future) == "x"
    dt.barrier()
    before = mailbox.polls
    for _ in range(20):
        dt.wait(dt.task(time.sleep)(0.001))
    assert mailbox.polls <= before + 1


def test_a_bound_task_completes_with_its_operation():
    mailbox = Mailbox()
    returned = threading.Event()

    @dt.task
    def begin():
        operation, place = mailbox.expect()
        operation.bind()
        returned.set()
        return place

    future = begin()
    returned.wait()
    dt.wait(dt.task(lambda: None)())
    assert not future.done()
    mailbox.send("bound")
    assert dt.wait(future) == ["bound"]


def test_a_limit_of_time():
    mailbox = Mailbox()

    @dt.task
    def try_it():
        operation, place = mailbox.expect()
        results = [operation.wait(timeout=0.001), operation.wait(timeout=0)]
        mailbox.send("late")
        results.append(operation.wait(timeout=3600))
        return results, place

    assert dt.wait(try_it()) == ([False, False, True], ["late"])


def test_failures_arrive_as_they_are():
    source = dt.EventSource(lambda: None)

    @dt.task
    def wait_for(operation):
        try:
            operation.wait()
        except LookupError as error:
            return repr(error)

    operation = source.expect("something")
    future = wait_for(operation)
    operation.fail(LookupError("no such rank"))
    operation.complete()  # too late
    assert dt.wait(future) == "LookupError('no such rank')"
    with pytest.raises(TypeError, match="takes an exception"):
        operation.fail("text")


def test_what_the_function_raises_fails_all_that_is_pending(capfd):
    def broken():
        raise ZeroDivisionError("broken library")

    source = dt.EventSource(broken, label="broken")

    @dt.task
    def wait_here():
        source.expect("something").wait()

    with pytest.raises(dt.TaskFailed) as failure:
        dt.wait(wait_here())
    cause = failure.value.__cause__
    # Either the poll came first, and nothing can be expected, or it failed what was.
    assert isinstance(cause, ZeroDivisionError | RuntimeError) and "broken library" in str(cause)
    with pytest.raises(RuntimeError, match="'broken' has ended: .*broken library"):
        source.expect("more")
    assert "polling service 'broken' ended" in capfd.readouterr().err


def test_an_operation_is_for_one_task_and_for_tasks_only():
    source = dt.EventSource(lambda: None)
    operation = source.expect("something")
    for call in (operation.wait, lambda: operation.wait(timeout=0), operation.bind):
        with pytest.raises(RuntimeError, match="outside of a task"):
            call()

    @dt.task
    def twice():
        operation.bind()
        with pytest.raises(RuntimeError, match="a task waits for something already"):
            operation.wait()

    future = twice()
    until(lambda: not future.wait(timeout=0.01))
    operation.complete()
    dt.wait(future)


def test_a_dropped_operation_fails_and_a_closed_source_takes_no_more():
    source = dt.EventSource(lambda: None)
    assert source.pending == 0
    operation = source.expect("something")
    assert source.pending == 1
    del operation
    assert source.pending == 0
    left = source.expect("left")

    @dt.task
    def wait_for(operation):
        with pytest.raises(RuntimeError, match="ended while this was pending"):
            operation.wait()

    future = wait_for(left)
    source.close()
    dt.wait(future)
    assert source.pending == 0
    with pytest.raises(RuntimeError, match="has been closed"):
        source.expect("more")
    source.close()


def test_a_descriptor_calls_the_function():
    read_end, write_end = os.pipe()
    operations = []

    def poll():
        os.read(read_end, 1)
        operations.pop().complete()

    # By the clock it would be called after an hour.
    source = dt.EventSource(poll, shortest=3600, longest=3600, fileno=read_end)
    operation = source.expect("the bell")
    operations.append(operation)

    @dt.task
    def wait_for(operation):
        operation.wait()
        return "rung"

    future = wait_for(operation)
    os.write(write_end, b"x")
    assert dt.wait(future) == "rung"
    source.close()
    os.close(read_end)
    os.close(write_end)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"shortest": 0}, ValueError),
        ({"shortest": 2, "longest": 1}, ValueError),
        ({"longest": float("nan")}, ValueError),
        ({"fileno": "text"}, TypeError),
    ],
)
def test_what_makes_no_sense_is_refused(options, error):
    with pytest.raises(error):
        dt.EventSource(lambda: None, **options)


def test_a_source_that_nobody_has_is_gone():
    mailbox = Mailbox()
    assert dt.wait([mailbox.send(1), receive(mailbox)])[1] == 1
    gone = weakref.ref(mailbox)
    del mailbox
    dt.barrier()
    until(lambda: gc.collect() >= 0 and gone() is None)


def test_a_source_may_outlive_its_runtime():
    with dt.Runtime(workers=1):
        mailbox = Mailbox()
        mailbox.send("x")
        assert dt.wait(receive(mailbox)) == "x"
        pending = mailbox.source.expect("never")
    with pytest.raises(RuntimeError, match="its runtime has ended"):
        mailbox.source.expect("more")
    pending.complete()
    mailbox.source.close()


def test_descriptors_pause_the_task():
    left, right = socket.socketpair()
    silent, _other = socket.socketpair()
    left.setblocking(False)

    @dt.task
    def read():
        assert dt.wait_readable(silent, timeout=0.001) is False
        assert dt.wait_writable(left) is True
        assert dt.wait_readable(left.fileno()) is True
        return left.recv(10)

    with dt.Runtime(workers=1):
        future = read()
        assert dt.wait(dt.task(lambda: 3)()) == 3, "the only worker is free"
        right.send(b"hello")
        assert dt.wait(future) == b"hello"

    @dt.task
    def closed():
        dt.wait_readable(1 << 20)

    with pytest.raises(dt.TaskFailed) as failure:
        dt.wait(closed())
    assert isinstance(failure.value.__cause__, OSError)
    for call in (dt.wait_readable, dt.wait_writable):
        with pytest.raises(RuntimeError, match="outside of a task"):
            call(left)
        with pytest.raises(TypeError):
            call("text")
    left.close()
    right.close()


def test_an_event_loop_that_awaits_is_told_what_does_not_come(run_program):
    """No thread waits in the runtime, and other tasks run all the time."""
    result = run_program(
        """
import asyncio, os, tempfile

import dovetail as dt

@dt.task(label="receiver")
def receive():
    operation.wait()

@dt.task
def step():
    pass

async def work_until_it_is_told(said):
    while b"task 'receiver' waits for a letter" not in os.pread(said, 1 << 20, 0):
        await step()
    operation.complete()

async def awaited(future):
    await future

async def main():
    kept = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        await asyncio.gather(awaited(receive()), work_until_it_is_told(said.fileno()))
        os.dup2(kept, 2)

with dt.Runtime(workers=2, report_after=0.1):
    source = dt.EventSource(lambda: None, label="mail")
    operation = source.expect("a letter")
    asyncio.run(main())
print("told")
"""
    )
    assert (result.returncode, result.stdout) == (0, "told\n"), result.stderr
