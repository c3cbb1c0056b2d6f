"""`pycompss.api.multinode`: tasks that are told of the machines they have, of which there is one."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any

from ..errors import TaskFailed
from ..tasks import Task
from .command import Call
from .constraint import decorated
from .options import taken
from .task import PyCompssTask

__all__ = ["MultiNode", "multinode"]


def _perform(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], told: dict[str, str]) -> Any:
    """In a process that does nothing else meanwhile: the environment is of the whole process."""
    from . import tracking

    tracking.in_body = True
    before = {name: os.environ.get(name) for name in told}
    os.environ.update(told)
    try:
        return function(*args, **kwargs)
    finally:
        for name, text in before.items():
            if text is None:
                del os.environ[name]
            else:
                os.environ[name] = text


class _Machines:
    """Calls the function in a process of its own, with the variables that PyCOMPSs sets."""

    def __init__(self, task: PyCompssTask, nodes: Any) -> None:
        self.function = task.function
        self.nodes = nodes
        self._task = Task(_perform, label=task.name, process=True)

    def __call__(self, call: Call) -> Any:
        call.refuse_time_out("@multinode")
        count = call.integer(self.nodes, "computing_nodes of @multinode", self.function.__globals__)
        told = {
            "COMPSS_NUM_NODES": str(count),
            "COMPSS_HOSTNAMES": ",".join([socket.gethostname()] * count),
            "COMPSS_NUM_THREADS": str(call.units),
            "OMP_NUM_THREADS": str(call.units),
        }
        future = self._task(self.function, *call.positional(), told)
        try:
            return future.result()
        except TaskFailed as failure:
            raise failure.__cause__ or failure from None


def multinode(**given: Any) -> Callable[[Any], PyCompssTask]:
    """The task gets `COMPSS_NUM_NODES`, `COMPSS_HOSTNAMES`, `COMPSS_NUM_THREADS` and `OMP_NUM_THREADS`. Every node is this machine."""
    options = taken("@multinode", given, (), ("computing_nodes",))

    def decorate(target: Any) -> PyCompssTask:
        task = decorated(target, "multinode")
        changed = [name for name in task.parameter_names if task.changes_object(name)]
        if changed:
            raise TypeError(
                f"@multinode of '{task.name}': '{changed[0]}' is to be changed, and the task runs in a process of its own. Return the value"
            )
        task.change("multinode", program=_Machines(task, options.get("computing_nodes", 1)))
        return task

    return decorate


MultiNode = multinode
