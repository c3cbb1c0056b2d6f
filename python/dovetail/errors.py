"""The exceptions that a program gets when tasks fail."""

from __future__ import annotations

from . import _core


class TaskFailed(RuntimeError):
    """A task failed, or was cancelled because one that it depends on did. The exception of the user's code is `__cause__`."""

    label: str
    """Of the task."""
    cancelled: bool
    """Whether the task never ran: a predecessor failed, or the program cancelled it."""
    made_at: str
    """The call that made the task that failed first, as in tracebacks: `File "...", line 8, in main`. Empty if that is not known."""

    def __init__(
        self, message: str, label: str = "", cancelled: bool = False, origin: str = "", made_at: str = ""
    ) -> None:
        super().__init__(message)
        self.label = label
        self.cancelled = cancelled
        self.made_at = made_at
        self._origin = origin
        if made_at:
            self.add_note(f"task '{origin or label}' was made by the call at\n  {made_at}")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.args[0], self.label, self.cancelled, self._origin, self.made_at))


class Stuck(RuntimeError):
    """Tasks are left that can never run. The text lists which task waits for what."""


_core.set_failure_classes(TaskFailed, Stuck)
