"""`pycompss.api.local`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .api import compss_wait_on

__all__ = ["local"]


def local(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A function of the program that waits for its arguments."""
    if options:
        raise TypeError(f"@local: '{next(iter(options))}' is not covered by Dovetail (see docs/pycompss.md)")
    if function is None:
        return local
    wanted = function

    @functools.wraps(wanted)
    def synchronised(*args: Any, **kwargs: Any) -> Any:
        values = [compss_wait_on(value) for value in args]
        return wanted(*values, **{name: compss_wait_on(value) for name, value in kwargs.items()})

    return synchronised
