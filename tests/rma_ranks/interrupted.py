"""Ctrl-C ends what the main thread waits for: a notification, another rank, room for a notification."""

import os
import signal
import sys
import threading

import dovetail as dt

# Of the notifications that one rank has sent and another one has not taken.
MOST_SENT = 10_000


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


{"wait": wait_for_notification, "start": start, "allocate": allocate, "notify": notify}[sys.argv[1]]()
