#!/usr/bin/env python3
"""Applications of 4 ranks with MPI alone, with two-sided and with one-sided tasks, in turn; all results of an application must be the same.

The output folder gets a picture of the comparison and all numbers as JSON. Exit status: 1 if a run failed or a result is
another one, 2 for bad input, 130 if interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "demonstration"))

import demonstration  # noqa: E402
import picture  # noqa: E402
import ranks  # noqa: E402
from applications import APPLICATIONS, VARIANTS, Application  # noqa: E402
from bar import Bar  # noqa: E402
from demonstration import BadInput, RunFailed  # noqa: E402
from ranks import LIBRARIES, RANKS  # noqa: E402

LONGEST = 60.0  # seconds for one run: a hundred times what it takes


def program_of(application: Application, library: str, build: Path) -> Path:
    return build / "bin" / application.program.format(library=library)


def library_for(build: Path, wanted: str | None) -> str:
    """The library to use: the first for which everything is there."""
    missing = []
    for library in [wanted] if wanted else LIBRARIES:
        need = [path for path in (program_of(a, library, build) for a in APPLICATIONS) if not path.is_file()]
        if shutil.which(f"mpiexec.{library}") is None:
            missing.append(f"mpiexec.{library} is not installed")
        elif need:
            missing.append(f"{need[0]} is missing")
        else:
            return library
    raise BadInput("; ".join(missing) + ": `make demo-mpi` installs MPI and builds the programs")


def launch(command: list[str]) -> tuple[int, str, str]:
    """Exit status and what was printed. Nothing that it started is left when this is left."""
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | ranks.ENVIRONMENT,
        start_new_session=True,
    ) as process:
        try:
            printed, said = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired as late:
            raise RunFailed(f"{' '.join(command)} has not ended after {LONGEST:.0f} s") from late
        finally:
            if process.poll() is None:
                ranks.end(process)
        return process.returncode, printed, said


def run(program: Path, library: str, variant: str, arguments: tuple[str, ...], folders: dict[str, Path]) -> dict:
    """What the first rank has reported: `checksum` and `all_s`, the seconds of each timed run."""
    command = [f"mpiexec.{library}", "-n", str(RANKS), str(program), "--variant", variant]
    command += [argument.format(**folders) for argument in arguments]
    status, printed, said = launch(command)
    report = folders["run"] / "report.json"
    try:
        told = json.loads(report.read_text() if report.exists() else printed)
    except ValueError:
        told = {}
    if status != 0 or not told.get("correct", bool(told)):
        raise RunFailed(f"{' '.join(command)}: exit status {status}\n{told.get('wrong') or said}")
    all_s = told["metrics"]["seconds"] if "metrics" in told else [told["seconds"]]
    return {"checksum": told["checksum"], "all_s": all_s}


def same_result(application: Application, checksums: dict[str, str]) -> None:
    if len(set(checksums.values())) != 1:
        shown = ", ".join(f"{variant} {checksum}" for variant, checksum in checksums.items())
        raise RunFailed(f"the results of {application.name} differ: {shown}")


def table(rows: list[dict]) -> str:
    lines = [("application", "variant", "median s", "fastest", "slowest", "speed-up")]
    base = {row["application"]: row["median_s"] for row in rows if row["variant"] == next(iter(VARIANTS))}
    for row in rows:
        lines.append(
            (
                row["application"],
                row["variant"],
                f"{row['median_s']:.3f}",
                f"{min(row['all_s']):.3f}",
                f"{max(row['all_s']):.3f}",
                f"{base[row['application']] / row['median_s']:.2f} x" if row["application"] in base else "",
            )
        )
    return "\n".join(demonstration.aligned(lines, 2))


class Demo:
    def __init__(self, arguments: argparse.Namespace, output: Path, scratch: Path) -> None:
        self._scratch = scratch
        self._build = arguments.build_dir
        self._library = library_for(self._build, arguments.library)
        self._output = output
        self._is_small = arguments.small
        self._rounds = 1 if arguments.small else 5
        self._bar = Bar({**{a.name: self._rounds * len(a.variants) * a.seconds for a in APPLICATIONS}, "picture": 2})

    def say(self, text: str) -> None:
        self._bar.clear()
        print(text, flush=True)

    def close(self) -> None:
        self._bar.clear()

    def run_in_turn(self, application: Application) -> list[dict]:
        """All variants, round by round, so that what disturbs the machine disturbs all of them."""
        self._bar.begin(application.name)
        seconds: dict[str, list[float]] = {variant: [] for variant in application.variants}
        checksums: dict[str, str] = {}
        program = program_of(application, self._library, self._build)
        arguments = application.small if self._is_small else application.large
        application.prepare(self._scratch)
        turns = [(number, variant) for number in range(self._rounds) for variant in application.variants]
        for done, (_, variant) in enumerate(turns):
            self._bar.show(done / len(turns))
            with tempfile.TemporaryDirectory(dir=self._scratch) as folder:
                folders = {"data": self._scratch, "run": Path(folder)}
                told = run(program, self._library, variant, arguments, folders)
            seconds[variant] += told["all_s"]
            checksums[f"{variant} in turn {len(seconds[variant])}"] = told["checksum"]
            same_result(application, checksums)
        self._bar.end()
        self.say(f"{application.name:12} {application.title}: {len(turns)} runs, all with the same result")
        return [
            {"application": application.name, "variant": v, "median_s": statistics.median(all_s), "all_s": all_s}
            for v, all_s in seconds.items()
        ]

    def demonstrate(self) -> None:
        begun = time.monotonic()
        cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
        self.say(f"ranks        {RANKS} on {cores} cores, started by mpiexec.{self._library}")
        demonstration.say_if_busy(self.say)
        for variant, meaning in VARIANTS.items():
            self.say(f"{variant:12} {meaning}")
        rows = [row for application in APPLICATIONS for row in self.run_in_turn(application)]
        self._bar.begin("picture")
        document = {"library": self._library, "ranks": RANKS, "cores": cores, "load": load, "runs": rows}
        (self._output / "messages.json").write_text(json.dumps(document, indent=1) + "\n")
        titles = {application.name: application.title for application in APPLICATIONS}
        picture.draw(document, titles, self._output / "messages.png")
        self._bar.end()
        self.say("\n" + table(rows) + "\n")
        print(f"picture      {self._output}/messages.png; all numbers: messages.json; {time.monotonic() - begun:.0f} s")


def demonstrate(arguments: argparse.Namespace, output: Path, scratch: Path) -> int:
    demo = Demo(arguments, output, scratch)
    try:
        demo.demonstrate()
        return 0
    finally:
        demo.close()


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--library", choices=LIBRARIES, help="MPI library (default: the first that is there)")


def main(words: list[str] | None = None) -> int:
    return demonstration.main(__doc__, demonstrate, words, options)


if __name__ == "__main__":
    sys.exit(main())
