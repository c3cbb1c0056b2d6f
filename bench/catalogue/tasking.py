"""Tasks without I/O, beside other runtimes."""

from harness.entry import Benchmark, Contender, Target

from catalogue.launch import ONCE

# Waiting threads of OpenMP sleep by default, which costs libgomp dear in some problems and saves it in others. Where it
# is compared by a target, both policies run and the better one counts.
ACTIVE = {"OMP_WAIT_POLICY": "active"}


def contenders(problem: str, names: tuple[str, ...], workers: int, *arguments: str) -> tuple[Contender, ...]:
    """`dovetail` and its peers for one problem: programs `<problem>_<name>`, all with the same arguments."""
    shared = ("--workers", str(workers), *arguments, *ONCE)
    found = []
    for name in names:
        runtime, _, policy = name.partition(" ")
        found.append(Contender(name, f"{problem}_{runtime}", shared, ACTIVE if policy == "active" else {}))
    return tuple(found)


PATTERNS = (
    "trivial",
    "no_comm",
    "stencil",
    "stencil_periodic",
    "dom",
    "tree",
    "fft",
    "all_to_all",
    "nearest",
    "spread",
    "random_nearest",
)
EVERYBODY = ("dovetail", "onetbb", "libgomp", "libomp")
EVERYBODY_ACTIVE = ("dovetail", "onetbb", "libgomp", "libgomp active", "libomp", "libomp active")
LIBGOMP = ("libgomp", "libgomp active")


def depend_targets(workers: int) -> tuple[Target, ...]:
    if workers == 1:
        return ()
    return (
        Target("a quarter of libgomp", at_most=0.25, peers=LIBGOMP),
        Target("half of oneTBB", at_most=0.5, peers=("onetbb",)),
        Target("about 220 ns", at_most=220),
    )


def pause_resume(workers: int, way: str, tasks: int, target: bool) -> Benchmark:
    shared = ("--workers", str(workers), "--way", way, "--tasks", str(tasks), *ONCE)
    return Benchmark(
        f"pause_resume_{way}_{tasks}_tasks_{workers}",
        f"pause + resume by {way}, {tasks} tasks in turn, {workers} worker(s), ns per pause",
        (
            Contender("dovetail", "pause_resume_dovetail", shared),
            Contender("fcontext", "pause_resume_boost_context", ONCE),
            Contender("fiber", "pause_resume_boost_context", ("--way", "fiber", *ONCE)),
        ),
        (
            (
                Target("8 times two switches", at_most=8, peers=("fcontext", "fiber")),
                Target("about 60 ns", at_most=60),
            )
            if target
            else ()
        ),
        quick=("--pauses", "100000"),
    )


def event(workers: int, *ways: str) -> Benchmark:
    return Benchmark(
        f"event_{workers}",
        f"a task with one event, {workers} worker(s), ns per task",
        tuple(
            Contender(way, "event_dovetail", ("--workers", str(workers), "--event", way, *ONCE))
            for way in ("none", *ways)
        ),
        tuple(
            Target("1.3 times the empty task", contender=way, at_most=1.3, peers=("none",))
            for way in ways
            if way != "handover"
        ),
        quick=("--tasks", "100000"),
    )


