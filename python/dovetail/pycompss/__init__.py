"""Programs written for PyCOMPSs, run by Dovetail: `dovetail run --pycompss app.py`.

`install` provides the modules `pycompss.api.*` for this process. docs/pycompss.md says what is covered; everything else is an error that
names the decorator or parameter.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec

from . import api, constraint, io, local, on_failure, parameter, task, tracking

_MODULES = {
    "task": task,
    "parameter": parameter,
    "constraint": constraint,
    "IO": io,
    "on_failure": on_failure,
    "api": api,
    "local": local,
    "exceptions": tracking,
}


class _Finder(MetaPathFinder):
    """Says of modules that are not provided that they are not, instead of that PyCOMPSs is not installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.split(".")[0] != "pycompss":
            return None
        last = fullname.rpartition(".")[2]
        what = f"the decorator @{last}" if fullname.startswith("pycompss.api.") else f"the module '{fullname}'"
        covered = ", ".join(f"pycompss.api.{name}" for name in _MODULES)
        raise ModuleNotFoundError(
            f"{what} of PyCOMPSs is not covered by Dovetail (which has {covered}; see docs/pycompss.md)", name=fullname
        )


def install() -> Callable[[], None]:
    """Provides `pycompss` in this process. Returns what waits for all tasks and raises what ended the program, if anything."""
    package = types.ModuleType("pycompss", "PyCOMPSs' programming model, provided by Dovetail.")
    package.__path__ = []
    inner = types.ModuleType("pycompss.api")
    inner.__path__ = []
    package.api = inner  # type: ignore[attr-defined]
    sys.modules["pycompss"] = package
    sys.modules["pycompss.api"] = inner
    for name, module in _MODULES.items():
        setattr(inner, name, module)
        sys.modules[f"pycompss.api.{name}"] = module
    sys.meta_path.insert(0, _Finder())
    return tracking.tracker.finish
