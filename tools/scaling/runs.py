"""Runs of the examples with ranks, recorded or timed, and the simulation of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import recording

VARIANTS = ("messages-only", "two-sided", "one-sided")
HERE = Path(__file__).resolve().parent
LONGEST = 600.0  # seconds for one run
# Tasks of the example heat that are no part of a checkpoint.
HEAT_NAMES = "update,send up,send down,receive above,receive below"
# Those of the stages of the example refinement.
REFINEMENT_NAMES = {
    "two-sided": "update,add up,receive face,send face",
    "one-sided": "update,add up,write faces,update and write",
}
# More ranks than cores, and as root.
_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


class Missing(Exception):
    """Something that is not there and has to be, as a sentence."""


class RunFailed(Exception):
    """A program ended otherwise than well."""


@dataclass(frozen=True)
class Programs:
    """Where everything is. Raises Missing when it is made."""

    build: Path
    library: str = "mpich"

    def __post_init__(self) -> None:
        if shutil.which(f"mpiexec.{self.library}") is None:
            raise Missing(f"mpiexec.{self.library} is not installed: `make setup-mpi` installs it")
        for program in (self.simulator, self.heat, self.streaming, self.refinement):
            if not program.is_file():
                raise Missing(f"{program} is missing: `make scaling` installs SimGrid and builds it")

    @property
    def simulator(self) -> Path:
        return self.build / "bin" / "dovetail-scaling"

    @property
    def heat(self) -> Path:
        return self.build / "bin" / f"heat_ranks_{self.library}"

    @property
    def streaming(self) -> Path:
        return self.build / "bin" / "ranks" / f"streaming_{self.library}"

    @property
    def refinement(self) -> Path:
        return self.build / "bin" / "ranks" / f"refinement_{self.library}"

    def start(self, ranks: int, program: Path, arguments: list[object], **variables: object) -> str:
        """What the program prints."""
        return call([f"mpiexec.{self.library}", "-n", ranks, program, *arguments], **_ENVIRONMENT, **variables)


def call(command: list[object], **variables: object) -> str:
    """What the command prints. Raises RunFailed."""
    words = [str(word) for word in command]
    environment = os.environ | {name: str(value) for name, value in variables.items()}
    try:
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired as error:
        raise RunFailed(f"`{' '.join(words)}` has not ended after {LONGEST:.0f} s") from error
    if done.returncode != 0:
        raise RunFailed(f"`{' '.join(words)}` ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


@dataclass(frozen=True)
class Heat:
    """One problem of the example heat, with square blocks."""

    rows: int = 256
    columns: int = 2048
    block: int = 32
    steps: int = 100

    def arguments(self, variant: str, folder: Path) -> list[object]:
        """Of the program. The field is made once in the folder."""
        field = folder / "field"
        if not field.is_file():
            sys.path.insert(0, str(HERE.parents[1] / "bench" / "comm" / "gauss_seidel"))
            import ranks

            ranks.write_field(field)
        size = f"{self.rows}x{self.columns}"
        work: list[object] = ["--size", size, "--block", self.block, "--steps", self.steps, "--workers", 1]
        return ["--variant", variant, "--field", field, *work]

    def simulated(self, ranks: int, variant: str, cost: float) -> list[object]:
        """Arguments of dovetail-scaling. `cost`: seconds of an update."""
        shape: list[object] = ["--rows", self.rows, "--columns", self.columns, "--steps", self.steps]
        blocks: list[object] = ["--block-rows", self.block, "--block-columns", self.block]
        which: list[object] = ["--application", "heat", "--variant", variant, "--ranks", ranks]
        return [*which, *shape, *blocks, "--cost", f"update={cost!r}"]


@dataclass(frozen=True)
class Refinement:
    """One problem of the example refinement."""

    edge: int = 8
    variables: int = 4
    coarsest: int = 2
    finest: int = 4
    radius: int = 20
    refinements: int = 0
    stages: int = 20

    @property
    def values(self) -> int:
        """Of a block."""
        return self.edge**3 * self.variables

    @property
    def bytes(self) -> int:
        """Of a block."""
        return 8 * self.values

    def arguments(self) -> list[object]:
        """Of the program, and of dovetail-scaling."""
        shape: list[object] = ["--edge", self.edge, "--variables", self.variables]
        mesh: list[object] = ["--coarsest", self.coarsest, "--finest", self.finest, "--radius", self.radius]
        return [*shape, *mesh, "--refinements", self.refinements, "--stages", self.stages]

    def simulated(self, ranks: int, variant: str, costs: dict[str, float], *more: object) -> list[object]:
        """Arguments of dovetail-scaling."""
        which: list[object] = ["--application", "refinement", "--variant", variant, "--ranks", ranks]
        named = [word for name, cost in costs.items() for word in ("--cost", f"{name}={cost!r}")]
        return [*which, *self.arguments(), *named, *more]


def run_refinement(
    programs: Programs, refinement: Refinement, ranks: int, variant: str, warmup: int = 0
) -> dict[str, Any]:
    """What the program reports."""
    given: list[object] = ["--variant", variant, "--workers", 1, "--warmup", warmup, *refinement.arguments(), "--json"]
    return dict(json.loads(programs.start(ranks, programs.refinement, given)))


def time_stages(programs: Programs, refinement: Refinement, ranks: int, variant: str) -> float:
    """Seconds of all stages, in memory that was written before."""
    return float(run_refinement(programs, refinement, ranks, variant, 1)["metrics"]["between_seconds"][0])


def time_heat(programs: Programs, heat: Heat, ranks: int, variant: str, folder: Path) -> float:
    """Seconds until the last update."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        report = Path(own) / "report.json"
        files: list[object] = ["--directory", own, "--json", report]
        programs.start(ranks, programs.heat, [*heat.arguments(variant, folder), *files])
        return float(json.loads(report.read_text())["seconds"])


