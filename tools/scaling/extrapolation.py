"""The time of many ranks and steps out of simulations of fewer, where the parts of all ranks are alike.

In a pipeline, each rank more and each step more takes as long as the one before, once the pipeline is full. So the time is linear in both. Simulations
give the two slopes: that of steps from few ranks and many steps, that of ranks from many ranks and few steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """How much is simulated.

    The order in which workers take what is ready changes the time of a simulation by up to a percent, and the more so the more steps it has. So `few_steps`
    are as few as fill the pipeline, and `more_ranks` several times `ranks`: else that percent would count for the slope.
    """

    ranks: int
    steps: int
    more_ranks: int
    few_steps: int

    def seconds(self, simulate: Callable[[int, int], float], ranks: int, steps: int) -> float:
        """Of so many ranks and steps. `simulate` gives the seconds of as many as it is told."""
        near = min(ranks, self.ranks)
        half = max(1, self.steps // 2)
        whole = simulate(near, self.steps)
        by_step = (whole - simulate(near, half)) / (self.steps - half)
        by_rank = 0.0
        if ranks > near:
            far = min(ranks, self.more_ranks)
            by_rank = (simulate(far, self.few_steps) - simulate(near, self.few_steps)) / (far - near)
        return whole + (ranks - near) * by_rank + (steps - self.steps) * by_step
