"""The exceptions that a program gets when tasks fail."""

from __future__ import annotations

import concurrent.futures

from . import _core


class TaskFailed(RuntimeError):
    """A task failed, or was cancelled because one that it depends on did. The exception of the user's code is `__cause__`."""

    label: str
    """Of the task."""
    cancelled: bool
    """Whether the task never ran: a predecessor failed, or the program cancelled it."""
    origin: str
    """Of the task that failed first: this one, or one that it depends on."""
    made_at: str
    """The call that made the task that failed first, as in tracebacks: `File "...", line 8, in main`. Empty if that is not known."""

    def __init__(
        self, message: str, label: str = "", cancelled: bool = False, origin: str = "", made_at: str = ""
    ) -> None:
        super().__init__(message)
        self.label = label
        self.cancelled = cancelled
        self.made_at = made_at
        self.origin = origin or label
        if made_at:
            self.add_note(f"task '{self.origin}' was made by the call at\n  {made_at}")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.args[0], self.label, self.cancelled, self.origin, self.made_at))


class TaskCancelled(TaskFailed, concurrent.futures.CancelledError):
    """A task did not run because the program cancelled it, or one that it depends on. Nothing has failed."""


class TimeLimitExceeded(TimeoutError):
    """A body ran longer than the `time_limit` of its task. It is raised in the body, and becomes the cause of the task's failure."""


class Stuck(RuntimeError):
    """Tasks are left that can never run. The text lists which task waits for what."""


class MpiError(RuntimeError):
    """An operation of MPI failed that is bound to a task. The text names it and says what MPI says. Also called `dovetail.mpi.Error`."""

    code: int
    """As MPI returned it."""
    error_class: int
    """What MPI's `Error_class` says of it."""
    call: str
    """The call of MPI."""
    peer: int
    """The rank of the other side; negative: there is none, or any, or it is not known."""
    tag: int
    """Of the message; negative as above."""

    def __init__(self, message: str, code: int, error_class: int, call: str, peer: int, tag: int) -> None:
        super().__init__(message, code, error_class, call, peer, tag)
        self.code, self.error_class, self.call, self.peer, self.tag = code, error_class, call, peer, tag

    def __str__(self) -> str:
        return str(self.args[0])


class RmaError(RuntimeError):
    """Another process of the group has ended. The text names it, and what does not come or cannot be sent for this reason. Also called
    `dovetail.rma.Error`."""

    rank: int
    """Of the process that has ended."""

    def __init__(self, message: str, rank: int) -> None:
        super().__init__(message, rank)
        self.rank = rank

    def __str__(self) -> str:
        return str(self.args[0])


_core.set_failure_classes(TaskFailed, TaskCancelled, Stuck, MpiError, RmaError)


def beginning_of(error: BaseException) -> BaseException:
    """What the body of the task that failed first raised, or what is nearest to it; of an error that is no failure of a task, itself."""
    while isinstance(error, TaskFailed) and error.__cause__ is not None:
        error = error.__cause__
    return error
