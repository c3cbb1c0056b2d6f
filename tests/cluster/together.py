"""Bodies that find out which others run at the same time."""

from __future__ import annotations

import fcntl
import os
import time


def note(path: str, seconds: float) -> int:
    """How many run at the same time, this one included."""

    def change(by: int) -> int:
        with open(path, "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            count = int(file.read() or 0) + by
            file.seek(0)
            file.write(f"{count:4}")
            file.flush()
        return count

    count = change(1)
    time.sleep(seconds)  # so that others would be seen
    change(-1)
    return count


def meet(folder: str, number: int, others: int) -> None:
    """Ends when all have begun."""
    open(os.path.join(folder, str(number)), "w").close()
    while not all(os.path.exists(os.path.join(folder, str(other))) for other in range(others)):
        time.sleep(0.001)
