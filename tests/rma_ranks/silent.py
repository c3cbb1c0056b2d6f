"""Two ranks on two nodes, whose link is taken away for good: nodes_test.py does that."""

import sys

import dovetail as dt


def tell(what: str) -> None:
    """A line in one write, for both ranks write to one pipe: `print` writes twice where PYTHONUNBUFFERED is set."""
    sys.stdout.write(f"rank {group.rank}: {what}\n")
    sys.stdout.flush()


group = dt.rma.Group.start(silence_timeout=2)
segment = dt.rma.Segment.allocate(group, 8)


@dt.task
def wait() -> None:
    dt.rma.notify_wait(segment, 0, source=1 - group.rank)


waits = wait()
group.barrier()
tell("begins")
try:
    dt.wait(waits)
except dt.TaskFailed as failure:
    tell(f"task 'wait' failed: {failure.__cause__}")
