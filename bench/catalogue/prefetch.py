"""Programs as they are, and with a plan of what they read."""

from harness.entry import Benchmark, Contender, Target

# Each launch measures both in turn: a round is one pair, so that no peer is needed.
PAIR = ("--repeat", "1")


BENCHMARKS = [
    Benchmark(
        "prefetch_strided",
        "4 400 reads of 250 KB with gaps and steps back, cold, disk of 200 MB/s and 500 requests a second, seconds with a plan",
        (Contender("dovetail", "prefetch_strided", PAIR),),
        (
            Target("7.0 s", metric="with_plan", at_most=7.0),
            Target("never slower", metric="ratio", at_most=1.0),
        ),
        metric="with_plan",
        unit="s",
        quick=("--reads", "440"),
    ),
    Benchmark(
        "prefetch_computing",
        "the same beside 2 ms of computation after each read, seconds with a plan / as it is",
        (Contender("dovetail", "prefetch_strided", ("--reads", "2200", "--compute", "2000", *PAIR)),),
        (Target("never slower", metric="ratio", at_most=1.0),),
        metric="ratio",
        unit="x",
        quick=("--reads", "440"),
    ),
    Benchmark(
        "prefetch_calls",
        "pread of one cached byte of a file that no plan is about, ns above the C library's",
        (Contender("dovetail", "prefetch_calls", PAIR),),
        (
            Target("50 ns", metric="extra_ns", at_most=50),
            Target("150 ns, of a file in the plan", metric="planned_ns", at_most=150),
        ),
        metric="extra_ns",
        quick=("--pairs", "500"),
    ),
]
