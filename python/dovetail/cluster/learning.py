"""`auto` on a device that nodes share: one node learns while it has the device alone, and all use what it has found. Pure, as `lease` is.

The *learning node* is the one whose turn it is to have the whole device. Its own runtime learns there as on one machine (docs/admission.md). What
it has found is the registry of section 4.2.3 of the paper, which the ledger tells to all nodes. From then on tasks take shares of the device, as
static ones do: those of the constraint for which the tasks that wait in the cluster take the least time.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import NamedTuple

from .lease import Entry, Lease
from .ledger import ROUNDING, Learned, OfType


class Progress(NamedTuple):
    """Of the runtime of this node with one type of tasks."""

    at_once: int
    """How many of its tasks the present constraint lets run."""
    registry: tuple[Learned, ...]
    """What was found; empty while it learns."""


def choose(registry: tuple[Learned, ...], ready: int) -> float:
    """The share for which `ready` tasks take the least time; a remainder is one more group, and of equal ones the highest counts."""
    ready = max(ready, 1)
    best, least = 1.0, 0.0
    for place, learned in enumerate(registry):
        seconds = -(-ready // learned.at_once) * learned.seconds
        if place == 0 or seconds <= least * (1 + ROUNDING):
            best, least = learned.share, seconds
    return best


class LearnedType:
    """All tasks of one label and constraint on one device. Not thread-safe. progress: asks the runtime of this node."""

    def __init__(self, key: str, lease: Lease, progress: Callable[[], Progress]) -> None:
        self.key = key
        self.registry: tuple[Learned, ...] = ()
        self.ready = 0
        """Tasks that wait in this node."""
        self._tasks = 0  # that have entered and are not over
        self._lease = lease
        self._progress = progress
        self._others = 0  # that wait in other nodes
        self._waiting: collections.deque[Task] = collections.deque()
        self._turn: Entry | None = None  # to have the device alone
        self._was_told = False  # what the cluster knows
        self._is_known = False  # to the ledger: its registry
        self._learns = False
        self._under_way = 0  # that began to learn

    @property
    def has_news(self) -> bool:
        return bool(self.registry) and not self._is_known

    @property
    def is_idle(self) -> bool:
        return self._tasks == 0 and self._turn is None and not self.has_news

    def tells(self) -> OfType:
        return OfType(self.key, self.ready, self.registry)

    def enter(self, task: Task) -> None:
        self._lease.types[self.key] = self  # the lease drops it while it is idle
        self._tasks += 1
        self.ready += 1
        self._waiting.append(task)
        self.proceed()

    def withdraw(self, task: Task) -> bool:
        if task in self._waiting:
            self._waiting.remove(task)
            self._tasks -= 1
            self.ready -= 1
            self.proceed()
            return True
        if task.is_learning or not self._lease.withdraw(task):
            return False
        self._tasks -= 1
        self.ready -= 1
        return True

    def leave(self, task: Task) -> None:
        """It is over."""
        self._tasks -= 1
        if task.is_learning:
            self._under_way -= 1
            self.proceed()
        else:
            self._lease.leave(task)

    def told(self, registry: tuple[Learned, ...], others: int) -> None:
        """By the ledger. others: tasks of this type that wait in other nodes. `proceed` is called next."""
        self.registry = self.registry or registry
        self._others = others
        self._was_told = True
        self._is_known = self._is_known or bool(registry)

    def began(self, task: Task) -> None:
        self.ready -= 1

    @property
    def share(self) -> float:
        return choose(self.registry, self.ready + self._others)

    def proceed(self) -> None:
        if self._learns:
            self._feed()
        elif self.registry:
            if self._turn is not None:
                turn, self._turn = self._turn, None
                self._lease.withdraw(turn)
            while self._waiting:
                self._lease.enter(self._waiting.popleft())
        elif not self._was_told:
            self._lease.tell_news()
        elif self._waiting and self._turn is None:
            self._turn = Entry(self._begin_to_learn, 1.0)
            self._lease.enter(self._turn)
        elif not self._waiting and self._turn is not None:
            turn, self._turn = self._turn, None
            self._lease.withdraw(turn)

    def _begin_to_learn(self) -> None:
        self._learns = True
        self._feed()

    def _feed(self) -> None:
        """No more than an epoch has, so that what comes after the last one waits for its share; none when the lease has ended."""
        progress = self._progress()
        if progress.registry and not self.registry:
            self.registry = progress.registry
            self._lease.tell_news()
        while (
            not self.registry
            and self._waiting
            and self._under_way < max(progress.at_once, 1)
            and self._lease.is_valid()
        ):
            task = self._waiting.popleft()
            task.is_learning = True
            self._under_way += 1
            self.ready -= 1
            task.learn()
        if self._under_way == 0 and self._turn is not None and (self.registry or not self._waiting):
            # It has learned, or has no more tasks: then another node has its turn.
            turn, self._turn = self._turn, None
            self._learns = False
            self._lease.leave(turn)
            self.proceed()


class Task(Entry):
    """learn: begins it in this node's runtime with its constraint. begin: begins it without one, when it has a share."""

    __slots__ = ("_type", "is_learning", "learn")

    def __init__(self, type_of: LearnedType, begin: Callable[[], None], learn: Callable[[], None]) -> None:
        super().__init__(begin)
        self._type = type_of
        self.learn = learn
        self.is_learning = False

    def take(self) -> float:
        return self._type.share

    def has_begun(self) -> None:
        self._type.began(self)
