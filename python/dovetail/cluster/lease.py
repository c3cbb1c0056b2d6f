"""The node's side of the ledger: which of its tasks begin on one device, with what the ledger has granted. Pure, as `ledger` is."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable

from .ledger import ROUNDING, SECONDS, Grant, Need

# While a node uses a device, it tells that it lives so often.
_RENEW = SECONDS / 4
# A message that was not answered in this time is sent again.
_RETRY = SECONDS / 4


class Entry:
    """A task that wants a share of the device."""

    __slots__ = ("begin", "share")

    def __init__(self, share: float, begin: Callable[[], None]) -> None:
        self.share = share
        self.begin = begin


class Lease:
    """What this node may use of one device. Thread-safe. At most one `Need` is under way: the next one waits for an answer.

    clock: seconds. send: gives a `Need` to the ledger, or loses it; it must not wait.
    """

    def __init__(
        self, device: str, name: str, bandwidth: float, clock: Callable[[], float], send: Callable[[Need], None]
    ) -> None:
        self.device = device
        self.name = name
        self.bandwidth = bandwidth
        self._clock = clock
        self._send = send
        self._lock = threading.Lock()
        self._waiting: collections.deque[Entry] = collections.deque()
        self._inside = 0
        self._used = 0.0
        self._amount = 0.0
        self._fair = 1.0
        self._last = Need(device, 0, 0.0, 0.0, 0.0, name, bandwidth)
        self._answered = True
        self._first_sent = self._last_sent = self._valid = -SECONDS
        self._reported = False

    def enter(self, share: float, begin: Callable[[], None]) -> Entry:
        """Calls `begin` once, perhaps at once, when there is room. share: of the device, above 0 and at most 1. `leave` gives it back."""
        entry = Entry(share, begin)
        with self._lock:
            self._waiting.append(entry)
            begun, need = self._proceed(min(self._amount, self._fair))
        self._act(begun, need)
        return entry

    def leave(self, entry: Entry) -> None:
        """A task that has begun is over."""
        with self._lock:
            self._inside -= 1
            self._used = self._used - entry.share if self._inside else 0.0
            begun, need = self._proceed(min(self._amount, self._fair))
        self._act(begun, need)

    def withdraw(self, entry: Entry) -> bool:
        """Whether it had not begun: it never will."""
        with self._lock:
            try:
                self._waiting.remove(entry)
            except ValueError:
                return False
            begun, need = self._proceed(min(self._amount, self._fair))
        self._act(begun, need)
        return True

    def granted(self, grant: Grant) -> None:
        with self._lock:
            if grant.number != self._last.number:
                return
            self._answered = True
            self._reported = False
            self._valid = self._first_sent + SECONDS
            raised = grant.amount > self._amount + ROUNDING
            self._amount = max(self._amount, grant.amount)
            self._fair = grant.fair
            begun, need = self._proceed(self._amount if raised else min(self._amount, self._fair))
        self._act(begun, need)

    def tick(self) -> bool:
        """Sends what is due. Whether there will be more: else it need not be called again before the next `enter`."""
        with self._lock:
            begun, need = self._proceed(min(self._amount, self._fair))
            now = self._clock()
            if need is None and not self._answered and now >= self._last_sent + _RETRY:
                need = self._last
                self._last_sent = now
            goes_on = bool(self._waiting) or self._amount > 0 or not self._answered
        self._act(begun, need)
        return goes_on

    def is_cut_off(self) -> bool:
        """Whether tasks wait that must not begin, since the ledger has not answered in time; true once each time."""
        with self._lock:
            cut_off = bool(self._waiting) and not self._answered and self._clock() >= self._first_sent + SECONDS
            is_news = cut_off and not self._reported
            self._reported = self._reported or cut_off
            return is_news

    @property
    def used(self) -> float:
        return self._used

    def _proceed(self, most: float) -> tuple[list[Entry], Need | None]:
        now = self._clock()
        begun = []
        while now < self._valid and self._waiting and self._used + self._waiting[0].share <= most + ROUNDING:
            entry = self._waiting.popleft()
            self._inside += 1
            self._used += entry.share
            begun.append(entry)
        return begun, self._due(now) if self._answered else None

    def _due(self, now: float) -> Need | None:
        renews = now >= self._first_sent + _RENEW and (self._amount > 0 or bool(self._waiting))
        step, wants = self._asks()
        asks = step > 0 and (step, wants) != (self._last.step, self._last.wants)
        if renews or asks or self._keeps(now) < self._amount - ROUNDING:
            self._amount = self._keeps(now)
            self._last = Need(self.device, self._last.number + 1, self._amount, step, wants, self.name, self.bandwidth)
            self._answered = False
            self._first_sent = self._last_sent = now
            return self._last
        return None

    def _keeps(self, now: float) -> float:
        # What is not used is kept for the next task, for a while, if nobody else waits for it.
        spares = not self._waiting and self._fair >= 1 and (self._inside > 0 or now < self._first_sent + _RENEW)
        return self._amount if spares else min(self._amount, self._used)

    def _asks(self) -> tuple[float, float]:
        wants = self._used
        for entry in self._waiting:
            if wants >= 1:
                break
            wants += entry.share
        return self._waiting[0].share if self._waiting else 0.0, min(wants, 1.0)

    def _act(self, begun: list[Entry], need: Need | None) -> None:
        if need is not None:
            self._send(need)
        for entry in begun:
            entry.begin()
