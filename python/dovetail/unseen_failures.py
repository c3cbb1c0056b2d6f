"""Failures that the program has not asked for, as they are told at its end: some of each kind whole, the others by their number."""

from __future__ import annotations

import collections
import sys

from .errors import TaskFailed, beginning_of

# A full disk fails every task that writes to it. What the first ones say, the others would only repeat.
_WHOLE = 2


def _kind(error: BaseException) -> tuple[str, str]:
    """The task and the exception that a failure began with; of the system's errors also which one it is, since another one has another remedy."""
    cause = beginning_of(error)
    name = type(cause).__name__
    if isinstance(cause, OSError) and cause.errno is not None:
        name += f" (errno {cause.errno})"
    return error.label if isinstance(error, TaskFailed) else "", name


class UnseenFailures:
    """Tells them on standard error."""

    def __init__(self, of: str) -> None:
        self._of = of
        self._number: collections.Counter[tuple[str, str]] = collections.Counter()
        self.first: BaseException | None = None

    def tell(self, error: BaseException) -> None:
        """As it would be told if it had been raised."""
        self.first = self.first or error
        kind = _kind(error)
        self._number[kind] += 1
        if self._number[kind] <= _WHOLE:
            print(f"dovetail: at the end of {self._of} nobody had asked for this failure:", file=sys.stderr)
            sys.excepthook(type(error), error, error.__traceback__)

    def tell_how_many_more(self) -> None:
        for (label, name), number in self._number.items():
            if number > _WHOLE:
                more = number - _WHOLE
                times = f"{more} more times" if more > 1 else "once more"
                print(f"dovetail: task '{label}' failed {times} with {name}", file=sys.stderr)
