"""What the logger `dovetail` is told of shares of devices that were learned."""

from __future__ import annotations

import logging

from . import _core
from .logger import logger


def tell() -> None:
    """For each type of task with a constraint that is learned: where learning stands. At the end of a runtime."""
    if not logger.isEnabledFor(logging.INFO):
        return
    import json  # takes long

    for device in json.loads(_core.admission_report())["devices"]:
        for kind in device["types"]:
            constraint = kind["constraint"]
            if not constraint.startswith(("auto", "adaptive")):
                continue
            stage = "is still learning" if kind["learning"] else "has learned"
            logger.info(
                "task '%s' with storage_bw=%s on device '%s' %s: %g MB/s each, after %d tasks, of which %d for learning",
                kind["label"],
                constraint,
                kind["device"],
                stage,
                kind["current_mb_per_second"],
                kind["tasks"],
                kind["tasks_learning"],
            )
