"""Runs the programs of one benchmark in turns, so that a disturbance of the machine slows all contenders alike."""

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness.entry import Benchmark, Contender
from harness.machine import load_now

LONGEST_LAUNCH = 900  # seconds


class Progress:
    """One line on standard error that says what runs, or one line a benchmark where that is no terminal."""

    def __init__(self, launches: int) -> None:
        self._launches = launches
        self._done = 0
        self._started = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._last_benchmark = ""

    def step(self, benchmark: str, contender: str, round_number: int, rounds: int) -> None:
        elapsed = time.monotonic() - self._started
        text = f"[{self._done:4}/{self._launches}] {elapsed:5.0f} s  {benchmark}"
        if self._terminal:
            print(f"\r\033[K{text}: {contender}, round {round_number}/{rounds}", end="", file=sys.stderr, flush=True)
        elif benchmark != self._last_benchmark:
            print(text, file=sys.stderr, flush=True)
        self._last_benchmark = benchmark
        self._done += 1

    def finish(self) -> None:
        if self._terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


@dataclass
class Result:
    """What all contenders of one benchmark measured: contender -> metric -> one value a round (None: it failed)."""

    benchmark: Benchmark
    values: dict[str, list[dict[str, float] | None]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    broken: bool = False
    load: float = 0.0

    def series(self, contender: str, metric: str) -> list[float]:
        rounds = self.values.get(contender, [])
        return [values[metric] for values in rounds if values is not None and metric in values]

    def ratios(self, contender: str, metric: str, peer: str, peer_metric: str) -> list[float]:
        """Of the rounds in which both have a value."""
        pairs = zip(self.values.get(contender, []), self.values.get(peer, []), strict=False)
        return [a[metric] / b[peer_metric] for a, b in pairs if a and b and metric in a and b.get(peer_metric)]

    def as_json(self) -> dict:
        return {
            "name": self.benchmark.name,
            "title": self.benchmark.title,
            "load": self.load,
            "problems": self.problems,
            "values": self.values,
        }


def _launch(program: Path, contender: Contender, extra: tuple[str, ...]) -> tuple[dict[str, float] | None, str]:
    """The median of each metric of one launch, or None and what went wrong."""
    command = [str(program), *contender.arguments, *extra, "--json"]
    shown = " ".join([program.name, *command[1:]])
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **contender.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST_LAUNCH,
        )
    except subprocess.TimeoutExpired:
        return None, f"{shown}: not finished after {LONGEST_LAUNCH} s"
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        return None, f"{shown}: exit status {done.returncode}: {last}"
    try:
        report = json.loads(done.stdout)
        if not report["correct"]:
            return None, f"{shown}: wrong answer: {report.get('wrong', '')}"
        return {name: statistics.median(samples) for name, samples in report["metrics"].items() if samples}, ""
    except (ValueError, KeyError, TypeError) as error:
        return None, f"{shown}: its report cannot be read ({error!r})"


def run_benchmark(benchmark: Benchmark, rounds: int, quick: bool, build_dir: Path, progress: Progress) -> Result:
    """Runs every contender once a round. One that fails is not launched again; one that is not built is named."""
    result = Result(benchmark, load=load_now())
    extra = benchmark.quick if quick else ()
    left_out: set[str] = set()
    for round_number in range(1, rounds + 1):
        for contender in benchmark.contenders:
            progress.step(benchmark.name, contender.name, round_number, rounds)
            if contender.name in left_out:
                continue
            program = build_dir / "bin" / contender.program
            if not program.exists():
                left_out.add(contender.name)
                result.problems.append(f"{benchmark.name}, {contender.name}: {contender.program} was not built")
                continue
            metrics, problem = _launch(program, contender, extra)
            result.values.setdefault(contender.name, []).append(metrics)
            if metrics is None:
                left_out.add(contender.name)
                result.broken = True
                result.problems.append(f"{benchmark.name}, {contender.name}: {problem}")
    return result
