"""Ctrl-C ends what the main thread waits for: a notification, another rank, room for a notification."""

import os
import signal
import sys
import threading

import dovetail as dt
import numpy as np

# Of the notifications that one rank has sent and another one has not taken.
MOST_SENT = 10_000
# Numbers: more than all buffers on the way hold.
MOST_MOVED = 4 << 20


def blocks() -> bool:
    """Whether the main thread waits for something that is no lock of Python's."""
    with open(f"/proc/self/task/{os.getpid()}/wchan") as file:
        return "poll" in file.read()


def interrupt_when_it_blocks() -> None:
    """From another thread, once."""

    def wait_and_interrupt() -> None:
        while not blocks():
            os.sched_yield()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=wait_and_interrupt).start()


def wait_for_notification() -> None:
    group = dt.rma.Group.start()
    segment = dt.rma.Segment.allocate(group, 8)
    threading.Thread(target=lambda: (dt.rma.notify_wait(segment, 1), os.kill(os.getpid(), signal.SIGINT))).start()
    try:
        dt.rma.notify(0, segment, 1)
        dt.rma.notify_wait(segment, 0)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        dt.rma.notify(0, segment, 0)  # a task still waits for it


def start() -> None:
    """The second rank never starts a group."""
    if os.environ["PMI_RANK"] == "0":
        interrupt_when_it_blocks()
        try:
            dt.rma.Group.start()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        open(sys.argv[2], "w").close()
    else:
        open(sys.argv[2]).close()


def allocate() -> None:
    """The second rank allocates when the first does no longer. No segment can begin after that."""
    group = dt.rma.Group.start()
    if group.rank == 0:
        interrupt_when_it_blocks()
        try:
            dt.rma.Segment.allocate(group, 8)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    group.barrier()
    if group.rank == 1:
        try:
            dt.rma.Segment.allocate(group, 8)
        except RuntimeError as error:
            if "Rank 0 was interrupted while it began segment 0" not in str(error):
                raise
    group.barrier()


def notify() -> None:
    """The second rank takes nothing until the first has opened the pipe."""
    group = dt.rma.Group.start()
    segment = dt.rma.Segment.allocate(group, 8)
    if group.rank == 0:
        interrupt_when_it_blocks()
        try:
            for _ in range(MOST_SENT):
                dt.rma.notify(1, segment, 0)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        open(sys.argv[2], "w").close()
    else:
        open(sys.argv[2]).close()
    group.barrier()


def wait_until_stopped(process: int) -> None:
    while True:
        with open(f"/proc/{process}/stat") as file:
            if file.read().rpartition(")")[2].split()[0] == "T":
                return
        os.sched_yield()


def move_data() -> None:
    """The second rank, on another node, answers nothing meanwhile."""
    group = dt.rma.Group.start()
    segment = dt.rma.Segment.allocate(group, 8 * MOST_MOVED)
    if group.rank == 1:
        dt.rma.fetch_add(0, segment, 0, os.getpid())
    group.barrier()
    if group.rank == 0:
        other = dt.rma.fetch_add(0, segment, 0, 0)
        wait_until_stopped(other)
        read = np.full(MOST_MOVED, 7)
        interrupted = 0
        for call in (
            lambda: dt.rma.read(read, 1, segment),
            lambda: dt.rma.fetch_add(1, segment, 0, 1),
            lambda: dt.rma.write(np.full(MOST_MOVED, 8), 1, segment),
        ):
            interrupt_when_it_blocks()
            try:
                call()
            except KeyboardInterrupt:
                interrupted += 1
        os.kill(other, signal.SIGCONT)
        group.barrier()
        after = np.zeros(MOST_MOVED, dtype=np.int64)
        dt.rma.read(after, 1, segment)  # behind all that was on its way
        # The addition to the first number may come before the write or after it.
        if interrupted == 3 and (read == 7).all() and after[0] in (8, 9) and (after[1:] == 8).all():
            print("interrupted", flush=True)
    else:
        os.kill(os.getpid(), signal.SIGSTOP)
        group.barrier()
    group.barrier()


{"data": move_data, "wait": wait_for_notification, "start": start, "allocate": allocate, "notify": notify}[
    sys.argv[1]
]()
