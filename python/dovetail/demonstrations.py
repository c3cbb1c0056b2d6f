"""`dovetail demo`: runs a demonstration. Their programs are those of the folder examples; the wheel brings the ones that need no compiler."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from .command_groups import WITH_TASKS


@dataclass(frozen=True)
class Demonstration:
    """`script` is below examples. `arguments`: given to it before those of the user. `packages`: of Python, that it needs. `program` is what a build has made
    for it, `{library}` an MPI library; without one it runs with what is installed. `target` is make's, in a clone of the project."""

    about: str
    script: str
    target: str
    arguments: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    program: str | None = None


DEMONSTRATIONS = {
    "kmeans": Demonstration(
        "k-means in Python whose checkpoints go to your disk, without and with I/O tasks",
        "kmeans/demo.py", "demo", ("--own-disk",), ("numpy",),
    ),
    "hdf5": Demonstration(
        "an h5py program that writes compressed data, as it is and under `dovetail run --hdf5`",
        "hdf5/demo.py", "demo-hdf5", (), ("h5py",),
    ),
    "prefetch": Demonstration(
        "an h5py program whose reads are fetched ahead: by a plan, by rules, by their pattern",
        "terrain/demo.py", "demo-prefetch", (), ("h5py", "matplotlib"),
    ),
    "heat": Demonstration(
        "a simulation of heat in C++, whose tasks write in three ways; killed and started again",
        "heat/demo.py", "demo-heat", (), ("matplotlib",), "bin/heat",
    ),
    "mpi": Demonstration(
        "applications of 4 ranks with MPI alone, two-sided and one-sided tasks",
        "mpi_demo/demo.py", "demo-mpi", (), ("matplotlib",), "bin/heat_ranks_{library}",
    ),
    "staging": Demonstration(
        "a simulation of 4 ranks whose checkpoints go to a fast tier first; killed and started again",
        "plate/demo.py", "demo-staging", (), ("matplotlib",), "bin/ranks/plate_{library}",
    ),
}  # fmt: skip
MAIN = "kmeans"
LIBRARIES = ("mpich", "openmpi")


def _homes() -> list[Path]:
    """Where examples and programs may be: with the package, or in the tree of a build."""
    build = os.environ.get("DOVETAIL_BUILD_DIR")
    from . import preload  # takes long

    return [*([Path(build)] if build else []), Path(__file__).absolute().parents[2], *map(Path, preload.prefixes())]


def _script(demonstration: Demonstration) -> Path | None:
    paths = (home / "share" / "dovetail" / "examples" / demonstration.script for home in _homes())
    return next((path for path in paths if path.is_file()), None)


def _build(demonstration: Demonstration) -> Path | None:
    """The folder of the build that has made the program of a demonstration."""
    names = [(demonstration.program or "").format(library=library) for library in LIBRARIES]
    return next((home for home in _homes() if any((home / name).is_file() for name in names)), None)


def missing(demonstration: Demonstration, found: Callable[[str], object] = find_spec) -> str | None:
    """What a demonstration lacks here, as a sentence that says what to do."""
    if demonstration.program is not None and _build(demonstration) is None:
        ranks = " and an MPI library" if "{library}" in demonstration.program else ""
        return f"it needs a compiler{ranks}: run `make {demonstration.target}` in a clone of Dovetail"
    packages = [package for package in demonstration.packages if found(package) is None]
    if packages:
        return f"it needs {' and '.join(packages)}: pip install {' '.join(packages)}"
    if "{library}" in (demonstration.program or "") and not any(shutil.which(f"mpiexec.{name}") for name in LIBRARIES):
        return "it needs MPICH or Open MPI (mpiexec.mpich or mpiexec.openmpi)"
    if _script(demonstration) is None:
        return f"its program examples/{demonstration.script} is not installed with {Path(__file__).parent}"
    return None


def describe() -> str:
    """All demonstrations, what they show, and what they need."""
    lines = []
    for name, demonstration in DEMONSTRATIONS.items():
        lacks = missing(demonstration)
        lines += [f"{name:9} {demonstration.about}", f"{'':9} {'ready' if lacks is None else lacks}"]
    return "\n".join(lines)


def start(name: str, arguments: list[str]) -> NoReturn:
    """Becomes the program of the demonstration. Ends with status 2 if there is none of that name, or if it needs what is not here."""
    demonstration = DEMONSTRATIONS.get(name)
    if demonstration is None:
        print(f"dovetail demo: there is no '{name}'; there are {', '.join(DEMONSTRATIONS)}", file=sys.stderr)
        sys.exit(2)
    lacks = missing(demonstration)
    script = _script(demonstration)
    if lacks is not None or script is None:
        print(f"dovetail demo: {name} cannot run here: {lacks}", file=sys.stderr)
        sys.exit(2)
    words = [sys.executable, str(script), *demonstration.arguments]
    build = _build(demonstration) if demonstration.program is not None else None
    if build is not None:
        words += ["--build-dir", str(build), "--output", "dovetail-demo"]
    sys.stdout.flush()
    os.execv(sys.executable, [*words, *arguments])


def register(app: typer.Typer) -> None:
    """Adds the sub-command."""

    @app.command(
        "demo",
        rich_help_panel=WITH_TASKS,
        help="Runs a demonstration and writes its page into ./dovetail-demo (--output FOLDER; --small: seconds). `--list` shows all.",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )
    def command(
        context: typer.Context,
        name: Annotated[str, typer.Argument(help="Which.")] = MAIN,
        list_all: Annotated[bool, typer.Option("--list", help="Lists them, with what each needs.")] = False,
    ) -> None:
        if list_all:
            print(describe())
            return
        # The first word may be an option of the main one.
        arguments = list(context.args)
        if name.startswith("-"):
            name, arguments = MAIN, [name, *arguments]
        start(name, arguments)
