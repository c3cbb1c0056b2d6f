"""Where the bodies of tasks run while they do not run on this machine."""

from __future__ import annotations

from typing import Any, Protocol

from . import _core


class Elsewhere(Protocol):
    """A cluster that is in use."""

    def signature_of(self, made: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _core.Signature:
        """For this call of a `Task`. Raises `TypeError` if the call cannot be made there."""


current: Elsewhere | None = None
"""None: they run here."""
