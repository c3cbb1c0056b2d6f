"""`adaptive` on a device that nodes share: how many of its tasks run at once in the whole cluster. Pure, as `ledger` is, which asks it.

The law is that of one machine (docs/design/admission.md), for what nodes tell of their tasks: sums, late, and by the level that they knew. A task that
ran among n others for t seconds had t / n of the device's time. The rate of a level is the work of its tasks by the device's time that they had.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

FIRST = 4
"""The level before anything is known."""
_MOST = 1024
# Levels within this of the best count as equal; the one with the fewest tasks is taken.
_TIE = 0.01
# More than this share of the gain that more tasks could bring means that the device is not yet busy.
_RISING = 0.8
# Standard error that the mean of a level may have, and how many tasks that is worth at most.
_PRECISION = 0.08
_LEAST_SAMPLES = 3
_MOST_SAMPLES = 64
# A level that is worse by this, and by more than chance explains, needs no more of them.
_CLEARLY_WORSE = 0.15
# The device has changed if a block of tasks at the held level differs by this, and by more than chance explains.
_CHANGED = 0.25
_CHANCE = 3
_FORGET_AFTER = 128
# Between two looks at a neighbour of the held level: so many tasks for each that runs at once, and at least so many.
_BETWEEN_LOOKS = 32
_LEAST_BETWEEN_LOOKS = 192
# How many tasks of a type show how much work one of them is.
_UNIT_SAMPLES = 3
# Of tasks. Programs that make a label for each task share one type for the rest.
_MOST_TYPES = 64


class Ended(NamedTuple):
    """Tasks of one type that began and ended at one level, while others waited. Those that failed are not among them."""

    change: int
    """The level's number."""
    tasks: int
    seconds: float
    """From the begin of each to its end, in all."""
    squares: float
    """Of these, in all."""


@dataclass(slots=True)
class _Measured:
    work: float = 0.0
    device_seconds: float = 0.0
    count: float = 0.0
    steady: bool = False
    """Measured while it was held."""

    @property
    def rate(self) -> float:
        return self.work / self.device_seconds if self.device_seconds > 0 else 0.0

    def add(self, work: float, device_seconds: float, count: float) -> None:
        if self.count > _FORGET_AFTER:
            self.work, self.device_seconds, self.count = self.work / 2, self.device_seconds / 2, self.count / 2
        self.work += work
        self.device_seconds += device_seconds
        self.count += count


@dataclass(slots=True)
class _Unit:
    """Work of one task of a type. 0: not known yet."""

    work: float = 0.0
    expected: float = 0.0
    count: int = 0


