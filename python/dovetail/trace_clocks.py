"""How far the clocks of several machines are apart, from the messages between them.

A message is received after it was sent. So a message from a to b bounds from above how far b's clock is ahead of a's: by the difference of both
times. A message from b to a bounds it from below. All messages together are a system of difference constraints, and shortest paths solve it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeVar

Clock = TypeVar("Clock", bound=Hashable)

# Nanoseconds that are tried first where the clocks do not run at one rate, so that no offset suits all messages.
_LEAST_SLACK = 100.0


@dataclass
class Offset:
    """How much a clock is ahead of the first one, in nanoseconds; the true value is at most `error` away, which is infinite if no messages say
    so. `slack`: so much earlier than it was sent a message may seem to be received, since the clocks drift."""

    ahead: float
    error: float
    slack: float = 0.0


def _shortest(distance: list[list[float]], slack: float) -> list[list[float]] | None:
    """All shortest paths; None if a circle has a negative length, so that there are none."""
    count = len(distance)
    path = [[0.0 if a == b else distance[a][b] + slack for b in range(count)] for a in range(count)]
    for via in range(count):
        for a in range(count):
            for b in range(count):
                path[a][b] = min(path[a][b], path[a][via] + path[via][b])
    return None if any(path[a][a] < 0 for a in range(count)) else path


def offsets_of(
    clocks: list[Clock], least: dict[tuple[Clock, Clock], float], guess: dict[Clock, float]
) -> dict[Clock, Offset]:
    """The offset of each clock to the first. `least[a, b]`: of the messages from a to b, the least difference of b's time of receiving and a's of
    sending. `guess`: each clock's time at one instant, by clocks of the day; it decides where no messages do."""
    distance = [[least.get((a, b), math.inf) for b in clocks] for a in clocks]
    slack = 0.0
    while (path := _shortest(distance, slack)) is None:
        slack = max(_LEAST_SLACK, 2 * slack)
    result: dict[Clock, Offset] = {}
    for number, clock in enumerate(clocks):
        most, fewest = path[0][number], -path[number][0]
        by_day = guess[clock] - guess[clocks[0]]
        if math.isfinite(most) and math.isfinite(fewest):
            # Half of two solutions is a solution: with these, no message is received before it was sent.
            result[clock] = Offset((most + fewest) / 2, (most - fewest) / 2, slack)
        else:
            result[clock] = Offset(min(max(by_day, fewest), most), math.inf, slack)
    return result
