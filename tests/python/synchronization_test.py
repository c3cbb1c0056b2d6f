"""Locks, semaphores, latches and barriers that pause a task, and waiting for the first of several things."""

from __future__ import annotations

import copy
import os
import pickle
import threading

import dovetail as dt
import numpy as np
import pytest


@pytest.fixture
def one_worker():
    """What a task waits for comes from others on the same core, or from outside."""
    with dt.Runtime(workers=1) as runtime:
        yield runtime


@dt.task
def _nothing():
    pass


def let_all_run():
    """On the only worker: what was spawned before has run until it waits."""
    dt.wait(_nothing())


def test_a_lock_held_across_a_read_keeps_a_thousand_tasks_apart(tmp_path):
    (tmp_path / "data").write_bytes(bytes(1 << 16))
    lock = dt.Lock()
    count = 0

    @dt.task
    def add(file):
        nonlocal count
        with lock:
            before = count
            file.pread(np.empty(4096, np.uint8), 4096 * (before % 16))
            dt.wait(_nothing())  # goes on in the same thread, after others have run there
            count = before + 1

    def add_in_thread():
        nonlocal count
        for _ in range(100):
            with lock:
                count += 1

    thread = threading.Thread(target=add_in_thread)
    with dt.Runtime(workers=2), dt.open(tmp_path / "data", direct="automatic") as file:
        thread.start()
        for _ in range(1000):
            add(file)
        dt.barrier()
        thread.join()
    assert count == 1100
    assert not lock.locked()


def test_a_task_that_waits_takes_no_worker(one_worker):
    lock = dt.Lock()

    @dt.task
    def take():
        with lock:
            return threading.get_ident()

    with lock:
        waiting = [take() for _ in range(20)]
        let_all_run()
        assert not any(future.done() for future in waiting)
    assert len(set(dt.wait(waiting))) == 1


def test_those_that_wait_get_it_by_turns(one_worker):
    lock = dt.Lock()
    order = []

    @dt.task
    def take(number):
        with lock:
            order.append(number)

    with lock:
        for number in range(5):
            take(number)
            let_all_run()
    dt.barrier()
    assert order == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", [threading.Lock, dt.Lock])
def test_it_stands_where_a_lock_of_threading_stood(kind):
    lock = kind()
    assert lock.acquire() is True
    assert lock.locked()
    assert lock.acquire(False) is False
    assert lock.acquire(blocking=False) is False
    assert lock.acquire(timeout=0.001) is False
    assert lock.acquire(True, 0.001) is False
    with pytest.raises(ValueError, match="non-blocking"):
        lock.acquire(False, 1)
    with pytest.raises(ValueError):
        lock.acquire(timeout=-2)
    threading.Thread(target=lock.release).start()
    assert lock.acquire(timeout=-1) is True
    lock.release()
    with pytest.raises(RuntimeError, match="release unlocked lock"):
        lock.release()
    with lock as held:
        assert held is True and lock.locked()
    with pytest.raises(LookupError), lock:
        raise LookupError
    assert not lock.locked()
    assert "locked" in repr(lock)


def test_a_timeout_of_none_is_none():
    lock = dt.Lock()
    assert lock.acquire(timeout=None) is True
    with pytest.raises(ValueError):
        lock.acquire(timeout=float("nan"))


def test_a_condition_of_threading_takes_it():
    """Threads wait in it; tasks tell them."""
    condition = threading.Condition(dt.Lock())
    letters, taken = [], []

    def receive():
        with condition:
            condition.wait_for(lambda: letters)
            taken.append(letters.pop())

    @dt.task
    def send(number):
        with condition:
            letters.append(number)
            condition.notify()

    threads = [threading.Thread(target=receive) for _ in range(10)]
    for thread in threads:
        thread.start()
    dt.wait([send(number) for number in range(10)])
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(10))
    with pytest.raises(RuntimeError, match="un-acquired lock"):
        condition.notify()


def test_a_small_request_does_not_overtake_a_large_one(one_worker):
    memory = dt.Semaphore(10)
    order = []

    @dt.task
    def take(units):
        assert memory.acquire(units=units)
        order.append(units)
        memory.release(units)

    assert memory.acquire(units=6)
    take(9)
    let_all_run()
    take(1)
    let_all_run()
    assert order == [] and memory.available == 4
    assert memory.acquire(False) is False, "it overtook one that waits"
    memory.release(6)
    dt.barrier()
    assert order == [9, 1]
    with memory as taken:
        assert taken is True and memory.available == 9
    assert memory.acquire(timeout=0.001, units=11) is False
    assert memory.acquire(True, 0.001) is True
    memory.release(5)
    assert memory.available == 14
    assert repr(memory) == "<dovetail.Semaphore, 14 available>"
    for wrong in (lambda: dt.Semaphore(-1), lambda: memory.acquire(units=-1), lambda: memory.release(-1)):
        with pytest.raises(ValueError, match="units must not be negative, and is -1"):
            wrong()
    assert dt.Semaphore().available == 1


