"""What recording costs."""

from harness.entry import Benchmark, Contender, Target

from catalogue.launch import ONCE

BENCHMARKS = [
    Benchmark(
        "trace_demo",
        "heat, 150 sweeps over 2048 x 2048 cells with three checkpoints, with and without the trace, 2 workers, s",
        tuple(Contender(name, f"trace_demo_{name}", ONCE) for name in ("on", "off")),
        (Target("less than 5 % for the trace", "on", "seconds", at_most=1.05, peers=("off",)),),
        metric="seconds",
        unit="s",
        quick=("--size", "256", "--steps", "20"),
    ),
]
