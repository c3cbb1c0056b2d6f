"""`pycompss.api.on_failure`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .constraint import decorated
from .task import PyCompssTask

__all__ = ["OnFailure", "on_failure"]


def on_failure(*, management: str = "RETRY", returns: Any = None, **defaults: Any) -> Callable[[Any], PyCompssTask]:
    """What becomes of the program when the task fails, and under IGNORE what its outputs are then."""

    def decorate(target: Any) -> PyCompssTask:
        task = decorated(target, "on_failure")
        for name in defaults:
            if name not in task.__wrapped__.__code__.co_varnames:  # type: ignore[attr-defined]
                raise TypeError(f"@on_failure of '{task.name}': the function has no parameter '{name}'")
        task.policy.set_management(management, f"@on_failure of '{task.name}'")
        task.policy.returns = returns
        task.policy.defaults = defaults
        return task

    return decorate


OnFailure = on_failure
