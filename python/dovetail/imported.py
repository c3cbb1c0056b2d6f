"""Modules that the program has imported, perhaps."""

from __future__ import annotations

import sys
from typing import Any


def imported(name: str) -> Any:
    """The module, or None. One that another thread is importing now counts as none: no code has objects of it yet."""
    module = sys.modules.get(name)
    return None if getattr(getattr(module, "__spec__", None), "_initializing", False) else module
