"""`@task(numba=...)`: functions that Numba compiles when the task is called for the first time."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .command import Call

OPTIONS = ("numba", "numba_flags", "numba_signature", "numba_declaration")
_MODES = ("jit", "njit", "vectorize", "guvectorize", "stencil", "cfunc")


def given_by(options: dict[str, Any]) -> dict[str, Any]:
    """Takes the options of Numba out of those of @task. Empty if they do not ask for it."""
    given = {name: options.pop(name) for name in OPTIONS if name in options}
    return given if given.get("numba") else {}


class Compiled:
    """Performs a task by its compiled function. Raises ImportError at the first call where Numba is not installed."""

    def __init__(self, task: str, function: Callable[..., Any], given: dict[str, Any]) -> None:
        mode = given["numba"]
        self.flags = dict(given.get("numba_flags") or {})
        if isinstance(mode, dict):
            self.flags |= mode
        self.mode = "jit" if mode is True or isinstance(mode, dict) else mode
        if self.mode not in _MODES:
            raise ValueError(
                f"@task of '{task}': numba={mode!r} is not covered by Dovetail: there is True, {', '.join(_MODES)}"
            )
        if self.mode in ("vectorize", "guvectorize", "cfunc") and "numba_signature" not in given:
            raise TypeError(f"@task of '{task}': numba={self.mode!r} must be given numba_signature")
        self.signature = given.get("numba_signature")
        self.declaration = given.get("numba_declaration")
        self.task = task
        self.function = function
        self._made: Callable[..., Any] | None = None

    def __call__(self, call: Call) -> Any:
        call.refuse_time_out("numba")
        if self._made is None:
            self._made = self._compile()
        args, kwargs = call.positional()
        return self._made(*args, **kwargs)

    def _compile(self) -> Callable[..., Any]:
        try:
            numba = importlib.import_module("numba")
        except ImportError as error:
            raise ImportError(
                f"task '{self.task}': numba={self.mode!r} needs Numba, which is not installed here"
            ) from error
        make: Any = getattr(numba, self.mode)
        if self.mode == "guvectorize":
            compiled = make(self.signature, self.declaration, **self.flags)(self.function)
        elif self.mode in ("vectorize", "cfunc"):
            compiled = make(self.signature, **self.flags)(self.function)
        else:
            compiled = make(**self.flags)(self.function)
        # One that C can call has the function for Python beside it.
        result: Callable[..., Any] = compiled.ctypes if self.mode == "cfunc" else compiled
        return result


class AlreadyCompiled:
    """Performs a task whose function a decorator of Numba below @task has compiled."""

    def __init__(self, dispatcher: Callable[..., Any]) -> None:
        self.dispatcher = dispatcher

    def __call__(self, call: Call) -> Any:
        call.refuse_time_out("Numba")
        args, kwargs = call.positional()
        return self.dispatcher(*args, **kwargs)
