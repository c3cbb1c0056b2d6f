"""`pycompss.api.implement`: other tasks that may be performed in the place of one that cannot run here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .constraint import decorated
from .options import taken
from .task import PyCompssTask, alternatives

__all__ = ["Implement", "implement"]


def implement(**given: Any) -> Callable[[Any], PyCompssTask]:
    """The task does what `method` of `source_class` does: `@implement(source_class="module", method="slow")`.

    A call of that one is performed by the first that can run on this machine: itself, then those that implement it, in their order.
    """
    options = taken("@implement", given, ("source_class", "method"))

    def decorate(target: Any) -> PyCompssTask:
        task = decorated(target, "implement")
        place = str(options["source_class"])
        main = sys.modules["__main__"]
        if place == Path(getattr(main, "__file__", None) or "").stem and place not in sys.modules:
            place = "__main__"  # the program, by the name that its file has
        alternatives.setdefault((place, str(options["method"])), []).append(task)
        return task

    return decorate


Implement = implement
