"""Runs other projects' PyCOMPSs programs: under Dovetail, or with PyCOMPSs' own modules."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(os.environ.get("DOVETAIL_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("DOVETAIL_BUILD_DIR", SOURCE / "build" / "release")).resolve()
sys.path[:0] = [str(SOURCE / "scripts")]

import hangs  # noqa: E402 (behind the path to it)
from foreign import PYTHON, SOURCES  # noqa: E402, F401 (the interpreter, for those that import this)

PYCOMPSS = SOURCES / "compss" / "compss" / "programming_model" / "bindings" / "python" / "src"


@dataclass
class Ended:
    status: int | str
    output: str


@dataclass
class Runner:
    """Runs programs with one of two providers of `pycompss`."""

    python: str
    seconds: float
    native: bool = False

    def run(
        self,
        script: Path,
        arguments: list[str],
        folder: Path,
        paths: list[Path],
        options: Sequence[str] = (),
        **more: str,
    ) -> Ended:
        """`options` are those of `dovetail run`; `more` are variables of the environment."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "DOVETAIL_TRACE"))}
        provider = PYCOMPSS if self.native else BUILD / "python"
        # As their own scripts have them: tasks ask for so many cores, and the machine has four.
        environment = {
            **kept,
            "ComputingUnits": "1",
            "ComputingUnitsGPUs": "0",
            "OMP_NUM_THREADS": "1",
            "DOVETAIL_WORKERS": "4",
            "PWD": str(folder),
            # Open MPI starts ranks as root, too.
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            **more,
        }
        environment |= {
            "PYTHONPATH": os.pathsep.join(map(str, [*paths, provider])),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [
            self.python,
            *([] if self.native else ["-m", "dovetail.cli", "run", "--pycompss", *options]),
            str(script),
        ]
        with subprocess.Popen(
            [*command, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=self.seconds)
            except subprocess.TimeoutExpired:
                return Ended(f"no end after {self.seconds:.0f} s", hangs.end(process))
        return Ended(process.returncode, output)


def indented(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())
