"""What starts an agent in each worker process, and tells it what Dask does not want any more."""

from __future__ import annotations

import os
import uuid
from typing import Any

from distributed import WorkerPlugin

from . import agent
from .message import PREFIX, PRESENCE

NAME = "dovetail"
# Numbers of processes alone are the same in many containers.
_PROCESS = uuid.uuid4().hex


class NodePlugin(WorkerPlugin):  # type: ignore[misc]
    """Registered by each driver; the first one counts."""

    idempotent = True
    name = NAME

    def __init__(self) -> None:
        self.driver = (_PROCESS, os.getpid())

    def setup(self, worker: Any) -> None:
        if self.driver == (_PROCESS, os.getpid()) and agent.find() is None and worker.nanny is None:
            raise RuntimeError(
                "a worker of this cluster runs in the program's own process, where Dovetail has a runtime already: "
                "use LocalCluster(processes=True)"
            )
        agent.start(worker)

    def teardown(self, worker: Any) -> None:
        agent.stop()

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        if not isinstance(key, str) or not key.startswith(PREFIX):
            return
        there = agent.find()
        if there is None:
            return
        if key.startswith(PRESENCE):
            if start == "memory":
                there.forget(key.removeprefix(PRESENCE))
        elif start in ("executing", "long-running") and finish not in ("memory", "error", "long-running"):
            there.cancel(key)
