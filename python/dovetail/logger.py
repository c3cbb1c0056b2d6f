"""The logger `dovetail` of the module `logging`: what goes wrong on its own, where no call can raise it."""

from __future__ import annotations

import logging

logger = logging.getLogger("dovetail")
"""Levels and messages: docs/python_futures.md."""
