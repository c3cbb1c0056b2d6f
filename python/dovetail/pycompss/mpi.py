"""`pycompss.api.mpi` and `pycompss.api.mpmd_mpi`: tasks that are several ranks of MPI, on this machine."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .command import Call, Line, needed
from .constraint import decorated
from .options import taken, truth
from .parameter import block_count, block_length, stride
from .ranks import Layout, perform
from .task import PyCompssTask

__all__ = ["MPMDMPI", "Mpi", "mpi", "mpmd_mpi"]

# All ranks are on this machine, which may have fewer cores. Other libraries than Open MPI allow it anyway.
_OVERSUBSCRIBED = {"OMPI_MCA_rmaps_base_oversubscribe": "1"}


class _Starter:
    """Starts ranks of one program or several."""

    def __init__(self, decorator: str, options: dict[str, Any], task: PyCompssTask) -> None:
        self.decorator = decorator
        self.runner = str(options["runner"])
        self.flags = str(options.get("flags", ""))
        self.fails = truth(options.get("fail_by_exit_value", True))
        self.working_dir = str(options.get("working_dir", ""))
        self.processes = options.get("processes", options.get("computing_nodes", 1))
        self.scaled = truth(options.get("scale_by_cu", False))
        self.names = task.function.__globals__

    def count(self, call: Call) -> int:
        count = call.integer(self.processes, f"processes of {self.decorator}", self.names)
        return count * call.units if self.scaled else count

    def start(self, call: Call, programs: list[tuple[int, list[str]]], folder: Path, **environment: str) -> int:
        words = [needed(call.filled(self.runner), self.decorator), *shlex.split(call.filled(self.flags))]
        for place, (count, program) in enumerate(programs):
            words += [*([":"] if place else []), "-n", str(count), *program]
        threads = {"OMP_NUM_THREADS": str(1 if self.scaled else call.units)}
        return call.run(words, folder, self.fails, environment={**_OVERSUBSCRIBED, **threads, **environment})


class _Binary(_Starter):
    """Ranks of one program."""

    def __init__(self, options: dict[str, Any], task: PyCompssTask) -> None:
        super().__init__("@mpi", options, task)
        self.line = Line("@mpi", options)

    def __call__(self, call: Call) -> int:
        folder = call.folder(self.working_dir)
        return self.start(call, [(self.count(call), self.line.words(call, folder))], folder)


class _Python(_Starter):
    """Ranks that call the task's function, each with the arguments and its part of shared lists."""

    def __init__(self, options: dict[str, Any], task: PyCompssTask, layouts: dict[str, Layout]) -> None:
        super().__init__("@mpi", {**options, "fail_by_exit_value": True}, task)
        self.function = task.function
        self.layouts = layouts

    def __call__(self, call: Call) -> list[Any]:
        count = self.count(call)

        def start(words: list[str], **environment: str) -> None:
            self.start(call, [(count, words)], call.folder(self.working_dir), **environment)

        with tempfile.TemporaryDirectory(prefix="dovetail-ranks-") as folder:
            return perform(Path(folder), self.function, call.arguments, self.layouts, count, start)


class _Several(_Starter):
    """Ranks of several programs in one MPI world."""

    def __init__(self, options: dict[str, Any], task: PyCompssTask) -> None:
        super().__init__("@mpmd_mpi", options, task)
        programs = options["programs"]
        if not isinstance(programs, list | tuple) or not programs:
            raise TypeError(f"@mpmd_mpi of '{task.name}': programs must be a list of dictionaries, not {programs!r}")
        self.parts = []
        for given in programs:
            part = taken("a program of @mpmd_mpi", given, ("binary",), ("processes", "args", "params"))
            self.parts.append((part.get("processes", 1), Line("@mpmd_mpi", {"args": "", **part})))

    def __call__(self, call: Call) -> int:
        folder = call.folder(self.working_dir)
        programs = []
        for processes, line in self.parts:
            count = call.integer(processes, "processes of @mpmd_mpi", self.names)
            programs.append((count, line.words(call, folder)))
        return self.start(call, programs, folder)


def _layouts(options: dict[str, Any], task: PyCompssTask) -> dict[str, Layout]:
    """The options `PARAMETER_layout`, which say how lists are shared out."""
    layouts = {}
    for name in [name for name in options if name.endswith("_layout")]:
        parts = options.pop(name)
        parameter = name.removesuffix("_layout")
        unknown = [part for part in parts if part not in (block_count, block_length, stride)]
        if parameter not in task.parameter_names or unknown:
            raise TypeError(
                f"@mpi of '{task.name}': {name} must name a parameter, block_count, block_length and stride"
            )
        layouts[parameter] = Layout(
            int(parts.get(block_count, -1)), int(parts.get(block_length, 1)), int(parts.get(stride, 1))
        )
    return layouts


_OPTIONS = ("binary", "args", "params", "working_dir", "processes", "flags", "processes_per_node", "scale_by_cu")


def mpi(**given: Any) -> Callable[[Any], PyCompssTask]:
    """The task is ranks of a program, `@mpi(runner="mpirun", binary="simulate", processes=4)`, or without `binary` of its own function.

    It returns the exit value, or the list of what the ranks returned.
    """
    layouts = {name: value for name, value in given.items() if name.endswith("_layout")}
    rest = {name: value for name, value in given.items() if name not in layouts}
    options = taken("@mpi", rest, ("runner",), (*_OPTIONS, "fail_by_exit_value"), ("computing_nodes",))

    def decorate(target: Any) -> PyCompssTask:
        task = decorated(target, "mpi")
        if "binary" in options:
            task.change("mpi", program=_Binary(options, task))
            return task
        changed = [name for name in task.parameter_names if task.changes_object(name)]
        if changed:
            raise TypeError(
                f"@mpi of '{task.name}': '{changed[0]}' is to be changed, which ranks of a Python function cannot do: each has a copy. "
                "Return the value, or use a file"
            )
        task.change("mpi", program=_Python(options, task, _layouts(dict(layouts), task)))
        return task

    return decorate


def mpmd_mpi(**given: Any) -> Callable[[Any], PyCompssTask]:
    """The task is ranks of several programs: `@mpmd_mpi(runner="mpirun", programs=[dict(binary="a", processes=2), dict(binary="b")])`."""
    options = taken(
        "@mpmd_mpi",
        given,
        ("runner", "programs"),
        ("working_dir", "processes_per_node", "fail_by_exit_value", "flags"),
    )

    def decorate(target: Any) -> PyCompssTask:
        task = decorated(target, "mpmd_mpi")
        task.change("mpmd_mpi", program=_Several(options, task))
        return task

    return decorate


Mpi = mpi
MPMDMPI = mpmd_mpi
