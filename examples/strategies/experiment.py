"""Runs an application once for each strategy, each time in a process of its own, and compares total times.

The result of every run must be that of the reference: the same work done by hand, without tasks.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "devices"))

SKIPPED = 77
INTERRUPTED = 130
DEVICE = "target"
# After these a run that was asked to stop is killed: what it waits for on a slow device takes less.
PATIENCE_SECONDS = 10.0


class Missing(RuntimeError):
    """A tool or data set is not installed."""


class Application(Protocol):
    name: str
    about: str
    peak: float  # MB/s of the device that congests, unless the command line says otherwise

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Sizes."""

    def prepare(self, arguments: argparse.Namespace, data: Path) -> str:
        """Makes the input in `data` unless it is there, and describes it. Raises Missing."""

    def run(self, arguments: argparse.Namespace, data: Path, target: Path, strategy: str) -> Any:
        """Does the work with tasks, checkpoints going to `target`; returns when all is done. The result can be JSON."""

    def reference(self, arguments: argparse.Namespace, data: Path, scratch: Path) -> Any:
        """The result by hand."""

    def differs(self, result: Any, reference: Any) -> str | None:
        """What is wrong with a result, if anything."""


def cores_of(arguments: argparse.Namespace) -> int:
    """That the tasks of a run will have."""
    return arguments.workers or len(os.sched_getaffinity(0))


def seconds_of_each(work: Callable[[Any], object], items: Sequence[Any], cores: int) -> float:
    """All cores at work on the items, after once for practice: the time in all by the number of items."""
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(work, items[:cores]))
        begun = time.perf_counter()
        list(pool.map(work, items))
        return (time.perf_counter() - begun) / len(items)


def parser_of(application: Application) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=application.about, epilog=__doc__)
    parser.add_argument("--output", type=Path, default=Path(f"{application.name}-results"), help="for JSON and picture")
    parser.add_argument("--data", type=Path, help="for the data set, which is kept (default: a temporary folder)")
    parser.add_argument(
        "--target", type=Path, help="write checkpoints to this folder, and not to a device that congests"
    )
    parser.add_argument(
        "--peak",
        type=float,
        help=f"MB/s of the device that congests ({application.peak:g}), or that --target has (measured)",
    )
    parser.add_argument("--strategies", help="several, separated by spaces (default: those of the paper, and adaptive)")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each, in turn; the median counts (1)")
    parser.add_argument("--workers", type=int, help="compute workers (default: as many as cores)")
    parser.add_argument("--executors", type=int, help="I/O executors (default: what the runtime thinks right)")
    parser.add_argument("--report", action="store_true", help="a report page (dovetail run --report) for each strategy")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    application.add_arguments(parser)
    return parser


def default_strategies(bandwidth: float, executors: int | None) -> list[str]:
    sweep = [f"static:{bandwidth / at_once:g}" for at_once in (16, 8, 4, 2, 1)]
    bounded = f"auto({bandwidth / (executors or 8):g},{bandwidth:g},2)"
    return ["baseline", "unconstrained", *sweep, "auto", bounded, "adaptive"]


@contextmanager
def device_of(application: Application, arguments: argparse.Namespace) -> Iterator[tuple[Path, str]]:
    """The folder that checkpoints go to, and what it is."""
    if arguments.target is not None:
        arguments.target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=arguments.target) as folder:
            yield Path(folder), f"folder {arguments.target}"
        return
    from congested_fs import CongestedFs
    from fault_fs import FaultFsUnavailable

    try:
        with ExitStack() as stack:
            system = stack.enter_context(CongestedFs(peak=arguments.peak or application.peak))
            yield Path(system.path), f"device that congests, {arguments.peak or application.peak:g} MB/s"
    except FaultFsUnavailable as error:
        raise Missing(f"{error}; give a folder by --target") from error


def describe_device(scratch: Path, target: Path, bandwidth: float | None) -> None:
    """Writes the configuration of the runs. Without a bandwidth in MB/s it is measured when it is needed."""
    entry = f'[[device]]\nname = "{DEVICE}"\npaths = ["{target}"]\n'
    if bandwidth is not None:
        entry += f"write = {bandwidth}\nread = {bandwidth}\n"
    (scratch / "dovetail.toml").write_text(entry)


def run_one(application: Application, arguments: argparse.Namespace, data: Path, target: Path, strategy: str) -> dict:
    """In this process."""
    import dovetail as dt
    from dovetail import _core

    # Made before the clock starts: what is measured is the application.
    with dt.Runtime(workers=arguments.workers, io_executors=arguments.executors) as runtime:
        begun = time.perf_counter()
        result = application.run(arguments, data, target, strategy)
        dt.barrier()
        total = time.perf_counter() - begun
        workers = runtime.workers
    return {
        "strategy": strategy,
        "total_s": total,
        "workers": workers,
        "result": result,
        "admission": json.loads(_core.admission_report()),
    }


