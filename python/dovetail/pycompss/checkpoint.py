"""Checkpoints: what each task has made is stored, and a later run of the program takes it from there.

Tasks are told apart by the order in which the program makes them. A later run that makes the same calls, by their names and the numbers and
texts among their arguments, does not perform those that are stored: their results, and the objects and files that they changed, become what
they were then. From the first call on that differs, tasks are performed.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cloudpickle

from ..updating import update
from .parameter import Parameter
from .tracking import at_end, warn

# What a task changes: the argument as the body has it, and its parameter.
Changed = Mapping[str, tuple[Any, Parameter]]
_CALL, _VALUES = "call.json", "values"
_RECORD = re.compile(r"\d{8}(\.new)?")


class Store:
    """The checkpoints of a program, in a folder: one folder in it for each task. The program's main thread makes records; any thread uses them."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError if the folder cannot be used."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder.absolute()
        self._number = 0
        self._taken = 0
        self._told: set[str] = set()
        self._lock = threading.Lock()
        for left in self._records():
            if left.suffix:  # of a run that was ended in the middle
                shutil.rmtree(left)

    def _records(self) -> list[Path]:
        """What is ours in the folder."""
        return [path for path in self._folder.iterdir() if _RECORD.fullmatch(path.name)]

    def record(self, name: str, arguments: Mapping[str, Any]) -> Record:
        """Of the next task that the program makes."""
        self._number += 1
        place = self._folder / f"{self._number:08}"
        call = {"task": name, "arguments": _constants(arguments)}
        record = Record(self, place, call)
        stored = record.read_call()
        if stored is not None and stored != call:
            warn(
                f"checkpoints in {self._folder}: call {self._number} is {_shown(call)}, and was {_shown(stored)}: from here on tasks are performed"
            )
            for later in self._records():
                if later.name >= place.name:
                    shutil.rmtree(later)
        return record

    def note_taken(self) -> None:
        """A task was not performed."""
        with self._lock:
            self._taken += 1

    def tell(self) -> None:
        """Says how many tasks were not performed."""
        if self._taken:
            warn(f"checkpoints in {self._folder}: {self._taken} of {self._number} tasks were taken from there")

    def tell_once(self, name: str, text: str) -> None:
        with self._lock:
            new = name not in self._told
            self._told.add(name)
        if new:
            warn(text)


class Record:
    """What one task has made, or is to make."""

    def __init__(self, store: Store, place: Path, call: dict[str, Any]) -> None:
        self._store = store
        self._place = place
        self._call = call

    def read_call(self) -> Any:
        """The call that is stored here, or None."""
        try:
            return json.loads((self._place / _CALL).read_text())
        except FileNotFoundError:
            return None

    def put_back(self, changed: Changed) -> tuple[Any] | None:
        """Makes what the task changes as it was when it had ended, and returns its result; None if it is not stored.

        Raises TypeError for an object that cannot be changed so.
        """
        try:
            content = (self._place / _VALUES).read_bytes()
        except FileNotFoundError:
            return None
        result, values = pickle.loads(content)
        for name, (value, parameter) in changed.items():
            if parameter.is_path:
                for number, path in enumerate(map(Path, _paths(value))):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    _copy(self._place / f"{name}.{number}", path)
            elif _made_equal(value, values[name]) is not value:
                raise TypeError(
                    f"task '{self._call['task']}': its '{name}', a value of type '{type(value).__name__}', cannot be made what it was at the checkpoint "
                    f"{self._place}. Remove that folder and those behind it"
                )
        self._store.note_taken()
        return (result,)

    def store(self, result: Any, changed: Changed) -> None:
        """The task has ended. That it cannot be stored is told, and no failure."""
        new = self._place.with_name(self._place.name + ".new")
        name = self._call["task"]
        try:
            values = {key: value for key, (value, parameter) in changed.items() if not parameter.is_path}
            content = _pickled((result, values))
        except Exception as error:
            self._store.tell_once(
                name,
                f"task '{name}' is not stored, and is performed again by a later run: {type(error).__name__}: {error}",
            )
            return
        try:
            new.mkdir()
            for key, (value, parameter) in changed.items():
                if parameter.is_path:
                    for number, path in enumerate(_paths(value)):
                        _copy(Path(path), new / f"{key}.{number}")
            (new / _CALL).write_text(json.dumps(self._call))
            (new / _VALUES).write_bytes(content)
            for stored in (*new.rglob("*"), new):
                _sync(stored)
            if self._place.exists():
                shutil.rmtree(self._place)
            new.rename(self._place)
            _sync(self._place.parent)
        except OSError as error:
            self._store.tell_once(name, f"task '{name}' is not stored: {error}")


def _constants(arguments: Mapping[str, Any]) -> dict[str, str]:
    kinds = (type(None), bool, int, float, complex, str, bytes)
    return {name: repr(value) for name, value in arguments.items() if isinstance(value, kinds)}


def _shown(call: Mapping[str, Any]) -> str:
    return f"{call['task']}({', '.join(f'{name}={value}' for name, value in call['arguments'].items())})"


def _paths(value: Any) -> list[str]:
    """One path, or those of a collection, from the first on."""
    if isinstance(value, list | tuple):
        return [path for item in value for path in _paths(item)]
    return [] if value is None else [os.fspath(value)]


def _copy(source: Path, target: Path) -> None:
    """A file or folder; where there is none, none is there then."""
    if target.is_dir():
        shutil.rmtree(target)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    elif source.exists():
        shutil.copy(source, target)  # with its permissions
    else:
        target.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """What is renamed next is on the disk before."""
    if path.is_symlink():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _pickled(value: Any) -> bytes:
    """Classes of the program by their names, where they can be found again by these."""
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:
        return bytes(cloudpickle.dumps(value))


def _made_equal(value: Any, stored: Any) -> Any:
    """Changes the value in place, and returns what stands for it then."""
    kind, other = type(value), type(stored)
    local = kind is not other and (kind.__module__, kind.__name__) == (other.__module__, other.__name__)
    if local and hasattr(value, "__dict__") and hasattr(stored, "__dict__"):
        # Of a class that a function of the program defines, each run has its own.
        vars(value).clear()
        vars(value).update(vars(stored))
        return value
    return update(value, stored)


class Checkpoints:
    """Of this process."""

    def __init__(self) -> None:
        self.store: Store | None = None

    def keep_in(self, folder: Path) -> None:
        """From now on tasks are stored there, and taken from there. Raises OSError if the folder cannot be used."""
        self.store = Store(folder)
        at_end(self.store.tell)


checkpoints = Checkpoints()
