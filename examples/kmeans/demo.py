#!/usr/bin/env python3
"""k-means with checkpoints, without and with I/O tasks, on a device that congests; each result is compared with plain NumPy's.

The output folder gets a page for each run (open it in a browser), a picture of the total times, and all numbers as JSON.
Exit status: 1 if a run failed or a result is wrong, 2 for bad input, 130 if interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(EXAMPLES / "strategies"), str(EXAMPLES / "heat")]

import experiment  # noqa: E402
from demo_display import Bar  # noqa: E402

SCRIPT = Path(__file__).with_name("kmeans.py")
STRATEGIES = ("baseline", "unconstrained", "adaptive")
MEANING = {
    "baseline": "checkpoints are ordinary tasks: each holds a core until the device has it",
    "unconstrained": "checkpoints are I/O tasks: they hold no core; twice as many as workers write at once",
    "adaptive": "I/O tasks, as many at once as suit the device, which Dovetail finds out by itself",
}
SIZES = {
    "large": ("--points", "1572864", "--iterations", "3"),
    "small": ("--points", "65536", "--fragments", "8", "--centers", "32", "--iterations", "2"),
}
# Seconds, for the progress bar only.
EXPECTED = {"data": 1.0, "by hand": 8.0, "baseline": 14.0, "unconstrained": 9.0, "adaptive": 8.0}


class WrongResult(RuntimeError):
    """A run gave something else than plain NumPy."""


class Stopped(BaseException):
    """Asked to end by a signal."""


def end_once(number: int, _: object) -> None:
    # Only the clean-up is left, and a second Ctrl-C must not stop it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped(128 + number)


@contextmanager
def device(application: experiment.Application, output: Path) -> Iterator[tuple[Path, str, float | None]]:
    """The folder for checkpoints, what it is, and its MB/s if they are known. A real disk where there can be no other."""
    arguments = argparse.Namespace(target=None, peak=None)
    with ExitStack() as stack:
        bandwidth: float | None = application.peak
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
    def __init__(self, arguments: argparse.Namespace, sizes: tuple[str, ...], output: Path, scratch: Path) -> None:
        from kmeans import KMeans

        self.application = KMeans()
        self.words = [*sizes]
        if arguments.executors is not None:
            self.words += ["--executors", str(arguments.executors)]
        self.sizes = experiment.parser_of(self.application).parse_args(self.words)
        self.output, self.scratch, self.data = output, scratch, scratch / "data"
        self.data.mkdir()
        self.bar = Bar({phase: EXPECTED[phase] for phase in ("data", "by hand", *STRATEGIES)})

    def say(self, text: str) -> None:
        self.bar.clear()
        print(text, flush=True)

    def prepare(self) -> Any:
        self.bar.begin("data")
        self.say("data       " + self.application.prepare(self.sizes, self.data))
        self.bar.end()
        self.bar.begin("by hand")
        begun = time.perf_counter()
        result = self.application.reference(self.sizes, self.data, self.scratch)
        self.say(f"by hand    plain NumPy, without checkpoints: {time.perf_counter() - begun:.1f} s")
        self.bar.end()
        return result

    def run(self, strategy: str, target: Path, reference: Any) -> dict:
        self.bar.begin(strategy)
        every = self.sizes.iterations * self.sizes.fragments

        def watch() -> None:
            self.bar.show(len(os.listdir(target)) / every)

        row = experiment.run_apart(
            [str(SCRIPT), *self.words],
            strategy,
            (self.data, target),
            self.scratch,
            self.output / f"report-{strategy}.html",
            watch,
        )
        self.bar.end()
        problem = self.application.differs(row.pop("result"), reference)
        if problem is not None:
            raise WrongResult(f"the run with strategy '{strategy}' gave a wrong result: {problem}")
        row["all_s"] = [row["total_s"]]
        self.say(f"{strategy:14} {row['total_s']:6.2f} s  {MEANING[strategy]}")
        return row

    def show(self, rows: list[dict], name: str) -> None:
        import plot

        document = {
            "application": self.application.name,
            "device": name,
            "cores": len(os.sched_getaffinity(0)),
            "runs": rows,
        }
        (self.output / "kmeans.json").write_text(json.dumps(document, indent=1))
        plot.draw_totals(document, self.output / "kmeans.png")
        self.say("\n" + experiment.table(rows) + "\n")
        print(
            f"results    all {len(rows)} are those of plain NumPy: the same centres, and the same distances on the device"
        )
        print(
            f"pages      {self.output}/report-*.html: where the time went, and what was learned; kmeans.png: the totals"
        )


def warn_if_busy(demo: Demo) -> None:
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    if load > 0.5 * cores:
        demo.say(f"note       this machine is busy (load {load:.1f} on {cores} cores): the times below say little")


def demonstrate(arguments: argparse.Namespace) -> int:
    output = (arguments.output or arguments.build_dir / "demo").resolve()
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="scratch-", dir=output) as folder:
        scratch = Path(folder)
        demo = Demo(arguments, SIZES["small" if arguments.small else "large"], output, scratch)
        try:
            warn_if_busy(demo)
            reference = demo.prepare()
            with device(demo.application, output) as (target, name, bandwidth):
                demo.say(f"device     {name}")
                experiment.describe_device(scratch, target, bandwidth)
                rows = [demo.run(strategy, target, reference) for strategy in STRATEGIES]
            demo.show(rows, name)
        finally:
            demo.bar.clear()
    return 0


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=Path, required=True, help="where python/dovetail is")
    parser.add_argument("--output", type=Path, help="for pages and pictures (default: demo in the build folder)")
    parser.add_argument("--small", action="store_true", help="small and quick: a test, the numbers say nothing")
    parser.add_argument("--executors", type=int, help="I/O executors (default: what the runtime thinks right)")
    arguments = parser.parse_args(words)
    package = arguments.build_dir.resolve() / "python"
    if not list((package / "dovetail").glob("_core.*so")):
        print(f"demo: {package}/dovetail has no extension module: run `make build`", file=sys.stderr)
        return 2
    sys.path.insert(0, str(package))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH")]))
    os.environ["DOVETAIL_BUILD_DIR"] = str(arguments.build_dir.resolve())
    signal.signal(signal.SIGINT, end_once)
    signal.signal(signal.SIGTERM, end_once)
    try:
        return demonstrate(arguments)
    except Stopped as stopped:
        print("demo: interrupted", file=sys.stderr)
        return stopped.args[0]
    except OSError as error:
        print(f"demo: {error.filename or arguments.output}: {error.strerror}", file=sys.stderr)
        return 2
    except RuntimeError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
