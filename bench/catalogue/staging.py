"""Checkpoints to a slow disk by way of a fast local tier."""

from harness.entry import Benchmark, Contender, Target

LIBRARIES = ("mpich", "openmpi")


def ranks(pattern: str, what: str, library: str, times: float) -> Benchmark:
    return Benchmark(
        f"staging_{pattern}_{library}",
        f"4 ranks, {what}, {library}, to a disk of 100 MB/s: how many times shorter the ranks wait",
        (Contender("dovetail", f"staging_{pattern}_{library}", ("--repeat", "1")),),
        (
            Target(f"{times:g} times", metric="staged_times", at_least=times),
            Target("3 times, exposed", metric="exposed_times", at_least=3.0),
        ),
        metric="staged_times",
        unit="x",
        quick=("--mebibytes", "16", "--files", "2", "--compute", "0.2"),
    )


BENCHMARKS = [
    *(ranks("blocks", "3-D blocks by one collective call", library, 15.0) for library in LIBRARIES),
    *(ranks("segments", "a segment of each by one collective call", library, 15.0) for library in LIBRARIES),
    *(ranks("pieces", "pieces of 4 KiB in turn by independent calls", library, 10.0) for library in LIBRARIES),
    Benchmark(
        "staging_checkpoints",
        "files of 100 MB to a disk of 100 MB/s, 1.5 s of computation before each: how many times shorter the program waits",
        (Contender("dovetail", "staging_checkpoints", ("--repeat", "1")),),
        (
            Target("15 times", metric="staged_times", at_least=15.0),
            Target("0.8 of what the tier takes", metric="share_of_tier", at_least=0.8),
            Target("never slower", metric="exposed_times", at_least=0.95),
        ),
        metric="staged_times",
        unit="x",
        quick=("--megabytes", "10", "--steps", "2", "--compute", "0.1"),
    ),
    Benchmark(
        "staging_recovery",
        "1 GiB that a program has left on the tier: how long its recovery takes, in times of a copy",
        (Contender("dovetail", "staging_recovery", ("--repeat", "1")),),
        (Target("1.2 times a copy", metric="of_copy", at_most=1.2),),
        metric="of_copy",
        unit="x",
        quick=("--mebibytes", "64"),
    ),
    Benchmark(
        "staging_hostile",
        "where a tier cannot help: times as long as without it",
        (Contender("dovetail", "staging_hostile", ("--repeat", "1")),),
        tuple(
            Target(f"5 % longer: {case}", metric=f"{case}_of_plain", at_most=1.05)
            for case in ("tiny_files", "sync_each", "read_back", "full_tier", "slow_tier")
        ),
        metric="tiny_files_of_plain",
        unit="x",
        quick=("--megabytes", "24", "--files", "20"),
    ),
    Benchmark(
        "staging_nodes",
        "4 ranks on 1, 2 and 4 nodes with a tier each: bandwidth perceived, in times of what the model of docs/staging.md says",
        (Contender("dovetail", "staging_nodes", ("--repeat", "1")),),
        tuple(
            Target(f"{nodes} nodes, {case}: 0.85 of the model", metric=f"{nodes}_{case}_of_model", at_least=0.85)
            for nodes in (1, 2, 4)
            for case in ("hidden", "exposed")
        ),
        metric="4_hidden_of_model",
        unit="x",
        quick=("--mebibytes", "4", "--files", "2"),
    ),
    Benchmark(
        "staging_neighbour",
        "a drain to a disk of 100 MB/s, and a program that writes there meanwhile: its rate, in times of the best that threads reach",
        (Contender("dovetail", "staging_neighbour", ("--repeat", "1")),),
        (Target("0.9 of the best", metric="idle_of_best", at_least=0.9),),
        metric="idle_of_best",
        unit="x",
        quick=("--megabytes", "30"),
    ),
    Benchmark(
        "staging_reading",
        "4 processes that are started again and read from the tier: how many times shorter than from a disk of 100 MB/s",
        (Contender("dovetail", "staging_reading", ("--repeat", "1")),),
        (
            Target("5 times", metric="restart_times", at_least=5.0),
            Target("0.9 of what the tier gives", metric="back_of_tier", at_least=0.9),
        ),
        metric="restart_times",
        unit="x",
        quick=("--mebibytes", "8"),
    ),
]
