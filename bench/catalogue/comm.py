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
            Contender("one-sided", f"pingpong_one_sided_{library}", ("--workers", "1", *ONCE)),
            Contender("shared memory", f"pingpong_shared_memory_{library}", ONCE),
        ),
        (
            Target("1 us", at_most=1000),
            Target("1.2 of the transport", "one-sided", at_most=1.2, peers=("shared memory",)),
        ),
        quick=("--rounds", "5000"),
    )


def rate(library: str, workers: int) -> Benchmark:
    each = ("--workers", str(workers), *ONCE)

    def tasks(way: str) -> Contender:
        return Contender(f"dovetail {way}", f"rate_dovetail_{library}", ("--way", way, *each))

    return Benchmark(
        f"rate_{library}_{workers}",
        f"messages of 8 bytes between tasks of two ranks, 64 under way for each of {workers} workers, {library}, ns each",
        (
            tasks("paused"),
            tasks("bound"),
            Contender("one thread", f"rate_plain_{library}", ("--level", "single", "--workers", "1", *ONCE)),
            Contender("threads", f"rate_plain_{library}", each),
        ),
        (
            Target("0.8 of one thread", "dovetail paused", at_most=1 / 0.8, peers=("one thread",)),
            Target("0.8 of one thread", "dovetail bound", at_most=1 / 0.8, peers=("one thread",)),
            *((Target("twice MULTIPLE", "dovetail paused", at_most=0.5, peers=("threads",)),) if workers > 1 else ()),
        ),
        quick=("--rounds", "200"),
    )


def waiting(library: str, way: str) -> Benchmark:
    """10 000 waiting tasks cost those that run no more than 100 do."""

    def beside(count: int) -> Contender:
        arguments = ("--waiting", str(count), "--way", way, "--workers", "1", *ONCE)
        return Contender(f"{count} waiting", f"waiting_dovetail_{library}", arguments)

    return Benchmark(
        f"waiting_{library}_{way}",
        f"tasks of 1 us beside tasks that wait for messages ({way}), {library}, % longer than alone",
        tuple(beside(count) for count in (100, 1_000, 10_000)),
        tuple(Target("2 %", f"{count} waiting", "lost_percent", at_most=2) for count in (100, 1_000, 10_000)),
        metric="lost_percent",
        unit="%",
        quick=("--pairs", "3", "--loop", "10"),
    )


def starvation(library: str, pace: str) -> Benchmark:
    """Whatever the length of the bodies and the rate of polls."""
    bodies = {"50 ns": 50, "1 us": 1_000, "1 ms": 1_000_000}

    def beside(name: str) -> Contender:
        arguments = ("--waiting", "64", "--body", str(bodies[name]), "--pace", pace, "--workers", "1", *ONCE)
        return Contender(f"bodies of {name}", f"waiting_dovetail_{library}", arguments)

    return Benchmark(
        f"starvation_{library}_{pace}",
        f"tasks beside 64 that wait for messages, DOVETAIL_MPI_POLL {pace}, {library}, % longer than alone",
        tuple(beside(name) for name in bodies),
        tuple(Target("2 %", f"bodies of {name}", "lost_percent", at_most=2) for name in bodies),
        metric="lost_percent",
        unit="%",
        quick=("--pairs", "3", "--loop", "10"),
    )


def sleeping(library: str) -> Benchmark:
    return Benchmark(
        f"sleeping_{library}",
        f"a rank that waits a second for a message, {library}, % of a core",
        (
            Contender("dovetail", f"sleeping_dovetail_{library}", ("--repeat", "1", "--warmup", "0")),
            Contender("plain", f"sleeping_plain_{library}", ("--repeat", "1", "--warmup", "0")),
        ),
        (Target("5 % of a core", metric="cpu_percent", at_most=5),),
        metric="cpu_percent",
        unit="%",
        quick=("--milliseconds", "200"),
    )


