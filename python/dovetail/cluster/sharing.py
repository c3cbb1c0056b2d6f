"""Computing tasks that ask the ledger for a share of a device. They wait for it beside the slots of Dask, and so are counted apart from all others."""

from __future__ import annotations

import collections
import heapq
import itertools
from collections.abc import Iterator

from .call import Job

Place = tuple[str, str]
"""A device, as the tasks call it, and a worker."""


class Sharing:
    """All of it is for the dispatcher's thread."""

    def __init__(self, ahead: int) -> None:
        """ahead: calls that a worker has for each of its slots, of each device."""
        self._ahead = ahead
        self._jobs: dict[str, list[Job]] = {}
        self._under_way: collections.Counter[Place] = collections.Counter()

    def push(self, job: Job) -> None:
        heapq.heappush(self._jobs.setdefault(job.function.options.device or "", []), job)

    def waiting(self) -> int:
        return sum(map(len, self._jobs.values()))

    def under_way(self) -> int:
        return self._under_way.total()

    def take_all(self) -> list[Job]:
        jobs, self._jobs = self._jobs, {}
        return list(itertools.chain(*jobs.values()))

    def turns(self, slots: dict[str, int]) -> Iterator[tuple[list[Job], Place]]:
        """Jobs, of which the first goes to that place, as long as there is room. slots: of the workers that may run them."""
        for device in list(self._jobs):
            # By turns, since Dask takes a worker whose tasks hold no slot for an idle one.
            rooms = [
                (place, worker)
                for worker, count in slots.items()
                for place in range(self._under_way[device, worker], self._ahead * count)
            ]
            for _, worker in sorted(rooms):
                if self._jobs[device]:
                    yield self._jobs[device], (device, worker)
            if not self._jobs[device]:
                del self._jobs[device]

    def count(self, place: Place, by: int) -> None:
        """So many more are under way."""
        self._under_way[place] += by
        if not self._under_way[place]:
            del self._under_way[place]
