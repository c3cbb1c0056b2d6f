"""`adaptive` on a device that nodes share: what a node tells of its tasks, from which the ledger finds the level (`level`). Pure, as `lease` is."""

from __future__ import annotations

from collections.abc import Callable

from .lease import Entry, Lease
from .ledger import TUNED, Learned, OfType
from .level import Ended


class TunedType:
    """All tasks of one label on one device. Not thread-safe."""

    def __init__(self, label: str, lease: Lease) -> None:
        self.key = TUNED + label
        self.ready = 0
        """Tasks that wait in this node."""
        self._tasks = 0  # that have entered and are not over
        self._lease = lease
        self._ended: dict[int, Ended] = {}  # by the number of their level; the ledger has not been told

    has_news = False

    @property
    def is_idle(self) -> bool:
        return self._tasks == 0

    def tells(self) -> OfType:
        ended, self._ended = tuple(self._ended.values()), {}
        return OfType(self.key, self.ready, (), ended)

    def told(self, registry: tuple[Learned, ...], others: int) -> None:
        """The level came with it."""

    def proceed(self) -> None:
        """What waits is in the queue of the lease."""

    def enter(self, task: TunedTask) -> None:
        self._lease.types[self.key] = self  # the lease drops it while it is idle
        self._tasks += 1
        self.ready += 1
        self._lease.enter(task)

    def withdraw(self, task: TunedTask) -> bool:
        if not self._lease.withdraw(task):
            return False
        self._tasks -= 1
        self.ready -= 1
        return True

    def leave(self, task: TunedTask) -> None:
        """It is over."""
        self._tasks -= 1
        if not task.failed and task.change == self._lease.change and task.was_contended and self._lease.is_contended:
            seconds = self._lease.now() - task.began
            before = self._ended.get(task.change, Ended(task.change, 0, 0.0, 0.0))
            self._ended[task.change] = Ended(
                task.change, before.tasks + 1, before.seconds + seconds, before.squares + seconds**2
            )
        self._lease.leave(task)

    def began(self, task: TunedTask) -> None:
        self.ready -= 1
        task.change = self._lease.change
        task.was_contended = self._lease.is_contended
        task.began = self._lease.now()

    @property
    def share(self) -> float:
        return 1 / self._lease.at_once


class TunedTask(Entry):
    __slots__ = ("_type", "began", "change", "was_contended")

    def __init__(self, type_of: TunedType, begin: Callable[[], None]) -> None:
        super().__init__(begin)
        self._type = type_of
        self.change = -1
        self.began = 0.0
        self.was_contended = False

    def take(self) -> float:
        return self._type.share

    def has_begun(self) -> None:
        self._type.began(self)
