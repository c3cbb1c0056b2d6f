"""Two ranks on two nodes, whose link is taken away for good: nodes_test.py does that."""

import dovetail as dt

group = dt.rma.Group.start(silence_timeout=2)
segment = dt.rma.Segment.allocate(group, 8)


@dt.task
def wait() -> None:
    dt.rma.notify_wait(segment, 0, source=1 - group.rank)


waits = wait()
group.barrier()
print(f"rank {group.rank}: begins", flush=True)
try:
    dt.wait(waits)
except dt.TaskFailed as failure:
    print(f"rank {group.rank}: task 'wait' failed: {failure.__cause__}", flush=True)
