"""Programs written for PyCOMPSs, run by Dovetail: `dovetail run --pycompss app.py`.

`install` provides the modules `pycompss.api.*` for this process. docs/pycompss.md says what is covered; everything else is an error that
names the decorator or parameter.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder

from .. import future
from . import (
    api,
    around,
    binary,
    compss,
    constraint,
    container,
    data_transformation,
    dds,
    functions,
    http,
    implement,
    io,
    library,
    local,
    mpi,
    multinode,
    on_failure,
    parameter,
    promised,
    randomness,
    reduction,
    refused,
    software,
    streams,
    task,
    tracking,
)

_MODULES: dict[str, types.ModuleType | dict[str, object]] = {
    "task": task,
    "parameter": parameter,
    "constraint": constraint,
    "IO": io,
    "on_failure": on_failure,
    "api": api,
    "local": local,
    "reduction": reduction,
    "exceptions": tracking,
    "binary": binary,
    "mpi": mpi,
    "mpmd_mpi": mpi,
    "multinode": multinode,
    "compss": compss,
    "http": http,
    "container": container,
    "implement": implement,
    "prolog": around,
    "epilog": around,
    "software": software,
    "data_transformation": data_transformation,
    **refused.MODULES,
}


def _covered(spec: ModuleSpec | None) -> ModuleSpec | None:
    """The module is changed as soon as it is imported, before a module takes names out of it."""
    if spec is not None and spec.loader is not None:
        perform = spec.loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            perform(module)
            randomness.cover_numpy(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
    return spec


class _Finder(MetaPathFinder):
    """Says of modules that are not provided that they are not, instead of that PyCOMPSs is not installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "numpy.random":
            return _covered(PathFinder.find_spec(fullname, path))
        if fullname.split(".")[0] != "pycompss":
            return None
        last = fullname.rpartition(".")[2]
        what = f"the decorator @{last}" if fullname.startswith("pycompss.api.") else f"the module '{fullname}'"
        raise ModuleNotFoundError(
            f"{what} of PyCOMPSs is not covered by Dovetail (docs/pycompss.md says what is)", name=fullname
        )


def _provide(name: str, content: types.ModuleType | dict[str, object] | None = None) -> None:
    """Makes a module known, and an attribute of the package that it is in. Without content it is a package itself."""
    module = content if isinstance(content, types.ModuleType) else types.ModuleType(name, "Provided by Dovetail.")
    if content is None:
        module.__path__ = []
    elif isinstance(content, dict):
        module.__dict__.update(content)
    sys.modules[name] = module
    package, _, last = name.rpartition(".")
    if package:
        setattr(sys.modules[package], last, module)


def install() -> Callable[[], None]:
    """Provides `pycompss` in this process. Returns what waits for all tasks and raises what ended the program, if anything."""
    for package in ("", ".api", ".functions", ".runtime", ".runtime.management"):
        _provide("pycompss" + package)
    for name, module in _MODULES.items():
        _provide(f"pycompss.api.{name}", module)
    for name, content in functions.MODULES.items():
        _provide(f"pycompss.functions.{name}", content)
    for name, names in library.MODULES.items():
        _provide(f"pycompss.{name}", names)
    _provide("pycompss.dds")
    sys.modules["pycompss.dds"].DDS = dds.DDS  # type: ignore[attr-defined]
    _provide("pycompss.dds.dds", dds)
    _provide("pycompss.streams")
    _provide("pycompss.streams.distro_stream", streams)
    _provide("pycompss.runtime.management.classes", {"Future": future.Future})
    sys.meta_path.insert(0, _Finder())
    promised.install()
    randomness.cover()
    if "numpy.random" in sys.modules:
        randomness.cover_numpy(sys.modules["numpy.random"])
    return tracking.tracker.finish
