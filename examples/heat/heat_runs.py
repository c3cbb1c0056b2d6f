"""Starts `heat` and reads what it reports. Used by the demo and by the tests."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "demonstration"))

from demonstration import RunFailed  # noqa: E402

VARIANTS = ("plain", "pausing", "bound")


@dataclass(frozen=True)
class Job:
    """What is to be computed. A job has the same result on every device and with every variant."""

    program: Path
    field: Path
    size: int
    block: int
    steps: int
    checkpoint_every: int
    direct: str = "automatic"

    def command(self, directory: Path, variant: str, restart: bool = False, **more: object) -> list[str]:
        """`more` gives further options, such as workers=2."""
        command = [str(self.program), "--directory", str(directory), "--io", variant, "--direct", self.direct]
        command += ["--steps", str(self.steps), "--checkpoint-every", str(self.checkpoint_every)]
        if restart:
            command += ["--restart"]
        else:
            command += ["--field", str(self.field), "--size", str(self.size), "--block", str(self.block)]
        for name, value in more.items():
            command += [f"--{name}", str(value)]
        return command


def follow(command: list[str], on_progress: Callable[[float], None], kill_at: float | None = None) -> int:
    """Run a command to its end, or kill it (SIGKILL) once it has come so far (0 to 1); its exit status, -9 if killed.

    Anything but progress that it says on standard error is kept for the exception. Raises RunFailed if it fails.
    """
    said: list[str] = []
    with subprocess.Popen(
        [*command, "--progress"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            for line in process.stderr:
                match = re.match(r"heat: (\d+) %, ", line)
                if not match:
                    said.append(line.rstrip())
                    continue
                on_progress(int(match[1]) / 100)
                if kill_at is not None and int(match[1]) >= 100 * kill_at:
                    process.kill()
            status = process.wait()
        except BaseException:
            process.kill()
            raise
    if status != 0 and not (kill_at is not None and status == -signal.SIGKILL):
        raise RunFailed(f"{' '.join(command)}: exit status {status}\n" + "\n".join(said))
    return status


def run(
    job: Job, directory: Path, variant: str, on_progress: Callable[[float], None] = lambda _: None, **more: object
) -> dict:
    """A whole run; its report as a dictionary."""
    report = directory.with_suffix(".json")
    try:
        follow(job.command(directory, variant, json=report, **more), on_progress)
        return json.loads(report.read_text())
    finally:
        report.unlink(missing_ok=True)
