"""Ctrl-C ends a wait of the main thread for a notification that does not come."""

import os
import signal
import threading

import dovetail as dt

group = dt.rma.Group.start()
segment = dt.rma.Segment.allocate(group, 8)
threading.Thread(target=lambda: (dt.rma.notify_wait(segment, 1), os.kill(os.getpid(), signal.SIGINT))).start()
try:
    dt.rma.notify(0, segment, 1)
    dt.rma.notify_wait(segment, 0)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    dt.rma.notify(0, segment, 0)  # a task still waits for it
