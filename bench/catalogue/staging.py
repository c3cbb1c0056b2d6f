"""Checkpoints to a slow disk by way of a fast local tier."""

from harness.entry import Benchmark, Contender, Target

BENCHMARKS = [
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
]
