"""Modules of PyCOMPSs beside its interface whose names programs import: pickled objects, loggers, the interactive mode, the object tracker."""

from __future__ import annotations

import logging
import pickle
import sys
from types import ModuleType
from typing import Any

import cloudpickle

from .api import compss_barrier
from .tracking import tracker


def serialize_to_file(value: Any, file_name: str, logger: Any = None) -> None:
    """Pickles an object into a file, functions and classes of the program as well."""
    with open(file_name, "wb") as file:
        cloudpickle.dump(value, file)


def deserialize_from_file(file_name: str, logger: Any = None) -> Any:
    """What `serialize_to_file` has written. Only for files that the program trusts: unpickling runs code."""
    with open(file_name, "rb") as file:
        return pickle.load(file)


def serialize_to_bytes(value: Any, logger: Any = None) -> bytes:
    """An object, pickled."""
    return bytes(cloudpickle.dumps(value))


def deserialize_from_bytes(content: bytes, logger: Any = None) -> Any:
    """What `serialize_to_bytes` has made."""
    return pickle.loads(content)


def create_logger() -> logging.Logger:
    """A logger that writes to standard error."""
    logger = logging.getLogger("pycompss")
    if not logger.handlers:
        logger.addHandler(logging.StreamHandler(sys.stderr))
    return logger


def start(*_: Any, **__: Any) -> None:
    """The runtime starts by itself."""


def stop(*_: Any, **__: Any) -> None:
    """Waits for all tasks."""
    compss_barrier()


class ObjectTracker:
    """Which objects tasks have still to change."""

    @property
    def pending_to_synchronize(self) -> dict[str, Any]:
        """These objects, by their identifiers."""
        return {str(number): value for number, value in tracker.pending().items()}

    def get_object_id(self, value: Any) -> str:
        """The identifier of such an object; of any other, an empty text."""
        number = id(value)
        return str(number) if number in tracker.pending() else ""


# Which module of pycompss has which names. The names of packages lead to more modules.
MODULES: dict[str, dict[str, Any] | ModuleType | None] = {
    "util": None,
    "util.serialization": None,
    "util.serialization.serializer": {
        function.__name__: function
        for function in (serialize_to_file, deserialize_from_file, serialize_to_bytes, deserialize_from_bytes)
    },
    "tests": None,
    "tests.outlog": {"create_logger": create_logger},
    "runtime.management.object_tracker": {"OT": ObjectTracker()},
    "interactive": {"start": start, "stop": stop},
}
