"""What every device here says when this machine cannot provide it."""

from __future__ import annotations


class DeviceUnavailable(RuntimeError):
    """The message says why, and what would help."""
