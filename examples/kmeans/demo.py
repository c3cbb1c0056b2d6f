#!/usr/bin/env python3
"""k-means with checkpoints, without and with I/O tasks, on a device that congests or on the own disk; each result is compared with plain NumPy's.

The output folder gets a page (kmeans.html) and all numbers as JSON; where matplotlib and jinja2 are installed also a page for each run, which shows
where its time went, and a picture of the total times.
Exit status: 1 if a run failed or a result is wrong, 2 for bad input, 130 if interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(EXAMPLES / "strategies"), str(EXAMPLES / "demonstration")]

import demonstration  # noqa: E402
import experiment  # noqa: E402
import page  # noqa: E402
from bar import Bar  # noqa: E402

SCRIPT = Path(__file__).with_name("kmeans.py")
STRATEGIES = ("baseline", "unconstrained", "adaptive")
MEANING = {
    "baseline": "checkpoints are ordinary tasks: each holds a core until the device has it",
    "unconstrained": "checkpoints are I/O tasks: they hold no core; twice as many as workers write at once",
    "adaptive": "I/O tasks, as many at once as suit the device, which Dovetail finds out by itself",
}
SIZES = {
    "large": ("--points", "1572864", "--iterations", "3"),
    "own disk": ("--points", "262144", "--fragments", "16", "--iterations", "3"),
    "small": ("--points", "65536", "--fragments", "8", "--centers", "32", "--iterations", "2"),
}
# Runs of each on the own disk, in turn, since others use it too.
TURNS_ON_OWN_DISK = 3
# Seconds, for the progress bar only.
EXPECTED = {"data": 1.0, "by hand": 8.0, "baseline": 14.0, "unconstrained": 9.0, "adaptive": 8.0}


def phase_of(strategy: str, turn: int) -> str:
    """What the progress bar calls a run."""
    return strategy if turn == 0 else f"{strategy}, turn {turn + 1}"


@contextmanager
def device(application: experiment.Application, own: bool, output: Path) -> Iterator[tuple[Path, str, float | None]]:
    """The folder for checkpoints, what it is, and its MB/s if they are known. A real disk if it is asked for, or where there can be no other."""
    arguments = argparse.Namespace(target=output if own else None, peak=None)
    with ExitStack() as stack:
        bandwidth: float | None = None if own else application.peak
        try:
            target, text = stack.enter_context(experiment.device_of(application, arguments))
        except experiment.Missing as missing:
            why = str(missing).partition("; give a folder")[0]
            print(
                f"note       no device that congests ({why}):\n           checkpoints go to the real disk, where less is gained"
            )
            arguments.target, bandwidth = output, None
            target, _ = stack.enter_context(experiment.device_of(application, arguments))
            text = f"the real disk, in {output}"
        yield target, text, bandwidth


class Demo:
    def __init__(self, arguments: argparse.Namespace, output: Path, scratch: Path) -> None:
        from kmeans import KMeans

        self.application = KMeans()
        size = "small" if arguments.small else "own disk" if arguments.own_disk else "large"
        self.words = [*SIZES[size]]
        self.turns = TURNS_ON_OWN_DISK if arguments.own_disk and not arguments.small else 1
        # Pages of single runs need both.
        self.has_pages = all(map(find_spec, ("jinja2", "matplotlib")))
        if arguments.executors is not None:
            self.words += ["--executors", str(arguments.executors)]
        self.sizes = experiment.parser_of(self.application).parse_args(self.words)
        self.output, self.scratch, self.data = output, scratch, scratch / "data"
        self.data.mkdir()
        share = 0.4 if size == "own disk" else 1
        phases = {phase: share * EXPECTED[phase] for phase in ("data", "by hand")}
        for turn in range(self.turns):
            phases |= {phase_of(strategy, turn): share * EXPECTED[strategy] for strategy in STRATEGIES}
        self.bar = Bar(phases)

    def say(self, text: str) -> None:
        self.bar.clear()
        print(text, flush=True)

    def prepare(self) -> Any:
        self.bar.begin("data")
        self.what = self.application.prepare(self.sizes, self.data)
        self.say("data       " + self.what)
        self.bar.end()
        self.bar.begin("by hand")
        begun = time.perf_counter()
        result = self.application.reference(self.sizes, self.data, self.scratch)
        self.say(f"by hand    plain NumPy, without checkpoints: {time.perf_counter() - begun:.1f} s")
        self.bar.end()
        return result

    def run(self, strategy: str, turn: int, target: Path, reference: Any) -> dict:
        self.bar.begin(phase_of(strategy, turn))
        every = self.sizes.iterations * self.sizes.fragments

        def watch() -> None:
            self.bar.show(len(os.listdir(target)) / every)

        row = experiment.run_apart(
            [str(SCRIPT), *self.words],
            strategy,
            (self.data, target),
            self.scratch,
            self.report_of(strategy) if self.has_pages else None,
            watch,
        )
        self.bar.end()
        problem = self.application.differs(row.pop("result"), reference)
        if problem is not None:
            raise demonstration.RunFailed(f"the run with strategy '{strategy}' gave a wrong result: {problem}")
        self.say(f"{strategy:14} {row['total_s']:6.2f} s  {MEANING[strategy]}")
        return row

    def report_of(self, strategy: str) -> Path:
        return self.output / f"report-{strategy}.html"

    def run_all(self, target: Path, reference: Any) -> list[dict]:
        """A row of each strategy: its last run, with the median of all."""
        seconds: dict[str, list[float]] = {strategy: [] for strategy in STRATEGIES}
        rows: dict[str, dict] = {}
        for turn in range(self.turns):
            for strategy in STRATEGIES:
                rows[strategy] = self.run(strategy, turn, target, reference)
                seconds[strategy].append(rows[strategy]["total_s"])
        for strategy, row in rows.items():
            row["total_s"], row["all_s"] = experiment.median(seconds[strategy]), seconds[strategy]
        return list(rows.values())

    def show(self, rows: list[dict], name: str) -> None:
        document = {
            "application": self.application.name,
            "device": name,
            "cores": len(os.sched_getaffinity(0)),
            "runs": rows,
        }
        (self.output / "kmeans.json").write_text(json.dumps(document, indent=1))
        ways = [
            page.Row(
                row["strategy"],
                MEANING[row["strategy"]],
                row["all_s"],
                self.report_of(row["strategy"]).name if self.has_pages else None,
            )
            for row in rows
        ]
        facts = [("program", "k-means with a checkpoint of every fragment"), ("data", self.what), ("device", name)]
        facts += [("cores", str(document["cores"])), ("load", f"{os.getloadavg()[0]:.1f} in the last minute")]
        page.write(self.output / "kmeans.html", "k-means without and with I/O tasks", facts, ways)
        self.say("\n" + experiment.table(rows) + "\n")
        print(page.conclusion(ways, ways[0]) + "\n")
        print(
            f"results    all {self.turns * len(rows)} are those of plain NumPy: the same centres, and the same distances on the device"
        )
        print(f"page       {self.output}/kmeans.html")
        if self.has_pages:
            import plot

            plot.draw_totals(document, self.output / "kmeans.png")
            print("           report-*.html: where the time went, and what was learned; kmeans.png: the totals")
        else:
            print("           pages of single runs need two packages more: pip install jinja2 matplotlib")
        page.show(self.output / "kmeans.html")


def demonstrate(arguments: argparse.Namespace, output: Path, scratch: Path) -> int:
    build = arguments.build_dir
    if build is not None and not list((build / "python" / "dovetail").glob("_core.*so")):
        raise demonstration.BadInput(f"{build}/python/dovetail has no extension module: run `make build`")
    demonstration.use_package(build)
    demo = Demo(arguments, output, scratch)
    try:
        demonstration.say_if_busy(demo.say)
        reference = demo.prepare()
        with device(demo.application, arguments.own_disk, output) as (target, name, bandwidth):
            demo.say(f"device     {name}")
            experiment.describe_device(scratch, target, bandwidth)
            rows = demo.run_all(target, reference)
        demo.show(rows, name)
    finally:
        demo.bar.clear()
    return 0


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--executors", type=int, help="I/O executors (default: what the runtime thinks right)")
    parser.add_argument(
        "--own-disk",
        action="store_true",
        help="checkpoints go to the disk of the output folder, and not to one that congests",
    )


def main(words: list[str] | None = None) -> int:
    return demonstration.main(__doc__, demonstrate, words, options, installed=True)


if __name__ == "__main__":
    sys.exit(main())
