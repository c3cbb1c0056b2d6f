"""Programs as they are, and with a plan of what they read."""

from harness.entry import Benchmark, Contender, Target

# Each launch measures both in turn: a round is one pair, so that no peer is needed.
PAIR = ("--repeat", "1")
SLOW = "cold, disk of 200 MB/s and 500 requests a second"
FAST = ("--bandwidth", "0", "--requests", "0")


def ratio(name: str, what: str, pattern: str, *options: str, quick: int = 220, most: float = 1.02) -> Benchmark:
    return Benchmark(
        f"prefetch_{name}",
        f"{what}, seconds with a plan / as it is",
        (Contender("dovetail", "prefetch_read", ("--pattern", pattern, *options, *PAIR)),),
        (Target("never slower", metric="ratio", at_most=most),),
        metric="ratio",
        unit="x",
        quick=("--reads", str(quick)),
    )


BENCHMARKS = [
    Benchmark(
        "prefetch_strided",
        f"4 400 reads of 250 KB with gaps and steps back, {SLOW}, seconds with a plan",
        (Contender("dovetail", "prefetch_read", PAIR),),
        (
            Target("7.0 s", metric="with_plan", at_most=7.0),
            Target("never slower", metric="ratio", at_most=1.0),
        ),
        metric="with_plan",
        unit="s",
        quick=("--reads", "440"),
    ),
    ratio("computing", "the same beside 2 ms of computation after each read", "strided", "--reads", "2200", "--compute", "2000", most=1.0),
    ratio("near", f"the same without what is not wanted in between, {SLOW}", "near", "--reads", "2200", most=1.0),
    ratio("sequential", f"a file in sequence, {SLOW}", "sequential", "--reads", "2200"),
    ratio("sequential_fast", "a file in sequence, cold, disk as it is", "sequential", "--reads", "2200", *FAST),
    ratio("backward", f"a file backward, {SLOW}", "backward", "--reads", "1100"),
    ratio("twice", f"a file in sequence and once more, {SLOW}", "twice", "--reads", "2200"),
    ratio("small_files", "5 000 files of 8 KB, cold, disk as it is", "files", "--reads", "5000", "--piece", "8192", *FAST),
    ratio("small_files_cached", "the same, cached", "files", "--reads", "5000", "--piece", "8192", "--cached", *FAST),
    ratio(
        "random_cached", "50 000 reads of 4 KiB at random, cached", "random", "--reads", "50000", "--piece", "4096", "--cached", *FAST, most=1.1
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
]  # fmt: skip
