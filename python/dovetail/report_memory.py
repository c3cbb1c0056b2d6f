"""How much memory a program has while it runs, for its report: the resident pages of this process, asked for again and again."""

from __future__ import annotations

import resource
import threading
import time
from pathlib import Path

_SECONDS = 0.02  # between two looks, as long as the program is short
_MOST = 1000  # samples that are kept

_OF_PROCESS = Path("/proc/self/statm")


class Memory:
    """`samples`: nanoseconds on the monotonic clock, and bytes. A long program is looked at less often, so that they stay few."""

    def __init__(self) -> None:
        self.samples: list[tuple[int, int]] = []
        self._seconds = _SECONDS

    def follow(self, over: threading.Event) -> None:
        """Until `over` is set; for a thread of its own. Without such figures of the kernel there are no samples."""
        page = resource.getpagesize()
        while True:
            try:
                resident = int(_OF_PROCESS.read_text().split()[1])
            except (OSError, ValueError, IndexError):
                return
            self._keep(time.monotonic_ns(), resident * page)
            if over.wait(self._seconds):
                return

    def _keep(self, now: int, size: int) -> None:
        self.samples.append((now, size))
        if len(self.samples) >= _MOST:
            del self.samples[1::2]
            self._seconds *= 2

    def since(self, begin: int) -> list[tuple[int, int]]:
        """Nanoseconds since then, and bytes; what was before is left out, but for the last."""
        before = [size for now, size in self.samples if now <= begin]
        return [(0, size) for size in before[-1:]] + [(now - begin, size) for now, size in self.samples if now > begin]
