"""`pycompss.api.data_transformation`: functions that change an argument before the task gets it."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable
from typing import Any

from .constraint import decorated
from .parameter import Parameter, named
from .task import PyCompssTask
from .tracking import at_end

OBJECT_TO_FILE = 0
FILE_TO_OBJECT = 1
FILE_TO_COLLECTION = 2
COLLECTION_TO_OBJECT = 3
COLLECTION_TO_FILE = 4
OBJECT_TO_DIRECTORY = 5
DIRECTORY_TO_OBJECT = 6
COLLECTION_TO_DIRECTORY = 7

__all__ = [
    "COLLECTION_TO_DIRECTORY",
    "COLLECTION_TO_FILE",
    "COLLECTION_TO_OBJECT",
    "DIRECTORY_TO_OBJECT",
    "FILE_TO_COLLECTION",
    "FILE_TO_OBJECT",
    "OBJECT_TO_DIRECTORY",
    "OBJECT_TO_FILE",
    "DTObject",
    "DataTransformation",
    "data_transformation",
    "dt",
    "dto",
]

# What the function reads, and what it writes: nothing if it returns the new value.
_KINDS: dict[int | None, tuple[str, str]] = {
    None: ("IN", ""),
    OBJECT_TO_FILE: ("IN", "FILE_OUT"),
    FILE_TO_OBJECT: ("FILE_IN", ""),
    FILE_TO_COLLECTION: ("FILE_IN", ""),
    COLLECTION_TO_OBJECT: ("COLLECTION_IN", ""),
    COLLECTION_TO_FILE: ("COLLECTION_IN", "FILE_OUT"),
    OBJECT_TO_DIRECTORY: ("IN", "DIRECTORY_OUT"),
    DIRECTORY_TO_OBJECT: ("DIRECTORY_IN", ""),
    COLLECTION_TO_DIRECTORY: ("COLLECTION_IN", "DIRECTORY_OUT"),
}
_numbers = itertools.count()
_folders: list[tempfile.TemporaryDirectory[str]] = []


class DTObject:
    """A transformation of the argument `target` by `function`, for `@dt` or for one call: `task(data, dt=dto("data", load))`.

    function: gets the argument and `options`, and returns the new one, or writes it to the path that it gets as its second argument. A task performs
    it, unless `is_workflow` is true: then it is called at once, and makes tasks of its own. type: one of the constants of this module. size: how many
    items of what is made of a file the collection has. destination: the path to write.
    """

    def __init__(
        self,
        target: str = "",
        function: Callable[..., Any] | None = None,
        type: int | None = None,  # noqa: A002 (PyCOMPSs' name)
        is_workflow: bool = False,
        size: int | None = None,
        destination: str | None = None,
        **options: Any,
    ) -> None:
        if type not in _KINDS:
            raise ValueError(f"@data_transformation of '{target}': type must be a constant of the module, not {type!r}")
        if type == FILE_TO_COLLECTION and size is None:
            raise TypeError(
                f"@data_transformation of '{target}': FILE_TO_COLLECTION must be given the size of the collection"
            )
        self.target = target
        self.function = function
        self.is_workflow = is_workflow
        self.destination = destination
        self.options = options
        self._reads, self._writes = _KINDS[type]
        self._count = int(size) if type == FILE_TO_COLLECTION and size is not None else 1
        self._task: Callable[..., Any] | None = None

    def __call__(self, task: PyCompssTask, arguments: dict[str, Any]) -> None:
        """Changes the argument of a call."""
        if self.function is None:
            return
        if self.target not in task.parameter_names:
            raise TypeError(f"@data_transformation of '{task.name}': the task has no parameter '{self.target}'")
        if self.target not in arguments:
            raise TypeError(f"@data_transformation of '{task.name}': '{self.target}' must be given by the call")
        value = arguments[self.target]
        perform = self._performing()
        if self._writes:
            arguments[self.target] = path = self.destination or self._new_path()
            perform(value, path)
        else:
            arguments[self.target] = perform(value)

    def _performing(self) -> Callable[..., Any]:
        if self._task is None:
            function, options, count = self.function, self.options, self._count
            assert function is not None
            if self.is_workflow:
                return lambda *values: function(*values, **options)

            # Of as many parameters as the transformation has, by which tasks are ordered.
            def change(value: Any) -> Any:
                made = function(value, **options)
                return made[:count] if count > 1 else made

            def write(value: Any, path: str) -> None:
                function(value, path, **options)

            plain = write if self._writes else change
            plain.__name__ = plain.__qualname__ = getattr(function, "__name__", "transformation")
            directions: dict[str, Parameter] = {"value": named(self._reads)}
            if self._writes:
                directions["path"] = named(self._writes)
            self._task = PyCompssTask(plain, {"returns": 0 if self._writes else self._count, **directions})
        return self._task

    def _new_path(self) -> str:
        if not _folders:
            _folders.append(tempfile.TemporaryDirectory(prefix="dovetail-transformed-"))
            at_end(_folders[0].cleanup)
        return os.path.join(_folders[0].name, f"{self.target}-{next(_numbers)}")


def data_transformation(*positional: Any, **options: Any) -> Callable[[Any], PyCompssTask]:
    """Changes an argument of the task by a function, before each call: `@dt("data", load)`. `@dt()` only allows `dt=` in calls."""
    change = DTObject(*positional, **options)

    def decorate(target: Any) -> PyCompssTask:
        task = decorated(target, "data_transformation")
        task.change("data_transformation", transformations=(change, *task.transformations))
        return task

    return decorate


dt = data_transformation
DataTransformation = data_transformation
dto = DTObject
