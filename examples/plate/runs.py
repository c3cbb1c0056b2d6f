"""Starts the simulation of plate.cpp, with a tier or without, and notes what it does and what the disk writes meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "demonstration"))

import ranks  # noqa: E402
from demonstration import RunFailed  # noqa: E402
from ranks import RANKS  # noqa: E402

LONGEST = 300.0  # seconds for one run: ten times what it takes


@dataclass(frozen=True)
class Job:
    program: Path
    library: str
    cells: int
    steps: int
    every: int  # steps for each checkpoint

    @property
    def bytes(self) -> int:
        """Of a checkpoint."""
        return self.cells * self.cells * 8


PHASES = ("begin", "compute", "checkpoint", "end")  # in "begin" a checkpoint is read, if there is one


@dataclass
class Phase:
    """One of PHASES, of all ranks together. Times in seconds since 1970."""

    what: str
    step: int
    begin: float
    end: float


@dataclass
class Run:
    begin: float
    end: float = 0.0
    said: str = ""  # on standard error
    phases: list[Phase] = field(default_factory=list)
    written: list[tuple[float, int]] = field(
        default_factory=list
    )  # (seconds since 1970, bytes that the disk had written)

    def seconds_of(self, what: str) -> list[float]:
        return [phase.end - phase.begin for phase in self.phases if phase.what == what]

    @property
    def seconds(self) -> float:
        return self.end - self.begin

    def as_json(self) -> dict:
        return asdict(self)


class _Disk(threading.Thread):
    """Reads the kernel's count of what a block device has written, some fifty times a second."""

    def __init__(self, number: str, run: Run) -> None:
        super().__init__(daemon=True)
        self._statistics = Path(f"/sys/dev/block/{number}/stat")
        self._run = run
        self._ends = threading.Event()

    def run(self) -> None:
        first = None
        while not self._ends.wait(0.02):
            sectors = int(self._statistics.read_text().split()[6])
            first = sectors if first is None else first
            self._run.written.append((time.time(), (sectors - first) * 512))

    def stop(self) -> None:
        self._ends.set()
        self.join()


def configuration(path: Path, tier: Path) -> Path:
    """What a user writes: which files go to the tier, and that a close need not wait for the disk."""
    hints = {"e10_cache": "enable", "e10_cache_path": str(tier)}
    group = {"names": ["checkpoint.*"], "deferred_close": True, "hints": hints}
    path.write_text(json.dumps({"files": [group]}, indent=1) + "\n")
    return path


def run(
    job: Job,
    folder: Path,
    build: Path,
    configured: Path | None = None,
    kill_after: int = 0,
    show: Callable[[float], None] = lambda share: None,
    device: str = "",
) -> Run:
    """With a configuration the library is preloaded. After checkpoint number `kill_after`, if it is not 0, all ranks are killed at once. `device`: "major:minor"
    of the disk to look at. Raises RunFailed."""
    words = [f"mpiexec.{job.library}", "-n", str(RANKS)]
    if configured is not None:
        library = build / "lib" / f"libdovetail-mpiio-{job.library}.so"
        words += ["env", f"LD_PRELOAD={library}", f"DOVETAIL_MPIIO_CONFIGURATION={configured}"]
    words += [str(job.program), str(folder), str(job.cells), str(job.steps), str(job.every)]
    found = Run(time.time())
    disk = _Disk(device, found) if device else None
    if disk:
        disk.start()
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | ranks.ENVIRONMENT,
        start_new_session=True,
    )
    late = threading.Timer(LONGEST, ranks.end, [process])
    late.start()
    killed = False
    try:
        processes: list[int] = []
        checkpoints = 0
        for line in process.stdout:
            what, *numbers = line.split() or [""]
            if what == "processes":
                processes = [int(number) for number in numbers]
            if what not in PHASES:  # the starter tells of ranks that were killed
                continue
            phase = Phase(what, int(numbers[0]), float(numbers[1]), float(numbers[2]))
            found.phases.append(phase)
            show(phase.step / job.steps)
            checkpoints += what == "checkpoint"
            if kill_after and checkpoints == kill_after and not killed:
                killed = True
                for rank in processes:
                    os.kill(rank, signal.SIGKILL)
        found.said = process.stderr.read()
        status = process.wait()
    finally:
        late.cancel()
        ranks.end(process)
        found.end = time.time()
        if disk:
            disk.stop()
    if status != 0 and not killed:
        raise RunFailed(f"{' '.join(words)}: exit status {status}\n{found.said}")
    if killed and status == 0:
        raise RunFailed(f"{' '.join(words)}: ended well though its ranks were killed")
    return found
