"""Programs as they are, with a plan of what they read, by rules, with detection, and tasks that say what they read."""

from harness.entry import Benchmark, Contender, Target

# Each launch measures all three in turn: a round is one of each, so that no peer is needed.
PAIR = ("--repeat", "1")
SLOW = "cold, disk of 200 MB/s and 500 requests a second"
FAST = ("--bandwidth", "0", "--requests", "0")


def ratio(name: str, what: str, pattern: str, *options: str, quick: int = 220, most: float = 1.02) -> Benchmark:
    return Benchmark(
        f"prefetch_{name}",
        f"{what}, seconds with detection / as it is",
        (Contender("dovetail", "prefetch_read", ("--pattern", pattern, *options, *PAIR)),),
        (
            Target("never slower", metric="detect_ratio", at_most=most),
            Target("never slower, with a plan", metric="with_plan_ratio", at_most=most),
        ),
        metric="detect_ratio",
        unit="x",
        quick=("--reads", str(quick)),
    )


BENCHMARKS = [
    Benchmark(
        "prefetch_strided",
        f"4 400 reads of 250 KB with gaps and steps back, {SLOW}, seconds with detection",
        (Contender("dovetail", "prefetch_read", PAIR),),
        (
            Target("8.0 s", metric="detect", at_most=8.0),
            Target("7.0 s, with a plan", metric="with_plan", at_most=7.0),
            Target("never slower", metric="detect_ratio", at_most=1.0),
            Target("never slower, with a plan", metric="with_plan_ratio", at_most=1.0),
        ),
        metric="detect",
        unit="s",
        quick=("--reads", "440"),
    ),
    ratio("computing", "the same beside 2 ms of computation after each read", "strided", "--reads", "2200", "--compute", "2000", most=1.0),
    ratio("near", f"the same without what is not wanted in between, {SLOW}", "near", "--reads", "2200", most=1.0),
    ratio("sequential", f"a file in sequence, {SLOW}", "sequential", "--reads", "2200"),
    ratio("sequential_fast", "a file in sequence, cold, disk as it is", "sequential", "--reads", "2200", *FAST),
    ratio("backward", f"a file backward, {SLOW}", "backward", "--reads", "1100"),
    ratio("random", f"a file at random, {SLOW}", "random", "--reads", "1100", "--piece", "65536"),
    ratio("grows", f"a file in sequence that grows meanwhile, {SLOW}", "grows", "--reads", "2200"),
    ratio("little_memory", f"strided, beside no more memory than 96 MB, {SLOW}", "strided", "--reads", "2200", "--memory", "96"),
    ratio(
        "memory_gets_short",
        f"strided, 256 MB of memory of which the program takes 200 half-way, {SLOW}",
        "strided", "--reads", "2200", "--memory", "256", "--takes", "200",
    ),
    ratio("twice", f"a file in sequence and once more, {SLOW}", "twice", "--reads", "2200"),
    ratio("again", f"1 100 places at random and, cold, once more in the same order, {SLOW}", "again", "--reads", "2200", "--piece", "65536", most=0.9),
    ratio("small_files", "5 000 files of 8 KB, cold, disk as it is", "files", "--reads", "5000", "--piece", "8192", *FAST),
    ratio("small_files_cached", "the same, cached", "files", "--reads", "5000", "--piece", "8192", "--cached", *FAST),
    ratio(
        "random_cached", "50 000 reads of 4 KiB at random, cached", "random", "--reads", "50000", "--piece", "4096", "--cached", *FAST, most=1.1
    ),
    Benchmark(
        "prefetch_processes",
        f"4 readers of one file at once, {SLOW}, seconds with one advisor for all / as they are",
        (Contender("dovetail", "prefetch_processes", ("--pattern", "near", "--reads", "1100", *PAIR)),),
        (Target("never slower", metric="ratio", at_most=1.0),),
        metric="ratio",
        unit="x",
        quick=("--reads", "220"),
    ),
    Benchmark(
        "prefetch_pending",
        f"2 000 tasks that each read 4 KiB at random and compute, {SLOW}, seconds of a thread that reads in that order / read ahead from the graph",
        (Contender("dovetail", "prefetch_pending", ("--pattern", "random", "--reads", "2000", "--piece", "4096", *PAIR)),),
        (Target("0.9 of a perfect read-ahead", metric="share", at_least=0.9),),
        metric="share",
        unit="x",
        quick=("--reads", "200"),
    ),
    Benchmark(
        "prefetch_calls",
        "pread of one cached byte of a file that no plan is about, ns above the C library's",
        (Contender("dovetail", "prefetch_calls", PAIR),),
        (
            Target("50 ns", metric="extra_ns", at_most=50),
            Target("150 ns, of a file in the plan", metric="planned_ns", at_most=150),
            Target("50 ns, with detection", metric="detect_ns", at_most=50),
            Target("50 ns, with detection and at random", metric="detect_random_ns", at_most=50),
        ),
        metric="extra_ns",
        quick=("--pairs", "500"),
    ),
    Benchmark(
        "prefetch_system",
        "pread of one cached byte of a file that no plan is about, ns above the same without the kernel's events",
        (Contender("dovetail", "prefetch_system", PAIR),),
        (Target("100 ns", metric="extra_ns", at_most=100),),
        metric="extra_ns",
        quick=("--pairs", "500"),
    ),
]  # fmt: skip
