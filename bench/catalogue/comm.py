"""Messages of tasks, beside MPI alone."""

from harness.entry import Benchmark, Contender, Target

from catalogue.launch import ONCE

LIBRARIES = ("mpich", "openmpi")


def pingpong(library: str) -> Benchmark:
    return Benchmark(
        f"pingpong_{library}",
        f"a message of 8 bytes between tasks of two ranks, {library}, ns for half a round trip",
        (
            Contender("dovetail", f"pingpong_dovetail_{library}", ("--workers", "1", *ONCE)),
            Contender("plain", f"pingpong_plain_{library}", ONCE),
            Contender("plain single", f"pingpong_plain_{library}", ("--level", "single", *ONCE)),
        ),
        (Target("1 us", at_most=1000),),
        quick=("--rounds", "5000"),
    )


BENCHMARKS = [pingpong(library) for library in LIBRARIES]
