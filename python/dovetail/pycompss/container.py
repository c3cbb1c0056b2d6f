"""`pycompss.api.container`: programs of tasks that run in a container."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .command import Call, Line, needed
from .constraint import decorated
from .options import taken
from .task import PyCompssTask

__all__ = ["Container", "container"]

_ENGINES = {"docker": ["run", "--rm"], "podman": ["run", "--rm"], "singularity": ["exec"], "apptainer": ["exec"]}


class _Contained(Line):
    """A program in a container that sees its folder and the files of the call under their own names."""

    def __init__(self, line: Line, engine: str, image: str, options: str) -> None:
        super().__init__(
            "@container", {"binary": line.binary, "working_dir": line.working_dir, "fail_by_exit_value": line.fails}
        )
        self.args = line.args
        self.engine, self.image, self.options = engine, image, options

    def words(self, call: Call, folder: Path) -> list[str]:
        engine = needed(self.engine, "@container")
        seen = sorted({str(folder), os.getcwd(), *(os.path.dirname(path) for path in call.paths())})
        mount, place = ("--volume", "--workdir") if _ENGINES[self.engine][0] == "run" else ("--bind", "--pwd")
        mounts = [word for path in seen for word in (mount, f"{path}:{path}")]
        options = shlex.split(call.filled(self.options))
        image = call.filled(self.image)
        return [
            engine,
            *_ENGINES[self.engine],
            *mounts,
            place,
            str(folder),
            *options,
            image,
            *super().words(call, folder),
        ]


def container(**given: Any) -> Callable[[Any], PyCompssTask]:
    """The program of a `@binary` task runs in a container: `@container(engine="DOCKER", image="debian", options="-e A=1")`.

    Functions do not: the image would have to have this Python and all packages.
    """
    taken_options = taken(
        "@container", given, ("engine", "image"), ("options",), ("fail_by_exit_value", "working_dir", "binary")
    )
    engine = str(taken_options["engine"]).lower()
    if engine not in _ENGINES:
        raise ValueError(f"@container: engine must be one of {', '.join(_ENGINES)}, not {taken_options['engine']!r}")

    def decorate(target: Any) -> PyCompssTask:
        task = decorated(target, "container")
        if isinstance(task.program, Line):
            contained = _Contained(
                task.program, engine, str(taken_options["image"]), str(taken_options.get("options", ""))
            )
            task.change("container", program=contained)
        else:
            task.change(
                "container", fault=f"@container of '{task.name}' is not covered by Dovetail except above @binary"
            )
        return task

    return decorate


Container = container
