"""What the logger `dovetail` is told of bodies that fail, and of bodies that hold workers while they wait."""

from __future__ import annotations

import logging

from . import _core
from .logger import logger


def _report(label: str, made_at: str, exception: BaseException, attempt: int, again: bool, delay: float) -> None:
    level = logging.WARNING if again else logging.INFO
    if not logger.isEnabledFor(level):
        return
    where = f"; made by the call at {made_at}" if made_at else ""
    kind = type(exception).__name__
    if again:
        later = f"after {delay:g} s" if delay > 0 else "at once"
        logger.log(
            level, "task '%s' runs again %s: attempt %d failed: %s: %s%s", label, later, attempt, kind, exception, where
        )
    else:
        logger.log(level, "task '%s' failed: %s: %s%s", label, kind, exception, where)


def _report_blocking(label: str, percent: int, call: str) -> None:
    logger.warning(
        "task '%s' held a worker while it waited in the operating system (%s), %d %% of its time: make it an I/O task (@dt.io), or split "
        "it into one that waits and one that computes",
        label,
        call,
        percent,
    )


_core.set_failure_reporter(_report)
_core.set_blocking_reporter(_report_blocking)
