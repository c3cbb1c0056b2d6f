"""A progress bar over all that a demonstration does."""

from __future__ import annotations

import sys
import time


class Bar:
    """One bar for a list of phases with the seconds that each is expected to take."""

    WIDTH = 36

    def __init__(self, phases: dict[str, float]) -> None:
        self._phases = dict(phases)
        self._done = 0.0
        self._phase = ""
        self._terminal = sys.stderr.isatty()
        self._start = time.monotonic()

    def begin(self, phase: str) -> None:
        self._phase = phase
        if self._terminal:
            self.show(0)
        else:
            print(f"[{self._percent(0):3.0f} %] {phase}", file=sys.stderr, flush=True)

    def _percent(self, share: float) -> float:
        expected = self._phases[self._phase]
        return min(100.0, 100 * (self._done + share * expected) / sum(self._phases.values()))

    def show(self, share: float) -> None:
        """The phase has come so far (0 to 1)."""
        if self._terminal:
            percent = self._percent(share)
            bar = ("#" * round(percent / 100 * self.WIDTH)).ljust(self.WIDTH, ".")
            elapsed = time.monotonic() - self._start
            print(
                f"\r[{bar}] {percent:3.0f} % {elapsed:4.0f} s  {self._phase}\x1b[K", end="", file=sys.stderr, flush=True
            )

    def end(self) -> None:
        self._done += self._phases[self._phase]

    def drop(self, phases: list[str]) -> None:
        """Phases that will not happen after all."""
        for phase in phases:
            self._phases.pop(phase, None)

    def clear(self) -> None:
        """Leave the line to others."""
        if self._terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
