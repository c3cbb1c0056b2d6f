"""I/O tasks on a device that congests, under each kind of constraint."""

from harness.entry import Benchmark, Contender, Target

from catalogue.launch import COLD


def checkpoint(name: str, *arguments: str) -> Contender:
    return Contender(name, "checkpoint_dovetail", (*arguments, *COLD))


def checkpoint_threads(name: str, *arguments: str) -> Contender:
    return Contender(name, "checkpoint_threads", (*arguments, *COLD))


def static(levels: tuple[int, ...], *arguments: str) -> tuple[Contender, ...]:
    return tuple(
        checkpoint(f"{level} at once", "--way", "fixed", "--at-once", str(level), *arguments) for level in levels
    )


def near_best_static(levels: tuple[int, ...], percent: int, metric: str = "seconds") -> Target:
    return Target(
        f"{percent} % of the best static",
        "adaptive",
        metric,
        at_most=percent / 100,
        peers=tuple(f"{level} at once" for level in levels),
    )


LEVELS, LEVELS_OF_MANY, LEVELS_OF_HALVED = (1, 2, 3, 4, 6, 8, 16, 32), (1, 2, 3, 4, 6, 8), (2, 3, 4, 6)
HALVED = ("--tasks", "128", "--halved-after", "64")
MANY = ("--tasks", "1000", "--compute-milliseconds", "2", "--kibibytes", "4096")

BENCHMARKS = [
    Benchmark(
        "checkpoint",
        "64 tasks of 50 ms and a 16 MiB checkpoint with fsync, 2 workers, device that congests, s",
        (
            checkpoint_threads("inline"),
            checkpoint_threads("4 writers", "--way", "writers", "--writers", "4"),
            checkpoint_threads("64 writers", "--way", "writers", "--writers", "64"),
            checkpoint("none", "--way", "none"),
            *static(LEVELS),
            checkpoint("auto", "--way", "auto"),
            checkpoint("auto, 32 executors", "--way", "auto", "--executors", "32"),
            checkpoint("auto, 8 executors", "--way", "auto", "--executors", "8"),
            checkpoint("auto(50,400,2)", "--way", "bounded", "--minimum", "50"),
            checkpoint("none, most_at_once = 4", "--way", "none", "--most", "4"),
            checkpoint("auto, most_at_once = 4", "--way", "auto", "--most", "4"),
            checkpoint("adaptive", "--way", "adaptive"),
        ),
        (
            Target("110 % of 4 writers by hand", "adaptive", "seconds", at_most=1.1, peers=("4 writers",)),
            near_best_static(LEVELS, 110),
            *(
                Target("no more than inline", name, "seconds", at_most=1.0, peers=("inline",))
                for name in (
                    "adaptive",
                    "none",
                    "auto",
                    "auto, 8 executors",
                    "auto(50,400,2)",
                    "4 at once",
                    "none, most_at_once = 4",
                    "auto, most_at_once = 4",
                )
            ),
        ),
        metric="seconds",
        unit="s",
        quick=("--tasks", "8", "--compute-milliseconds", "5"),
    ),
    Benchmark(
        "checkpoint_many",
        "1000 tasks of 2 ms and a 4 MiB checkpoint with fsync, 2 workers, device that congests, s",
        (
            checkpoint_threads("inline", *MANY),
            *static(LEVELS_OF_MANY, *MANY),
            checkpoint("none", "--way", "none", *MANY),
            checkpoint("auto", "--way", "auto", *MANY),
            checkpoint("auto, 8 executors", "--way", "auto", "--executors", "8", *MANY),
            checkpoint("auto(50,400,2)", "--way", "bounded", "--minimum", "50", *MANY),
            checkpoint("adaptive", "--way", "adaptive", *MANY),
        ),
        (
            near_best_static(LEVELS_OF_MANY, 103),
            Target(
                "no more than auto",
                "adaptive",
                "seconds",
                at_most=1.0,
                peers=("none", "auto", "auto, 8 executors", "auto(50,400,2)"),
            ),
        ),
        metric="seconds",
        unit="s",
        quick=("--tasks", "20"),
        rounds=3,
    ),
    Benchmark(
        "checkpoint_halved",
        "128 such tasks, on a device that has half its speed after 64, from the 20th task behind that to the end, s",
        (
            *static(LEVELS_OF_HALVED, *HALVED),
            checkpoint("auto", "--way", "auto", *HALVED),
            checkpoint("adaptive", "--way", "adaptive", *HALVED),
        ),
        (near_best_static(LEVELS_OF_HALVED, 110, "seconds_of_the_rest"),),
        metric="seconds_of_the_rest",
        unit="s",
        quick=("--tasks", "32", "--halved-after", "4", "--compute-milliseconds", "5"),
    ),
]