def test_a_latch_opens_once_and_stays_open(one_worker):
    latch = dt.Latch(2)

    @dt.task
    def wait(timeout=None):
        return latch.wait(timeout)

    assert dt.wait(wait(0.001)) is False
    assert latch.wait(timeout=0.001) is False
    waiting = [wait() for _ in range(3)]
    latch.count_down()
    let_all_run()
    assert not latch.try_wait() and not any(future.done() for future in waiting)
    with pytest.raises(ValueError, match="1 steps are left"):
        latch.count_down(2)
    threading.Thread(target=latch.count_down).start()
    assert latch.wait() is True
    assert dt.wait(waiting) == [True] * 3
    assert latch.try_wait() and latch.wait(0)
    with pytest.raises(ValueError):
        latch.count_down()
    latch.count_down(0)
    with pytest.raises(ValueError):
        dt.Latch(-1)


def test_nobody_is_a_phase_ahead_of_a_barrier():
    barrier = dt.Barrier(4)
    arrived = [0] * 10

    def go_through():
        for phase in range(len(arrived)):
            with counting:
                arrived[phase] += 1
            assert barrier.arrive_and_wait() is True
            assert arrived[phase] == 4

    counting = dt.Lock()
    thread = threading.Thread(target=go_through)
    thread.start()
    futures = [dt.task(go_through)(), dt.task(go_through)(), dt.io(go_through)()]
    dt.wait(futures)
    thread.join()


def test_who_comes_late_or_drops_out_is_not_waited_for(one_worker):
    barrier = dt.Barrier(3)
    assert barrier.arrive_and_wait(timeout=0.001) is False
    waiting = [dt.task(barrier.arrive_and_wait)() for _ in range(2)]
    assert dt.wait(waiting) == [True, True]
    barrier.arrive_and_drop()
    barrier.arrive_and_drop()
    barrier.arrive_and_drop()
    for call in (barrier.arrive_and_drop, barrier.arrive_and_wait, lambda: dt.Barrier(0)):
        with pytest.raises(ValueError, match="at least one participant"):
            call()


@pytest.mark.parametrize("in_task", [False, True])
def test_the_first_of_several_takes_effect_alone(in_task):
    """Each kind of thing ends the wait, and takes what it takes; the others stay as they are."""
    for what in range(5):
        gate, latch, lock = dt.Latch(1), dt.Latch(1), dt.Lock()
        one, several = dt.Semaphore(0), dt.Semaphore(2)
        future = dt.task(gate.wait)()
        lock.acquire()
        looked = threading.Event()

        def select(future=future, lock=lock, one=one, several=several, latch=latch, looked=looked):
            things = [future, lock, one, (several, 3), latch]
            assert dt.select(things, timeout=0.001) is None
            assert dt.select(iter(things), timeout=0) is None
            looked.set()
            return dt.select(things)

        happen = [gate.count_down, lock.release, one.release, several.release, latch.count_down][what]
        if in_task:
            # A future in a default is no argument: the task does not wait for it.
            selects = dt.task(lambda select=select: select())()
            looked.wait()
            happen()
            assert dt.wait(selects) == what
        else:
            thread = threading.Thread(target=lambda looked=looked, happen=happen: (looked.wait(), happen()))
            thread.start()
            assert select() == what
            thread.join()
        assert (lock.locked(), one.available, several.available) == (True, 0, 0 if what == 3 else 2)
        if what != 0:
            gate.count_down()
        dt.wait(future)


def test_what_cannot_be_selected_is_refused():
    with pytest.raises(ValueError, match="nothing to wait for"):
        dt.select([])
    semaphore = dt.Semaphore(1)
    for wrong in (1, None, threading.Lock(), dt.Barrier(1), (semaphore,), (semaphore, "x"), (dt.Lock(), 1)):
        with pytest.raises(TypeError, match=r"select\(\) waits for futures, locks"):
            dt.select([wrong])
    with pytest.raises(ValueError, match="units must not be negative"):
        dt.select([(semaphore, -1)])
    assert dt.select([semaphore, semaphore]) == 0


INTERRUPTED = """
import os, signal, threading
import dovetail as dt

gate = dt.Latch(1)
future = dt.task(gate.wait)()
lock, semaphore, latch, barrier = dt.Lock(), dt.Semaphore(0), dt.Latch(1), dt.Barrier(2)
lock.acquire()
waits = {
    "lock": lock.acquire,
    "with": lock.__enter__,
    "limited": lambda: lock.acquire(timeout=3600),
    "semaphore": semaphore.acquire,
    "latch": latch.wait,
    "barrier": barrier.arrive_and_wait,
    "select": lambda: dt.select([lock, semaphore, latch, future]),
}
for name, wait in waits.items():
    try:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        wait()
    except KeyboardInterrupt:
        print(name)
lock.release()
print(lock.acquire(False), semaphore.available, barrier.arrive_and_wait())
gate.count_down()
"""