BENCHMARKS = [
    Benchmark(
        "empty_tasks_1",
        "empty tasks from one producer, 1 worker, ns per task",
        contenders("empty_tasks", EVERYBODY, 1),
        (Target("no more than oneTBB", at_most=1.0, peers=("onetbb",)),),
        quick=("--tasks", "100000"),
    ),
    Benchmark(
        "empty_tasks_2",
        "empty tasks from one producer, 2 workers, ns per task",
        contenders("empty_tasks", EVERYBODY, 2),
        (
            Target("half of oneTBB", at_most=0.5, peers=("onetbb",)),
            Target("about 120 ns", at_most=120),
        ),
        quick=("--tasks", "100000"),
    ),
    *(
        Benchmark(
            f"{problem}_thread_{workers}",
            f"{title} from a thread outside of the runtime, {workers} worker(s), ns per task",
            (
                *contenders(problem, ("dovetail",), workers, "--producer", "thread"),
                *contenders(problem, ("onetbb", *LIBGOMP), workers),
            ),
            targets if workers == 2 else (),
            quick=quick,
        )
        for problem, title, targets, quick in (
            (
                "empty_tasks",
                "empty tasks",
                (Target("0.8 of oneTBB", at_most=0.8, peers=("onetbb",)),),
                ("--tasks", "100000"),
            ),
            (
                "wavefront",
                "wavefront 1000 x 1000",
                (Target("0.3 of libgomp", at_most=0.3, peers=LIBGOMP),),
                ("--side", "200"),
            ),
        )
        for workers in (1, 2)
    ),
    *(
        Benchmark(
            f"{problem}_{workers}",
            f"{title}, {workers} worker(s), ns per task",
            contenders(problem, EVERYBODY_ACTIVE, workers),
            depend_targets(workers),
            quick=quick,
        )
        for problem, title, quick in (
            ("wavefront", "wavefront 1000 x 1000", ("--side", "200")),
            ("stencil", "1-D stencil, 1000 steps of 1000 points", ("--steps", "50")),
        )
        for workers in (1, 2)
    ),
    *(
        Benchmark(
            f"fibonacci_{shape}_{workers}",
            f"fib(30), {shape} of the two calls {'are tasks' if shape == 'both' else 'is a task'}, {workers} worker(s), "
            "ns per call",
            contenders("fibonacci", EVERYBODY, workers, "--shape", shape),
            (Target("no slower than oneTBB", at_most=1.0, peers=("onetbb",)),),
            quick=("--index", "22"),
        )
        for shape in ("both", "one")
        for workers in (1, 2)
    ),
    *(
        Benchmark(
            f"loop_{way}_{workers}",
            f"{'loop over' if way == 'for' else 'sum of'} 4 million numbers in pieces of 256, {workers} worker(s), ns per number",
            contenders("loop", ("dovetail", "onetbb"), workers, "--way", way),
            (Target("1.2 times oneTBB", at_most=1.2, peers=("onetbb",)),),
            quick=("--count", "100000"),
        )
        for way in ("for", "reduce")
        for workers in (1, 2)
    ),
    pause_resume(1, "handover", 2, target=True),
    pause_resume(1, "handover", 64, target=True),
    pause_resume(1, "yield", 2, target=True),
    pause_resume(2, "handover", 2, target=False),
    event(1, "next_body", "thread", "handover"),
    event(2, "next_body"),
    Benchmark(
        "metg_2",
        "METG(50 %), stencil of width 8, 2 workers",
        contenders("metg", EVERYBODY_ACTIVE, 2),
        (
            Target("2 us", metric="metg_ns", at_most=2000),
            Target("half of libgomp", metric="metg_ns", at_most=0.5, peers=LIBGOMP),
        ),
        metric="metg_ns",
        quick=("--steps", "200", "--tries", "1"),
    ),
    *(
        Benchmark(
            f"patterns_{pattern}_2",
            f"METG(50 %), Task Bench's pattern {pattern}, width 8, 2 workers",
            contenders("patterns", ("dovetail", "onetbb", "taskflow", *LIBGOMP), 2, "--pattern", pattern),
            (
                Target("1.2 times oneTBB", metric="metg_ns", at_most=1.2, peers=("onetbb",)),
                Target("1.2 times Taskflow", metric="metg_ns", at_most=1.2, peers=("taskflow",)),
            ),
            metric="metg_ns",
            quick=("--steps", "200", "--tries", "1"),
        )
        for pattern in PATTERNS
    ),
    *(
        Benchmark(
            f"wake_up_{by}",
            f"{by} from a thread outside of the runtime to the first instruction on an idle worker, 2 workers, ns",
            (
                Contender("dovetail", "wake_up_dovetail", ("--workers", "2", "--by", by, *ONCE)),
                Contender("condition variable", "wake_up_condition_variable", ONCE),
            ),
            (Target("1.3 times a condition variable", at_most=1.3, peers=("condition variable",)),),
            quick=("--wakes", "20"),
        )
        for by in ("spawn", "resume")
    ),
    *(
        Benchmark(
            f"late_{body}",
            f"something due each millisecond while 2 workers run bodies of {body} us: how late it is done, ns",
            contenders("late", ("dovetail", "threads"), 2, "--body", str(body)),
            (Target("at most 1 ms late", at_most=1_000_000),),
            quick=("--times", "20"),
        )
        for body in (5000, 20000)
    ),
    *(
        Benchmark(
            f"regions_{cells}",
            f"one cell of {cells} written, then all read, in turn, 2 workers, ns per pair",
            contenders("regions", ("dovetail",), 2, "--cells", str(cells)),
            quick=("--pairs", "500"),
        )
        for cells in (1000, 4000, 8000)
    ),
    Benchmark(
        "memory_pending",
        "resident memory of a pending task, accesses not counted",
        contenders("memory", ("dovetail",), 2, "--state", "pending"),
        (Target("256 B + accesses", metric="pending_bytes", at_most=256),),
        metric="pending_bytes",
        unit="B",
        quick=("--pending", "20000"),
    ),
    Benchmark(
        "memory_paused",
        "resident memory of a paused task",
        contenders("memory", ("dovetail",), 2, "--state", "paused"),
        (
            Target("one stack", metric="paused_bytes", at_most=1.0, peers=("dovetail",), peer_metric="stack_bytes"),
            Target("a stack is used again", metric="paused_again_bytes", at_most=512),
        ),
        metric="paused_bytes",
        unit="B",
        quick=("--paused", "1000"),
    ),
    Benchmark(
        "resident_memory",
        "peak resident memory, 10^8 empty tasks spawned from one task, 2 workers",
        (
            Contender(
                "dovetail",
                "empty_tasks_dovetail",
                ("--workers", "2", "--tasks", "100000000", "--repeat", "1", "--warmup", "0"),
            ),
        ),
        (Target("256 MiB", metric="peak_resident_bytes", at_most=256 * 2**20),),
        metric="peak_resident_bytes",
        unit="B",
        quick=("--tasks", "2000000"),
        rounds=1,
    ),
]
