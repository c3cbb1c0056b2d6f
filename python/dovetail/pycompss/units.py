"""`computing_units`: a task with several holds so many of the workers.

As soon as a task asks for more than one, tasks take their units when they begin. Those that wait for units pause in the order in which they came, so that
a large request is not overtaken. No more of them begin than there are workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .. import _core, runtime


class Units:
    """The workers, as units that tasks take."""

    def __init__(self) -> None:
        self.counted = False
        self._free: _core.Semaphore | None = None
        self._begun: _core.Limit | None = None

    def count(self) -> None:
        """From now on tasks take units."""
        self.counted = True

    def limit(self) -> _core.Limit | None:
        """What keeps tasks from beginning only to wait."""
        if self.counted and self._begun is None:
            self._begun = _core.Limit(runtime.workers())
        return self._begun

    @contextmanager
    def held(self, number: int) -> Iterator[None]:
        """Waits until so many workers are free, and keeps them. 0: takes none."""
        if not self.counted or number == 0:
            yield
            return
        all_of_them = runtime.workers()
        if self._free is None:
            self._free = _core.Semaphore(all_of_them)
        taken = min(number, all_of_them)
        self._free.acquire(units=taken)
        try:
            yield
        finally:
            self._free.release(taken)


units = Units()