def interposed(library: str, call: str) -> Benchmark:
    def way(name: str, started: str, runtime: str) -> Contender:
        return Contender(name, f"interposed_mpi_{started}_{library}", ("--call", call, "--runtime", runtime, *ONCE))

    names = {
        "wait": "MPI_Wait for MPI_REQUEST_NULL",
        "waitall": "MPI_Waitall for none",
        "send": "MPI_Send to MPI_PROC_NULL",
    }
    return Benchmark(
        f"interposed_mpi_{call}_{library}",
        f"{names[call]} outside of tasks, {library}, ns above PMPI",
        (
            way("alone", "alone", "no"),
            way("preloaded", "preloaded", "no"),
            way("preloaded, runtime", "preloaded", "yes"),
        ),
        tuple(Target("20 ns", name, "extra_ns", at_most=20) for name in ("preloaded", "preloaded, runtime")),
        metric="extra_ns",
        quick=("--pairs", "100"),
    )


def streaming(library: str, workers: int) -> Benchmark:
    """Two stages, each a rank with as many workers; for MPI alone also as many ranks instead of the workers, as in the paper."""
    each = ("--stages", "2", "--workers", str(workers), *ONCE)

    def tasks(variant: str, *more: str) -> tuple[str, tuple[str, ...]]:
        return f"streaming_2_{library}", ("--variant", variant, *more, *each)

    multiple = ("multiple", "multiple, polled all the time")
    return Benchmark(
        f"streaming_{library}_{workers}",
        f"blocks of 4 KiB through two stages with {workers} workers each, {library}, ns each",
        (
            Contender("one-sided", *tasks("one-sided")),
            Contender("two-sided", *tasks("two-sided")),
            Contender("multiple", *tasks("multiple")),
            Contender("multiple, polled all the time", *tasks("multiple", "--poll-microseconds", "0")),
            Contender("threads", *tasks("threads")),
            Contender("messages only, a rank each", *tasks("messages-only")),
            *(
                (
                    Contender(
                        "messages only, two ranks each", f"streaming_4_{library}", ("--variant", "messages-only", *each)
                    ),
                )
                if workers > 1
                else ()
            ),
        ),
        (
            Target("2.14 of MULTIPLE", "one-sided", at_most=1 / 2.14, peers=multiple),
            Target("1.5 of MULTIPLE", "two-sided", at_most=1 / 1.5, peers=multiple),
            Target("1.5 of MPI alone", "one-sided", at_most=1 / 1.5, peers=("messages only, a rank each",)),
            *(
                (Target("1.5 of MPI alone", "one-sided", at_most=1 / 1.5, peers=("messages only, two ranks each",)),)
                if workers > 1
                else ()
            ),
        ),
        quick=("--chunks", "20"),
    )


def streaming_four(library: str) -> Benchmark:
    """A chain of four ranks, more than there may be cores."""

    def ranks(variant: str, *more: str) -> tuple[str, tuple[str, ...]]:
        arguments = ("--variant", variant, *more, "--workers", "1", "--chunks", "100", *ONCE)
        return f"streaming_4_{library}", arguments

    multiple = ("multiple", "multiple, polled all the time")
    return Benchmark(
        f"streaming_{library}_four",
        f"blocks of 4 KiB through four stages, a rank with one worker each, {library}, ns each",
        (
            Contender("one-sided", *ranks("one-sided")),
            Contender("two-sided", *ranks("two-sided")),
            Contender("multiple", *ranks("multiple")),
            Contender("multiple, polled all the time", *ranks("multiple", "--poll-microseconds", "0")),
            Contender("messages only", *ranks("messages-only")),
        ),
        (
            Target("2.14 of MULTIPLE", "one-sided", at_most=1 / 2.14, peers=multiple),
            Target("1.5 of MULTIPLE", "two-sided", at_most=1 / 1.5, peers=multiple),
            Target("1.5 of MPI alone", "one-sided", at_most=1 / 1.5, peers=("messages only",)),
        ),
        quick=("--chunks", "20"),
    )


