"""The time of many ranks and steps out of simulations of fewer, where the parts of all ranks are alike.

In a pipeline, each rank more and each step more takes as long as the one before, once the pipeline is full. So the time is linear in both. Three
simulations give it: of the window, of one with fewer ranks, and of one with fewer steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """How much is simulated: `ranks` and `steps`, and what is less by half for the slopes."""

    ranks: int
    steps: int

    def seconds(self, simulate: Callable[[int, int], float], ranks: int, steps: int) -> float:
        """Of so many ranks and steps. `simulate` gives the seconds of as many as it is told."""
        near = min(ranks, self.ranks)
        fewer_steps = max(1, self.steps // 2)
        whole = simulate(near, self.steps)
        by_step = (whole - simulate(near, fewer_steps)) / (self.steps - fewer_steps)
        by_rank = 0.0
        if ranks > near:
            fewer = near // 2
            by_rank = (whole - simulate(fewer, self.steps)) / (near - fewer)
        return whole + (ranks - near) * by_rank + (steps - self.steps) * by_step
