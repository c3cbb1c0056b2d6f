"""Tasks that compute and transfer, beside the better of two programs without Dovetail's I/O (docs/tiom.md)."""

from harness.entry import Benchmark, Contender, Target


def tiom(mode: str, pattern: str, block: str, operations: int) -> Benchmark:
    shared = ("--mode", mode, "--pattern", pattern, "--block", block, "--operations", str(operations))
    return Benchmark(
        f"tiom_{mode}_{pattern}_{block.lower()}",
        f"TIOM: {mode} {pattern}, blocks of {block}, 1 ms of computation, 4 series a worker, times the better of tasks with plain calls "
        "and a thread for each series",
        (Contender("dovetail", "tiom_baseline", shared),),
        (
            Target("no slower, pausing calls", metric="blocking_over_baseline", at_least=1.0),
            Target("no slower, bound calls", metric="nonblocking_over_baseline", at_least=1.0),
        ),
        metric="blocking_over_baseline",
        unit="x",
        quick=("--operations", "64", "--rounds", "1"),
    )


BENCHMARKS = [
    tiom("mix", "rr", "4K", 2000),
    tiom("mix", "rr", "128K", 2000),
    tiom("mix", "rw", "128K", 2000),
    tiom("fjio", "rr", "128K", 8000),
    tiom("fjio", "rw", "32K", 8000),
]