RANK_VARIANTS = ("messages-only", "multiple", "two-sided", "one-sided")


def gauss_seidel(library: str, ranks: int, workers: int) -> Benchmark:
    """Small blocks, where messages weigh most. `multiple` is the baseline: tasks as a library on MPI_THREAD_MULTIPLE alone has them."""

    def way(variant: str, block: int) -> Contender:
        # MPI alone has a rank for each core: more of them would wait for each other's turns.
        count = 2 if variant == "messages-only" else ranks
        size = ("--ranks", str(count), "--workers", str(workers), "--block", str(block))
        return Contender(f"{variant} {block}", f"gauss_seidel_{library}", ("--variant", variant, *size, *ONCE))

    return Benchmark(
        f"gauss_seidel_{library}_{ranks}x{workers}",
        f"heat with {ranks} ranks of {workers} workers, 200 sweeps over 256 x 4096 cells, blocks of 16 to 64, {library}, s",
        tuple(way(variant, block) for block in (16, 32, 64) for variant in RANK_VARIANTS),
        (
            *(
                Target(
                    "1/1.4 of MULTIPLE", f"one-sided {block}", "seconds", at_most=1 / 1.4, peers=(f"multiple {block}",)
                )
                for block in (16, 32)
            ),
            *(
                Target(
                    "MPI alone, its best block",
                    f"{variant} 64",
                    "seconds",
                    at_most=1,
                    peers=tuple(f"messages-only {block}" for block in (16, 32, 64)),
                )
                for variant in ("two-sided", "one-sided")
            ),
        ),
        metric="seconds",
        unit="s",
        quick=("--size", "128x512", "--steps", "20"),
    )


def refinement(library: str, ranks: int) -> Benchmark:
    """Blocks of 4 x 4 x 4 cells, where messages weigh most, and of 8 x 8 x 8. 4 ranks share 2 cores where there are no more."""

    def way(name: str, edge: int) -> Contender:
        variant, *polled = name.split(", ")
        more = ("--poll-microseconds", "0") if polled else ()
        arguments = ("--variant", variant, *more, "--edge", str(edge), "--workers", "1", *ONCE)
        return Contender(f"{name} {edge}", f"refinement_{ranks}_{library}", arguments)

    names = ("messages-only", "multiple", "multiple, polled all the time", "two-sided", "one-sided")
    return Benchmark(
        f"refinement_{library}_{ranks}",
        f"a mesh that follows a sphere, {ranks} ranks of one worker, blocks of 4 or 8 cells each way, {library}, ns an update of a block",
        tuple(way(name, edge) for edge in (4, 8) for name in names),
        (
            Target(
                "1.4 of MULTIPLE",
                "one-sided 4",
                at_most=1 / 1.4,
                peers=("multiple 4", "multiple, polled all the time 4"),
            ),
            *(
                Target("MPI alone", f"{variant} {edge}", at_most=1, peers=(f"messages-only {edge}",))
                for variant in ("one-sided", "two-sided")
                for edge in (4, 8)
            ),
        ),
        quick=("--stages", "5", "--refinements", "2"),
    )


BENCHMARKS = [
    *(pingpong(library) for library in LIBRARIES),
    *(rate(library, workers) for library in LIBRARIES for workers in (1, 2)),
    *(waiting(library, way) for library in LIBRARIES for way in ("bound", "paused")),
    *(starvation(library, pace) for library in LIBRARIES for pace in ("auto", "0")),
    *(streaming(library, workers) for library in LIBRARIES for workers in (1, 2)),
    *(streaming_four(library) for library in LIBRARIES),
    *(refinement(library, ranks) for library in LIBRARIES for ranks in (2, 4)),
    *(sleeping(library) for library in LIBRARIES),
    *(gauss_seidel(library, *shape) for library in LIBRARIES for shape in ((4, 1), (2, 2))),
    *(interposed(library, call) for library in LIBRARIES for call in ("wait", "waitall", "send")),
]