def test_ctrl_c_ends_the_waits_of_the_main_thread(run_program):
    result = run_program(INTERRUPTED)
    expected = ["lock", "with", "limited", "semaphore", "latch", "barrier", "select", "True 0 True"]
    assert result.stdout.splitlines() == expected, result.stderr
    assert result.returncode == 0


def test_a_task_that_waits_for_ever_is_told(capfd):
    lock, semaphore, latch, barrier = dt.Lock(), dt.Semaphore(0), dt.Latch(1), dt.Barrier(2)
    lock.acquire()
    told = []

    def wait_for(label, wait):
        @dt.task(label=label)
        def body():
            try:
                wait()
            except dt.Stuck:
                told.append(label)

        return body()

    with dt.Runtime(workers=1, stuck_after=0.05):
        wait_for("locker", lock.acquire)
        wait_for("taker", semaphore.acquire)
        wait_for("passer", latch.wait)
        wait_for("arriver", barrier.arrive_and_wait)
        wait_for("chooser", lambda: dt.select([lock, latch]))
        with pytest.raises(dt.Stuck) as stuck:
            dt.barrier()
        dt.barrier()
    for text in (
        "'locker' waits for a Semaphore or Mutex",
        "'taker' waits for a Semaphore or Mutex",
        "'passer' waits for a Latch",
        "'arriver' waits for a Barrier",
        "'chooser' waits for the first of a Semaphore or Mutex, a Latch",
    ):
        assert text in str(stuck.value)
    assert sorted(told) == ["arriver", "chooser", "locker", "passer", "taker"]
    lock.release()
    assert lock.acquire(False), "somebody still stands in line"
    assert "stuck" in capfd.readouterr().err


def test_a_callback_and_a_poll_do_not_wait():
    lock = dt.Lock()
    lock.acquire()
    gate = dt.Latch(1)
    refused = []

    def wait():
        for call in (lock.acquire, lambda: lock.acquire(timeout=3600), dt.Latch(1).wait, dt.Barrier(2).arrive_and_wait):
            try:
                call()
            except RuntimeError as error:
                refused.append(str(error))
        assert lock.acquire(False) is False

    future = dt.task(gate.wait)()
    future.add_done_callback(lambda _: wait())
    gate.count_down()
    dt.wait(future)
    dt.barrier()
    assert len(refused) == 4
    assert all("a callback or an onready would wait for" in text for text in refused)
    refused.clear()

    def poll():
        wait()
        operation.complete()

    source = dt.EventSource(poll)
    operation = source.expect("something")
    dt.wait(dt.task(operation.wait)())
    source.close()
    assert len(refused) == 4


def test_it_is_of_one_process():
    things = [dt.Lock(), dt.Semaphore(1), dt.Latch(1), dt.Barrier(1)]

    @dt.task(process=True)
    def use(thing):
        pass

    for thing in things:
        name = type(thing).__name__
        for make in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=f"a dovetail.{name} is of one process"):
                make(thing)
        with pytest.raises(dt.TaskFailed) as failure:
            dt.wait(use(thing))
        assert isinstance(failure.value.__cause__, TypeError)
        assert f"argument 'thing' (a '{name}')" in str(failure.value.__cause__)

    lock = things[0]

    @dt.task(process=True)
    def use_from_outside():
        with lock:
            pass

    with pytest.raises(dt.TaskFailed, match=r"a dovetail\.Lock is of one process"):
        dt.wait(use_from_outside())


def test_one_that_a_worker_process_made_by_an_import_is_refused(run_program, tmp_path):
    """The process has another lock of that name, which keeps nobody out."""
    (tmp_path / "shared_state.py").write_text("""
import dovetail as dt

lock, semaphore, latch, barrier = dt.Lock(), dt.Semaphore(1), dt.Latch(0), dt.Barrier(1)

def use(name):
    return {
        "acquire": lock.acquire,
        "with": lock.__enter__,
        "semaphore": semaphore.acquire,
        "latch": latch.wait,
        "barrier": barrier.arrive_and_wait,
        "select": lambda: dt.select([latch]),
    }[name]()
""")
    result = run_program(
        """
import dovetail as dt
import shared_state

for name in ("acquire", "with", "semaphore", "latch", "barrier", "select"):
    try:
        dt.wait(dt.task(shared_state.use, process=True)(name))
    except dt.TaskFailed as failure:
        print(name, failure.__cause__)
""",
        PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    )
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["acquire", "with", "semaphore", "latch", "barrier", "select"]
    assert all("is of one process, and the body of a process task runs in another" in line for line in lines), lines


def test_a_file_has_an_urgency(tmp_path):
    for urgency in ("program", "drain", "prefetch"):
        with dt.open(tmp_path / "file", "a", urgency=urgency) as file:
            assert dt.wait(dt.task(file.pwrite)(np.ones(1000), 0)) == 8000
    with pytest.raises(ValueError, match="urgency must be 'program', 'drain' or 'prefetch', not 'idle'"):
        dt.open(tmp_path / "file", urgency="idle")
