#!/usr/bin/env python3
"""A simulation of 4 ranks writes checkpoints by collective MPI-IO to a slow disk: as it is, and by way of a fast local tier. Then it is killed while its last
checkpoint is on the tier alone, and started again. All must leave the same bytes.

The program is not changed: a library is preloaded, and a file says which files go to the tier. Where a slow disk can be made (root), it takes as long for a
checkpoint as the ranks compute between two; else the real one is used. The output folder gets a picture and all numbers as JSON. Exit status: 1 if a run
failed or the results differ, 2 for bad input, 130 if interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "devices"), str(ROOT / "examples" / "demonstration")]

import demonstration  # noqa: E402
import picture  # noqa: E402 (beside this file)
from bar import Bar  # noqa: E402
from demonstration import BadInput, RunFailed  # noqa: E402
from device_unavailable import DeviceUnavailable  # noqa: E402
from ranks import LIBRARIES, RANKS  # noqa: E402
from runs import Job, Run, configuration, run  # noqa: E402
from slow_disk import SlowDisk  # noqa: E402

SLOWEST = 10.0  # MB/s
AS_IT_IS, STAGED, KILLED, RESTARTED = "as it is", "staged", "killed", "started again"


FOUND = "is read from the tier"  # so the library tells of what an earlier run had left


def program_for(build: Path, wanted: str | None) -> tuple[Path, str]:
    """The first library for which everything is there."""
    missing = []
    for library in [wanted] if wanted else LIBRARIES:
        needed = [build / "bin" / "ranks" / f"plate_{library}", build / "lib" / f"libdovetail-mpiio-{library}.so"]
        absent = [path for path in [*needed, build / "bin" / "dovetail-staging"] if not path.is_file()]
        if shutil.which(f"mpiexec.{library}") is None:
            missing.append(f"mpiexec.{library} is not installed")
        elif absent:
            missing.append(f"{absent[0]} is missing")
        else:
            return needed[0], library
    raise BadInput("; ".join(missing) + ": `make demo-staging` installs MPI and builds the programs")


class Demo:
    def __init__(self, arguments: argparse.Namespace, output: Path, scratch: Path) -> None:
        self._build = arguments.build_dir
        program, library = program_for(self._build, arguments.library)
        self._output = output
        self._scratch = scratch
        self._tier = Path(tempfile.mkdtemp(prefix="tier-", dir=arguments.tier or scratch))
        self._job = Job(program, library, 512 if arguments.small else 2048, 0, 0)
        self._seconds = 0.1 if arguments.small else 1.0  # of computation for each checkpoint
        self._checkpoints = 4 if arguments.small else 8
        self._results: dict[str, str] = {}
        self._runs: dict[str, Run] = {}
        total = self._checkpoints * self._seconds
        self._bar = Bar({"calibration": 2, AS_IT_IS: 3 * total, STAGED: 1.3 * total, KILLED: total, RESTARTED: total})

    def say(self, text: str) -> None:
        self._bar.clear()
        print(text, flush=True)

    def close(self) -> None:
        self._bar.clear()
        shutil.rmtree(self._tier, ignore_errors=True)

    def calibrate(self) -> None:
        """How many steps make a second."""
        self._bar.begin("calibration")
        steps, seconds = 4, 0.0
        while True:
            folder = self._scratch / "calibration"
            folder.mkdir()
            done = run(replace(self._job, steps=steps, every=steps), folder, self._build)
            shutil.rmtree(folder)
            (seconds,) = done.seconds_of("compute")
            if seconds >= self._seconds / 2:
                break
            steps *= 4
        every = max(1, round(self._seconds * steps / seconds))
        self._job = replace(self._job, every=every, steps=every * self._checkpoints)
        self._bar.end()
        self.say(
            f"job          {RANKS} ranks on {len(os.sched_getaffinity(0))} cores, mpiexec.{self._job.library}; {self._job.cells} x {self._job.cells} cells,"
            f" {self._job.steps} steps, a checkpoint of {self._job.bytes / 1e6:.1f} MB every {every}"
        )

    @contextlib.contextmanager
    def slow_disk(self) -> Iterator[tuple[Path, str]]:
        """A folder, and the device to look at."""
        bandwidth = max(SLOWEST, self._job.bytes / 1e6 / self._seconds)
        with contextlib.ExitStack() as stack:
            try:
                # Two files of checkpoints for each run, and the journal.
                disk = stack.enter_context(
                    SlowDisk(bandwidth, bandwidth, 8 * self._job.bytes // 1_000_000 + 64, self._scratch)
                )
                # A server without a cache of its own answers when the bytes are on its disk.
                subprocess.run(["mount", "-o", "remount,sync", disk.path], check=True)
            except (DeviceUnavailable, subprocess.CalledProcessError) as error:
                self.say(f"slow disk    left out, the real one is used: {error}")
                yield self._scratch, ""
                return
            self.say(
                f"slow disk    ext4 on {disk.device}, {bandwidth:.0f} MB/s by the kernel, without a cache for writes"
            )
            yield disk.path, disk.device_number

    def measure(self, name: str, folder: Path, device: str, configured: Path | None, kill_after: int = 0) -> Run:
        self._bar.begin(name)
        folder.mkdir(exist_ok=True)
        self._runs[name] = run(self._job, folder, self._build, configured, kill_after, self._bar.show, device)
        self._bar.end()
        said = self._runs[name].said
        # One that is killed is told of by the starter, and one that is started again tells what it finds on the tier.
        if said and name in (AS_IT_IS, STAGED):
            raise RunFailed(f"{name}: the ranks said: {said}")
        if not kill_after:
            last = (folder / "latest").read_text().split()[0]
            with (folder / last).open("rb") as file:
                self._results[name] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._runs[name]

    def staged_bytes(self) -> int:
        """What is on the tier and not yet on the disk, as the command tells it."""
        words = [str(self._build / "bin" / "dovetail-staging"), "status", "--json", str(self._tier)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise RunFailed(f"{' '.join(words)}: exit status {done.returncode}\n{done.stderr}")
        return sum(one.get("staged_bytes", 0) for one in json.loads(done.stdout))

    def demonstrate(self) -> bool:
        load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
        if load > 0.5 * cores:
            self.say(f"note         this machine is busy (load {load:.1f}): the times below say little")
        self.calibrate()
        configured = configuration(self._scratch / "staging.json", self._tier)
        with self.slow_disk() as (path, device):
            self.measure(AS_IT_IS, path / "as_it_is", device, None)
            self.measure(STAGED, path / "staged", device, configured)
            half = self._checkpoints // 2
            killed = self.measure(KILLED, path / "killed", device, configured, half)
            on_tier = self.staged_bytes()
            again = self.measure(RESTARTED, path / "killed", device, configured)
        self.say("\n" + self.table() + "\n")
        closed = [phase.step for phase in killed.phases if phase.what == "checkpoint"]
        step = closed[-1]
        self.say(
            f"kill -9      all ranks, after checkpoint {len(closed)} (step {step}): {on_tier / 1e6:.1f} MB of it were on the tier alone."
            f" The next run went on from step {again.phases[0].step}{', which it read from the tier' if FOUND in again.said else ''}"
        )
        document = {"library": self._job.library, "ranks": RANKS, "cores": cores, "load": load}
        document["checkpoint_bytes"] = self._job.bytes
        document["runs"] = {name: one.as_json() for name, one in self._runs.items()}
        (self._output / "staging.json").write_text(json.dumps(document, indent=1) + "\n")
        target = self._output / "staging.png"
        picture.draw(self._runs, self._job.bytes, target)
        self.say(f"picture      {target}; all numbers: staging.json")
        return self.is_right(step, again)

    def is_right(self, step: int, again: Run) -> bool:
        # A rank may have closed one more that it could not tell of.
        if again.phases[0].step < step:
            self.say(f"results      WRONG: the checkpoint of step {step} was lost")
            return False
        different = set(self._results.values())
        if len(different) != 1:
            lines = [f"  {digest} {name}" for name, digest in self._results.items()]
            self.say("results      DIFFER:\n" + "\n".join(lines))
            return False
        self.say(
            f"results      the last checkpoints of all runs are the same bytes (SHA-256 {different.pop()[:16]}...)"
        )
        return True

    def table(self) -> str:
        rows = [("", "total s", "compute s", "waits for a checkpoint, s", "times shorter")]
        base = statistics.median(self._runs[AS_IT_IS].seconds_of("checkpoint"))
        for name in (AS_IT_IS, STAGED):
            found = self._runs[name]
            waits = statistics.median(found.seconds_of("checkpoint"))
            compute = sum(found.seconds_of("compute"))
            rows.append((name, f"{found.seconds:.2f}", f"{compute:.2f}", f"{waits:.3f}", f"{base / waits:.1f}"))
        return "\n".join(demonstration.aligned(rows))


def demonstrate(arguments: argparse.Namespace, output: Path, scratch: Path) -> int:
    demo = Demo(arguments, output, scratch)
    try:
        return 0 if demo.demonstrate() else 1
    finally:
        demo.close()


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tier", type=Path, help="a folder of a fast local disk, or of memory (default: in the output folder)"
    )
    parser.add_argument("--library", choices=LIBRARIES, help="MPI library (default: the first that is there)")


if __name__ == "__main__":
    sys.exit(demonstration.main(__doc__, demonstrate, options=options))
