"""The ledger in Dask's scheduler."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from distributed import SchedulerPlugin

from ..logger import logger
from .devices import GRANT, NEED, need_of
from .ledger import PROTOCOL, Grants, Ledger

NAME = "dovetail-ledger"


class LedgerPlugin(SchedulerPlugin):  # type: ignore[misc]
    """Registered by each driver; the first one counts. All of it is for the scheduler's event loop. A handler that raised would close its stream."""

    idempotent = True
    name = NAME
    protocol = PROTOCOL

    def start(self, scheduler: Any) -> None:
        self._scheduler = scheduler
        self._ledger = Ledger()
        # The name of each worker process by its address, and the other way round.
        self._nodes: dict[str, str] = {}
        self._addresses: dict[str, str] = {}
        self._misunderstood: set[str] = set()  # workers that speak otherwise
        self._timer: asyncio.TimerHandle | None = None
        for address in scheduler.workers:
            self.add_worker(scheduler, address)
        scheduler.stream_handlers[NEED] = self._need

    def add_worker(self, scheduler: Any, worker: str) -> None:
        node = self._nodes[worker] = scheduler.workers[worker].server_id
        self._addresses[node] = worker
        self._ledger.joined(node)

    def remove_worker(self, scheduler: Any, worker: str, **_: Any) -> None:
        node = self._nodes.pop(worker, None)
        if node is None:
            return
        del self._addresses[node]
        self._misunderstood.discard(worker)
        for device, mb_per_second in self._ledger.removed(node):
            logger.warning(
                "node %s has gone: its %g MB/s of device '%s' return when its lease has ended",
                worker,
                mb_per_second,
                device,
            )
        self._tick_later()

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def report(self) -> list[dict[str, Any]]:
        devices = self._ledger.report()
        for device in devices:
            device["nodes"] = {self._addresses[node]: amount for node, amount in device["nodes"].items()}
            device["waiting"] = [self._addresses[node] for node in device["waiting"]]
            device["returning"] = sum(device["returning"].values())
        return devices

    def _need(self, worker: str, node: str, need: list[Any], **_: Any) -> None:
        try:
            self._tell(self._ledger.need(node, need_of(need), time.monotonic()))
        except Exception:
            if worker not in self._misunderstood:  # it says it again and again
                self._misunderstood.add(worker)
                logger.exception(
                    "node %s: what it says of a device is not understood: install the version of Dovetail there that the scheduler has",
                    worker,
                )

    def _tell(self, grants: Grants) -> None:
        for node, grant in grants:
            self._scheduler.worker_send(self._addresses[node], {"op": GRANT, "grant": list(grant)})

    def _tick_later(self) -> None:
        end = self._ledger.next_end()
        if self._timer is None and end is not None:
            self._timer = asyncio.get_running_loop().call_later(max(end - time.monotonic(), 0.0), self._tick)

    def _tick(self) -> None:
        self._timer = None
        try:
            self._tell(self._ledger.tick(time.monotonic()))
        except Exception:
            # A node that was not told asks again.
            logger.exception("the shares of a node that has gone could not be given to the others")
        finally:
            self._tick_later()


def report(dask_scheduler: Any) -> list[dict[str, Any]]:
    """What a driver has Dask call in the scheduler."""
    devices: list[dict[str, Any]] = dask_scheduler.plugins[NAME].report()
    return devices


def protocol(dask_scheduler: Any) -> int | None:
    """What a driver has Dask call in the scheduler: that of the ledger that is kept."""
    return getattr(dask_scheduler.plugins[NAME], "protocol", None)
