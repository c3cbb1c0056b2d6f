"""Runs the benchmarks of bench/catalogue, each contender in turn, and prints one table. Builds nothing."""

import argparse
import json
import signal
import sys
import time
from pathlib import Path

from catalogue import BENCHMARKS
from harness.machine import describe_machine, load_now
from harness.runner import Progress, run_benchmark
from harness.table import print_table, rows_of, summary_of


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=Path, default=Path("build/release"), help="where the programs were built")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="benchmarks whose name holds TEXT")
    parser.add_argument("--quick", action="store_true", help="small sizes and 2 rounds: whether it works, not how fast")
    parser.add_argument("--rounds", type=int, metavar="N", help="turns of each contender (5, or as the catalogue says)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured to FILE")
    parser.add_argument("--list", action="store_true", help="print the names of the benchmarks")
    parser.add_argument("--strict", action="store_true", help="exit status 1 when a target is missed")
    arguments = parser.parse_args()
    if arguments.rounds is not None and arguments.rounds < 1:
        parser.error(f"--rounds {arguments.rounds}: at least 1")
    if not arguments.list and not (arguments.build_dir / "bin").is_dir():
        parser.error(f"{arguments.build_dir}/bin does not exist: run `make bench`, or name the folder with --build-dir")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    chosen = [b for b in BENCHMARKS if not arguments.only or any(text in b.name for text in arguments.only)]
    if not chosen:
        names = ", ".join(b.name for b in BENCHMARKS)
        print(f"no benchmark's name holds {' or '.join(arguments.only)}; there are: {names}", file=sys.stderr)
        return 2
    if arguments.list:
        for benchmark in chosen:
            print(f"{benchmark.name:32} {benchmark.title}")
        return 0

    machine = describe_machine()
    load_before = load_now()
    started = time.time()
    rounds = [arguments.rounds or (2 if arguments.quick and b.rounds > 1 else b.rounds) for b in chosen]
    progress = Progress(sum(count * len(b.contenders) for b, count in zip(chosen, rounds, strict=True)))
    results = []
    interrupted = False
    # A long run that is stopped still prints what it has.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for benchmark, count in zip(chosen, rounds, strict=True):
            results.append(run_benchmark(benchmark, count, arguments.quick, arguments.build_dir, progress))
    except KeyboardInterrupt:
        interrupted = True
    progress.finish()

    rows = [row for result in results for row in rows_of(result)]
    print_table(rows)
    problems = [problem for result in results for problem in result.problems]
    for problem in problems:
        print(f"NOT MEASURED: {problem}")
    print(summary_of(rows))
    print(f"machine: {machine['text']}")
    print(f"load: {load_before:.2f} at the start, {load_now():.2f} at the end; {time.time() - started:.0f} s")
    if load_before > 0.5:
        print("Other programs were running when this started: take absolute numbers with care.")
    if interrupted:
        print(f"Stopped: {len(chosen) - len(results)} of {len(chosen)} benchmarks are missing.")
    if arguments.quick:
        print("This was --quick: the sizes are too small for a verdict.")
    if arguments.json:
        document = {
            "machine": machine,
            "load": [load_before, load_now()],
            "quick": arguments.quick,
            "benchmarks": [result.as_json() for result in results],
            "rows": [row.as_json() for row in rows],
        }
        arguments.json.write_text(json.dumps(document, indent=1) + "\n")
    missed = any(row.verdict == "missed" for row in rows)
    broken = any(result.broken for result in results)
    return 1 if broken or interrupted or (arguments.strict and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
