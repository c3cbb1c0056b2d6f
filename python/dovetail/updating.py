"""What a task has made of its arguments elsewhere, brought into the objects that the program holds."""

from __future__ import annotations

import collections
import os
from typing import Any

_CONSTANT = (bool, int, float, complex, str, bytes)


def update(original: Any, new: Any) -> Any:
    """Makes `original` equal to `new`, in place where that is possible, and returns what stands for it then."""
    if type(original) is not type(new):
        return new
    if isinstance(original, list):
        kept = [update(a, b) for a, b in zip(original, new, strict=False)]
        original[:] = kept + new[len(kept) :]
    elif isinstance(original, tuple):
        # It cannot change itself, but what is in it can.
        if len(original) != len(new) or any(update(a, b) is not a for a, b in zip(original, new, strict=True)):
            return new
    elif isinstance(original, dict):
        merged = {key: update(original[key], value) if key in original else value for key, value in new.items()}
        original.clear()
        original.update(merged)
    elif isinstance(original, set):
        original.clear()
        original.update(new)
    elif isinstance(original, collections.deque):
        original.clear()
        original.extend(new)
    elif isinstance(original, bytearray):
        original[:] = new
    elif isinstance(original, os.PathLike):
        return original if original == new else new
    elif hasattr(original, "__array_interface__") and hasattr(original, "shape"):
        if original.shape != new.shape:
            return new
        original[...] = new
    elif hasattr(original, "__dict__") and not callable(original):
        merged = {key: update(vars(original).get(key), value) for key, value in vars(new).items()}
        vars(original).clear()
        vars(original).update(merged)
    else:
        return original if original is new or (isinstance(original, _CONSTANT) and original == new) else new
    return original
