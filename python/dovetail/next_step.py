"""What a program that ends by a failure of a task says in its last line: what to do next."""

from __future__ import annotations

import errno

from .errors import Stuck, TaskCancelled, TaskFailed, TimeLimitExceeded, beginning_of


def next_step(error: BaseException) -> str:
    """One sentence."""
    cause = beginning_of(error)
    name = error.origin if isinstance(error, TaskFailed) else ""
    if isinstance(cause, TimeLimitExceeded):
        return f"give task '{name}' a longer time_limit=, or have it do less in one call"
    if isinstance(cause, OSError) and cause.errno == errno.EBADF:
        return "if the task uses a file of dt.open, wait for it before the file is closed, or its `with` block ends"
    if isinstance(cause, FileNotFoundError | PermissionError | IsADirectoryError | NotADirectoryError):
        return "look at that path: is it there, and may this user open it?"
    if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
        where = f"of {cause.filename!r}" if cause.filename is not None else "that it writes to"
        return f"make room on the file system {where}, or have task '{name}' write to another one (df shows them)"
    if isinstance(cause, OSError) and cause.errno in (errno.EMFILE, errno.ENFILE):
        return f"raise the limit of open files (ulimit -n), or have fewer calls of task '{name}' run at once: limit=2"
    if isinstance(cause, OSError):
        return f"if this may pass, let task '{name}' run again: retries=2, retry_on=OSError, retry_delay=1"
    if isinstance(cause, MemoryError) or type(cause).__name__ == "WorkerProcessDied":
        return f"see whether memory ran out (dmesg); limit=2 lets only two calls of task '{name}' run at once"
    if isinstance(cause, Stuck):
        return "give each of these tasks what it waits for, or cancel it"
    if isinstance(cause, TaskCancelled):
        return "ask future.cancelled() before the result"
    if isinstance(cause, TypeError) and cause.__traceback__ is None:
        return f"mend the call that made task '{name}', or the parameters of its function: they do not fit"
    return (
        f"see where the first traceback above ends: task '{name}' raised {type(cause).__name__} there. If it may, handle it by "
        "`except dt.TaskFailed` where the program waits, or say by retries= or on_failure= what follows from it"
    )