class Level:
    """Of one device. Not thread-safe."""

    def __init__(self) -> None:
        self.at_once = FIRST
        self.change = 0
        """How often the level was changed: by this tasks are told apart that began before."""
        self.searches = True
        self._known: dict[int, _Measured] = {}
        self._units: dict[str, _Unit] = {}
        self._to_skip = float(FIRST)  # tasks that filled the level, and ran among fewer or more
        self._scatter = 0.0  # squared relative deviations, and of how many tasks
        self._scattered = 0.0
        self._reference = 0.0  # rate at the level that is held
        self._block = _Measured()
        self._held = 0.0  # tasks since the last look
        self._looks_up = True
        self._looked_at = _Measured()  # what was known of the neighbour that is looked at

    def ended(self, kind: str, ended: Ended) -> None:
        """Of tasks of one type."""
        if ended.change != self.change or ended.tasks <= 0 or not ended.seconds > 0:
            return
        skipped = min(self._to_skip, ended.tasks)
        self._to_skip -= skipped
        part = 1 - skipped / ended.tasks
        unit = self._unit(kind)
        if part <= 0 or unit is None:
            return
        count, device_seconds = part * ended.tasks, part * ended.seconds / self.at_once
        if unit.work == 0:
            self._teach_unit(unit, count, device_seconds)
            return
        here = self._known.setdefault(self.at_once, _Measured())
        if here.rate > 0:
            self._note_scatter(part, ended, self.at_once * unit.work / here.rate)
        elif ended.tasks > 1:
            self._note_scatter(part, ended, ended.seconds / ended.tasks)
        here.add(count * unit.work, device_seconds, count)
        self._block.add(count * unit.work, device_seconds, count)
        self._held += count

    def decide(self, waiting: int) -> None:
        """After what has ended. waiting: tasks of all nodes."""
        if self.searches:
            self._search(waiting)
        elif self._block.count >= max(4, min(self.at_once, 32), self._needed(self.at_once)):
            self._end_block(waiting)

    # What tasks are worth

    def _unit(self, kind: str) -> _Unit | None:
        """None: nothing can be learned from it yet."""
        if kind not in self._units and len(self._units) >= _MOST_TYPES:
            kind = ""
        unit = self._units.get(kind)
        if unit is None:
            # The unit of work is a task of the first type.
            unit = self._units[kind] = _Unit(work=0.0 if self._units else 1.0)
        return unit

    def _teach_unit(self, unit: _Unit, count: float, device_seconds: float) -> None:
        here = self._known.get(self.at_once)
        if here is not None and here.count >= 1:
            unit.expected += here.rate * device_seconds
            unit.count += math.ceil(count)
            if unit.count >= _UNIT_SAMPLES:
                unit.work = unit.expected / unit.count

    def _note_scatter(self, part: float, ended: Ended, expected: float) -> None:
        self._scatter += part * max(0.0, ended.squares / expected**2 - 2 * ended.seconds / expected + ended.tasks)
        self._scattered += part * ended.tasks
        if self._scattered > _FORGET_AFTER:
            self._scatter /= 2
            self._scattered /= 2

    @property
    def _variance(self) -> float:
        return self._scatter / self._scattered if self._scattered > 0 else 0.0

    # Search

    def _needed(self, at_once: int) -> float:
        precise = min(_MOST_SAMPLES, math.ceil(self._variance / _PRECISION**2))
        return max(_LEAST_SAMPLES, min((at_once + 1) // 2, 32), precise) - 1e-6

    def _is_measured(self, at_once: int) -> bool:
        """Precisely, or that it is worse than another one by more than chance explains."""
        there = self._known.get(at_once)
        if there is None or there.count < max(_LEAST_SAMPLES, min(at_once / 2, 32)) - 1e-6:
            return False
        if there.count >= self._needed(at_once):
            return True
        precise = [known for level, known in self._known.items() if known.count >= self._needed(level)]
        best = max(precise, key=lambda known: known.rate, default=None)
        if best is None:
            return False
        by_chance = math.sqrt(self._variance * (1 / there.count + 1 / best.count))
        return there.rate < best.rate * (1 - _CLEARLY_WORSE - 2 * by_chance)

    def _best(self) -> int:
        """The fewest tasks that give as much as any number does; 0: nothing is measured."""
        measured = {at_once: there.rate for at_once, there in self._known.items() if self._is_measured(at_once)}
        most = max(measured.values(), default=0.0)
        return min((at_once for at_once, rate in measured.items() if rate >= most * (1 - _TIE)), default=0)

    def _search(self, waiting: int) -> None:
        if not self._is_measured(self.at_once):
            if waiting == 0 and (best := self._best()):
                self._looked_at = _Measured()
                self._go(best)  # too few tasks: the next ones are to meet a level that is known
            return
        self._compare_look()
        best = self._best()
        following = self._next(best)
        if following == 0:
            self._hold(best)
        elif following > self.at_once and waiting < following - self.at_once:
            self._go(best)  # until there are tasks enough
        else:
            self._go(following)

    def _compare_look(self) -> None:
        """If a neighbour is not what it was, levels that were not measured since are not either."""
        before, self._looked_at = self._looked_at, _Measured()
        here = self._known[self.at_once]
        if before.rate > 0 and abs(here.rate / before.rate - 1) > _CHANGED + _CHANCE * math.sqrt(
            self._variance * (1 / here.count + 1 / before.count)
        ):
            self._known = {at_once: there for at_once, there in self._known.items() if there.steady or there is here}

    def _next(self, at: int) -> int:
        """The level to measure next; 0: the best one is enclosed by levels that are not better."""
        measured = sorted(filter(self._is_measured, self._known))
        lower = max((there for there in measured if there < at), default=0)
        upper = min((there for there in measured if there > at), default=0)
        if len(measured) == 1 and at > 2:
            return at // 2
        resolution = max(1, at // 4)
        if upper:
            above = (at + upper) // 2 if upper - at > resolution else 0
        else:
            above = min(self._above_all(at, measured), _MOST)
        below = (at + lower) // 2 if at - lower > resolution else 0
        return above if above > at else below

    def _above_all(self, at: int, measured: list[int]) -> int:
        base = max((there for there in measured if there <= at * 2 / 3), default=0)
        if base:
            gain = 1 + _RISING * (at / base - 1)
            if self._known[at].rate >= self._known[base].rate * gain:
                return at * 2 if at < 8 else at * 3 // 2
        return at + max(1, at // 4)

    def _go(self, at_once: int) -> None:
        if at_once != self.at_once:
            self.at_once = at_once
            self.change += 1
            self._to_skip = at_once / 2

    # Hold

    def _hold(self, at_once: int) -> None:
        self._go(at_once)
        self.searches = False
        self._reference = self._known[at_once].rate
        self._block = _Measured()

    def _end_block(self, waiting: int) -> None:
        block, self._block = self._block, _Measured()
        here = self._known[self.at_once]
        if not here.steady:
            # The few tasks that chose this level make it look too good.
            self._known[self.at_once] = _Measured(block.work, block.device_seconds, block.count, steady=True)
            self.searches = True
            self._search(waiting)
            return
        ratio = block.rate / self._reference
        by_chance = _CHANCE * math.sqrt(self._variance * (1 / block.count + 1 / here.count))
        if abs(ratio - 1) > max(_CHANGED, by_chance):
            self._known = {self.at_once: block}
            self.searches = True
            self._go(self.at_once * 2 if ratio > 1 and waiting >= self.at_once else max(self.at_once // 2, 1))
            return
        # A slow drift takes the levels along that are not measured meanwhile.
        drift = 1 + (ratio - 1) / 4
        self._reference *= drift
        for at_once, there in self._known.items():
            if at_once != self.at_once:
                there.work *= drift
        if self._held >= max(_LEAST_BETWEEN_LOOKS, _BETWEEN_LOOKS * self.at_once):
            self._look_around(waiting)

    def _look_around(self, waiting: int) -> None:
        step = max(1, self.at_once // 8)
        up = self._looks_up or self.at_once <= step
        self._looks_up = not self._looks_up
        neighbour = self.at_once + step if up else self.at_once - step
        if neighbour <= _MOST and (not up or waiting >= step):
            self._held = 0.0
            self._looked_at = self._known.pop(neighbour, _Measured())
            self.searches = True
            self._go(neighbour)
