"""The node's side of the ledger: which of its tasks begin on one device, with what the ledger has granted. Pure, as `ledger` is."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Protocol

from .ledger import ROUNDING, SECONDS, Grant, Learned, Need, OfType
from .level import FIRST

# While a node uses a device, it tells that it lives so often.
_RENEW = SECONDS / 4
# A message that was not answered in this time is sent again.
_RETRY = SECONDS / 4


class LearnedType(Protocol):
    """See `learning` and `tuning`."""

    ready: int

    @property
    def has_news(self) -> bool:
        """It has found something that the ledger has not confirmed."""

    def tells(self) -> OfType:
        """What the ledger is to know; it gets that once."""

    @property
    def is_idle(self) -> bool:
        """No task needs it, and the ledger has what it has found."""

    def told(self, registry: tuple[Learned, ...], others: int) -> None:
        """What the ledger knows of it."""

    def proceed(self) -> None:
        """Goes on with that."""


class Entry:
    """A task that wants a share of the device. `begin` is called once, when it has it."""

    __slots__ = ("begin", "failed", "share")

    def __init__(self, begin: Callable[[], None], share: float = 0.0) -> None:
        self.begin = begin
        self.share = share
        self.failed = False
        """It is over, and was in vain."""

    def take(self) -> float:
        """The share that it would get now."""
        return self.share

    def has_begun(self) -> None:
        """It has its share, and `begin` is called next."""


class Lease:
    """What this node may use of one device. Not thread-safe. At most one `Need` is under way: the next one waits for an answer.

    clock: seconds. send: gives a `Need` to the ledger, or loses it; it must not wait.
    """

    def __init__(
        self, device: str, name: str, bandwidth: float, clock: Callable[[], float], send: Callable[[Need], None]
    ) -> None:
        self.device = device
        self.name = name
        self.bandwidth = bandwidth
        self.types: dict[str, LearnedType] = {}
        """Those whose share is learned."""
        self.at_once = FIRST
        """Of tasks of `adaptive`, in the whole cluster."""
        self.change = 0
        """The number of that level, by which tasks are told apart that began before."""
        self._has_news = False
        self._clock = clock
        self._send = send
        self._waiting: collections.deque[Entry] = collections.deque()
        self._inside = 0
        self._used = 0.0
        self._amount = 0.0
        self._fair = 1.0
        self._last = Need(device, 0, 0.0, 0.0, 0.0, name, bandwidth)
        self._answered = True
        self._first_sent = self._last_sent = self._valid = -SECONDS
        self._reported = False

    def enter(self, entry: Entry) -> None:
        """Its task may begin, perhaps at once, when there is room for its share, above 0 and at most 1. `leave` gives that back."""
        self._waiting.append(entry)
        self._proceed()

    def leave(self, entry: Entry) -> None:
        """A task that has begun is over."""
        self._inside -= 1
        self._used = self._used - entry.share if self._inside else 0.0
        self._proceed()

    def withdraw(self, entry: Entry) -> bool:
        """Whether it had not begun: it never will."""
        try:
            self._waiting.remove(entry)
        except ValueError:
            return False
        self._proceed()
        return True

    def granted(self, grant: Grant) -> None:
        if grant.number != self._last.number:
            return
        self._answered = True
        self._reported = False
        self._valid = self._first_sent + SECONDS
        raised = grant.amount > self._amount + ROUNDING
        self._amount = max(self._amount, grant.amount)
        self._fair = grant.fair
        self.at_once, self.change = grant.at_once, grant.change
        told = [(self.types[known.type], known) for known in grant.types if known.type in self.types]
        for there, known in told:
            there.told(known.registry, known.ready)
        self._proceed(may_use_all=raised)
        for there, _ in told:
            there.proceed()

    def tell_news(self) -> None:
        """The ledger is to be told what was learned, or asked what is known of the types."""
        self._has_news = True
        self._proceed()

    def tick(self) -> bool:
        """Sends what is due. Whether there will be more: else it need not be called again before the next `enter`."""
        # Programs may make a label for each task.
        for key in [key for key, there in self.types.items() if there.is_idle]:
            del self.types[key]
        self._proceed()
        now = self._clock()
        if not self._answered and now >= self._last_sent + _RETRY:
            self._last_sent = now
            self._send(self._last)
        return bool(self._waiting) or self._amount > 0 or not self._answered

    @property
    def is_contended(self) -> bool:
        """Whether tasks wait, here or elsewhere."""
        return bool(self._waiting) or self._fair < 1

    def now(self) -> float:
        return self._clock()

    def is_valid(self) -> bool:
        """Whether tasks may begin with what was granted."""
        return self._clock() < self._valid

    def stop(self) -> None:
        """The process ends: nothing more begins, and what its tasks do not use goes back."""
        self._waiting.clear()
        if self._amount > self._used or not self._answered or self._last.step > 0:
            self._ask(self._used, 0.0, self._used)

    def is_cut_off(self) -> bool:
        """Whether tasks wait that must not begin, since the ledger has not answered in time; true once each time."""
        waits = bool(self._waiting) or any(there.ready for there in self.types.values())
        cut_off = waits and not self._answered and self._clock() >= self._first_sent + SECONDS
        is_news = cut_off and not self._reported
        self._reported = self._reported or cut_off
        return is_news

    def _proceed(self, may_use_all: bool = False) -> None:
        now = self._clock()
        most = self._amount if may_use_all else min(self._amount, self._fair)
        begun = []
        while self.is_valid() and self._waiting and self._used + (share := self._waiting[0].take()) <= most + ROUNDING:
            entry = self._waiting.popleft()
            entry.share = share
            entry.has_begun()
            self._inside += 1
            self._used += entry.share
            begun.append(entry)
        if self._answered:
            self._ask_if_due(now)
        for entry in begun:
            entry.begin()

    def _ask_if_due(self, now: float) -> None:
        renews = now >= self._first_sent + _RENEW and (self._amount > 0 or bool(self._waiting))
        step, wants = self._asks()
        asks = step > 0 and (step, wants) != (self._last.step, self._last.wants)
        # The ledger is told of withdrawn tasks. Else it would free a share for them, and grant it to a node that does not renew its lease.
        waited = step == 0 and self._last.step > 0 and self._amount < self._last.wants - ROUNDING
        if renews or asks or waited or self._has_news or self._keeps(now) < self._amount - ROUNDING:
            self._ask(self._keeps(now), step, wants)

    def _ask(self, keeps: float, step: float, wants: float) -> None:
        self._amount = keeps
        types = tuple(there.tells() for there in self.types.values() if there.ready or there.has_news)
        self._last = Need(self.device, self._last.number + 1, keeps, step, wants, self.name, self.bandwidth, types)
        self._answered = False
        self._has_news = False
        self._first_sent = self._last_sent = self._clock()
        self._send(self._last)

    def _keeps(self, now: float) -> float:
        # What is not used is kept for the next task, for a while, if no other node waits for it, and the ledger has not given it away.
        spares = not self._waiting and self._fair >= 1 and (self._inside > 0 or now < self._first_sent + _RENEW)
        spares = spares and now < self._valid
        return self._amount if spares else min(self._amount, self._used)

    def _asks(self) -> tuple[float, float]:
        wants = self._used
        for entry in self._waiting:
            if wants >= 1:
                break
            wants += entry.take()
        return self._waiting[0].take() if self._waiting else 0.0, min(wants, 1.0)