def record_heat(programs: Programs, heat: Heat, ranks: int, variant: str, folder: Path) -> Path:
    """A joined trace."""
    trace = folder / f"heat-{variant}.json"
    with tempfile.TemporaryDirectory(dir=folder) as own:
        files: list[object] = ["--directory", own, "--trace", trace]
        programs.start(ranks, programs.heat, [*heat.arguments(variant, folder), *files], DOVETAIL_TRACE_ACCESSES=1)
    return join(programs, trace)


def record_streaming(programs: Programs, arguments: list[object], ranks: int, variant: str, folder: Path) -> Path:
    """A joined trace."""
    trace = folder / f"streaming-{variant}.json"
    given: list[object] = ["--variant", variant, "--workers", 1, *arguments]
    programs.start(ranks, programs.streaming, given, DOVETAIL_TRACE=trace, DOVETAIL_TRACE_ACCESSES=1)
    return join(programs, trace)


def record_refinement(programs: Programs, refinement: Refinement, ranks: int, variant: str, folder: Path) -> Path:
    """A joined trace."""
    trace = folder / f"refinement-{variant}.json"
    given: list[object] = ["--variant", variant, "--workers", 1, *refinement.arguments()]
    programs.start(ranks, programs.refinement, given, DOVETAIL_TRACE=trace, DOVETAIL_TRACE_ACCESSES=1)
    return join(programs, trace)


def refinement_costs(programs: Programs, refinement: Refinement, ranks: int, folder: Path) -> dict[str, float]:
    """Seconds of the bodies of the stages. Faces are of whole sides: all blocks of that recording have one level."""
    even = replace(refinement, finest=refinement.coarsest, refinements=0)
    costs = recording.median_costs(
        recording.read_recording(record_refinement(programs, even, ranks, "two-sided", folder))
    )
    return {"update": costs["update"], "add up": costs["add up"], "face": costs["send face"]}


def join(programs: Programs, trace: Path) -> Path:
    """One file of those of all ranks."""
    call([sys.executable, "-m", "dovetail.cli", "trace", "join", trace], PYTHONPATH=programs.build / "python")
    return trace


def simulate(programs: Programs, arguments: list[object], machine: Path) -> dict[str, Any]:
    """What dovetail-scaling says."""
    return dict(json.loads(call([programs.simulator, *arguments, "--machine", machine])))


def check_readable(machine: Path) -> None:
    """Raises BadInput if the file cannot be read."""
    try:
        machine.read_text()
    except OSError as error:
        raise recording.BadInput(f"cannot read the machine {machine}: {error.strerror}") from error
    except ValueError as error:
        raise recording.BadInput(f"the machine {machine} is no text: {error}") from error


def check_machine(programs: Programs, machine: Path) -> None:
    """Raises BadInput with what dovetail-scaling says of the file. It replays one task."""
    one = Heat(rows=1, columns=1, block=1, steps=1)
    try:
        simulate(programs, one.simulated(1, "messages-only", 1e-6), machine)
    except RunFailed as error:
        raise recording.BadInput(str(error)) from error


def cost_of(trace: Path, name: str) -> float:
    """Median seconds of the bodies of this name."""
    return recording.median_costs(recording.read_recording(trace))[name]
