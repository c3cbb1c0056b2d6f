"""What a program is told when tasks fail."""

from __future__ import annotations

from . import _core


class TaskFailed(RuntimeError):
    """A task failed, or was cancelled because one that it depends on did. The exception of the user's code is `__cause__`."""

    label: str
    """Of the task."""
    cancelled: bool
    """Whether the task never ran: a predecessor failed, or the program cancelled it."""

    def __init__(self, message: str, label: str = "", cancelled: bool = False) -> None:
        super().__init__(message)
        self.label = label
        self.cancelled = cancelled

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.args[0], self.label, self.cancelled))


class Stuck(RuntimeError):
    """Tasks are left that can never run. The text lists which task waits for what."""


_core.set_failure_classes(TaskFailed, Stuck)