def follow(command: list[str], environment: dict[str, str], errors: Any, watch: Callable[[], None] | None) -> int:
    """Runs a command to its end, calls `watch` several times a second meanwhile, and returns its exit status.

    If this process is interrupted, so is the command with all that it has started.
    """
    # In a session of its own: Ctrl-C comes here first, and from here to all of it, once.
    with subprocess.Popen(command, env=environment, stderr=errors, start_new_session=True) as process:
        try:
            while True:
                try:
                    return process.wait(timeout=0.2 if watch else None)
                except subprocess.TimeoutExpired:
                    if watch:
                        watch()
        except BaseException:
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(timeout=PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            raise


def run_apart(
    script: list[str],
    strategy: str,
    folders: tuple[Path, Path],
    scratch: Path,
    report: Path | None = None,
    watch: Callable[[], None] | None = None,
) -> dict:
    """The application `script`, a path and its arguments, in a process of its own, which remembers nothing of earlier runs.

    With `watch`, which is called several times a second, what it says on standard error is shown only if it fails. Raises
    RuntimeError then.
    """
    data, target = folders
    answer = scratch / "answer.json"
    answer.unlink(missing_ok=True)
    state = tempfile.mkdtemp(dir=scratch, prefix="state-")
    script = [*script, "--one", f"{strategy}|{data}|{target}|{answer}"]
    command = [sys.executable, *script]
    if report is not None:
        command = [sys.executable, "-m", "dovetail.cli", "run", "--report", str(report), *script]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "XDG_STATE_HOME": state, "DOVETAIL_CONFIG": str(scratch / "dovetail.toml")}
    for left in target.iterdir():
        if left.is_file():
            left.unlink()
    with tempfile.TemporaryFile("w+", dir=scratch) as said:
        status = follow(command, environment, said if watch else None, watch)
        if status == 0 and answer.is_file():
            return json.loads(answer.read_text())
        said.seek(0)
        print(said.read(), end="", file=sys.stderr)
        raise RuntimeError(f"the run with strategy '{strategy}' ended with status {status}")


def median(numbers: list[float]) -> float:
    ordered = sorted(numbers)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def table(rows: list[dict]) -> str:
    base = next((row["total_s"] for row in rows if row["strategy"] == "baseline"), None)
    width = max(len(row["strategy"]) for row in rows)
    lines = [f"{'strategy':{width}}  {'total s':>8}  {'of baseline':>11}  {'learning':>8}  last constraint"]
    for row in rows:
        types = [kind for device in row["admission"]["devices"] for kind in device["types"]]
        learning = sum(kind.get("tasks_learning", 0) for kind in types)
        last = ", ".join(f"{kind['label']} {kind.get('current_mb_per_second', 0):g}" for kind in types)
        share = f"{row['total_s'] / base:11.0%}" if base else " " * 11
        lines.append(f"{row['strategy']:{width}}  {row['total_s']:8.2f}  {share}  {learning:8}  {last}")
    return "\n".join(lines)


def compare(application: Application, arguments: argparse.Namespace, words: list[str], scratch: Path) -> int:
    import plot
    from strategy import understood

    bandwidth = arguments.peak or application.peak
    strategies = (arguments.strategies or " ".join(default_strategies(bandwidth, arguments.executors))).split()
    strategies = [understood(text) for text in strategies]
    data = arguments.data or scratch / "data"
    data.mkdir(parents=True, exist_ok=True)
    arguments.output.mkdir(parents=True, exist_ok=True)
    print("data      ", application.prepare(arguments, data), flush=True)
    reference = application.reference(arguments, data, scratch)
    times: dict[str, list[float]] = {}
    rows: dict[str, dict] = {}
    wrong = 0
    with device_of(application, arguments) as (target, device):
        print("device    ", device, flush=True)
        describe_device(scratch, target, bandwidth if arguments.target is None else arguments.peak)
        for _ in range(arguments.repeat):
            for strategy in strategies:
                page = arguments.output / f"report-{plot.file_name(strategy)}.html" if arguments.report else None
                row = run_apart([os.path.abspath(sys.argv[0]), *words], strategy, (data, target), scratch, page)
                times.setdefault(strategy, []).append(row["total_s"])
                rows[strategy] = row
                problem = application.differs(row.pop("result"), reference)
                wrong += problem is not None
                print(
                    f"{strategy:24} {row['total_s']:8.2f} s   {'WRONG: ' + problem if problem else 'right'}", flush=True
                )
    for strategy, row in rows.items():
        row["total_s"], row["all_s"] = median(times[strategy]), times[strategy]
    document = {
        "application": application.name,
        "device": device,
        "cores": len(os.sched_getaffinity(0)),
        "arguments": {k: str(v) for k, v in vars(arguments).items() if k != "one"},
        "runs": list(rows.values()),
        "wrong": wrong,
    }
    (arguments.output / f"{application.name}.json").write_text(json.dumps(document, indent=1))
    plot.draw_totals(document, arguments.output / f"{application.name}.png")
    print("\n" + table(document["runs"]))
    print(
        f"\n{arguments.output / application.name}.json and .png; results {'DIFFER' if wrong else 'are those of the work by hand'}"
    )
    return 1 if wrong else 0


def main(application: Application) -> int:
    """The command line of an application. 77: something it needs is not installed; 1: a result is wrong; 2: bad usage."""
    parser = parser_of(application)
    words = sys.argv[1:]
    arguments = parser.parse_args(words)
    if arguments.one is not None:
        strategy, data, target, answer = arguments.one.split("|")
        try:
            Path(answer).write_text(json.dumps(run_one(application, arguments, Path(data), Path(target), strategy)))
        except KeyboardInterrupt:
            return INTERRUPTED
        return 0
    try:
        with tempfile.TemporaryDirectory(prefix=f"{application.name}-") as scratch:
            return compare(application, arguments, words, Path(scratch))
    except Missing as error:
        print(f"{application.name}: {error}", file=sys.stderr)
        return SKIPPED
    except ValueError as error:
        print(f"{application.name}: {error}", file=sys.stderr)
        return 2
    except RuntimeError as error:
        print(f"{application.name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
