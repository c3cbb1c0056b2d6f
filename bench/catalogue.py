"""Every benchmark that bench/run.py knows. To add one, write its programs and a row here; nothing else lists them."""

from harness.entry import Benchmark, Contender, Target

# One warm-up and one timed run a launch: the rounds of run.py are the repeats, so that contenders take turns.
ONCE = ("--repeat", "1", "--warmup", "1")
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


TASKING = [
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
            f"empty_tasks_thread_{workers}",
            f"empty tasks from a thread outside of the runtime, {workers} worker(s), ns per task",
            contenders("empty_tasks", ("dovetail",), workers, "--producer", "thread"),
            quick=("--tasks", "100000"),
        )
        for workers in (1, 2)
    ),
    *(
        Benchmark(
            f"wavefront_{workers}",
            f"wavefront 1000 x 1000, {workers} worker(s), ns per task",
            contenders("wavefront", EVERYBODY_ACTIVE, workers),
            depend_targets(workers),
            quick=("--side", "200"),
        )
        for workers in (1, 2)
    ),
    *(
        Benchmark(
            f"stencil_{workers}",
            f"1-D stencil, 1000 steps of 1000 points, {workers} worker(s), ns per task",
            contenders("stencil", EVERYBODY_ACTIVE, workers),
            depend_targets(workers),
            quick=("--steps", "50"),
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


def random_transfer(operation: str, block: int, depth: int) -> Benchmark:
    shared = ("--operation", operation, "--block", str(block), "--depth", str(depth), *ONCE)
    names = ("dovetail", "liburing", "threads", "fio")
    return Benchmark(
        f"direct_{operation}_{block // 1024}k_depth_{depth}",
        f"direct random {operation}s of {block // 1024} KiB, a task for each, {depth} at once, IOPS",
        tuple(Contender(name, f"random_transfer_{name}", shared) for name in names),
        (
            Target("95 % of ring and threads", metric="iops", at_least=0.95, peers=("liburing", "threads")),
            Target("1.2 times the ring's CPU", metric="cpu_us", at_most=1.2, peers=("liburing",)),
        ),
        metric="iops",
        unit="/s",
        quick=("--milliseconds", "200", "--megabytes", "64"),
    )


def cached_read(block: int, reads: int) -> Benchmark:
    shared = ("--block", str(block), "--reads", str(reads), *ONCE)
    return Benchmark(
        f"cached_read_{block // 1024}k",
        f"buffered reads of {block // 1024} KiB that hit the page cache, CPU ns per read",
        (
            Contender("dovetail", "cached_read_dovetail", shared),
            Contender("stalls", "cached_read_dovetail", (*shared, "--stalls", "yes")),
            Contender("pread", "cached_read_pread", shared),
        ),
        (
            Target("1.3 times the CPU of pread", metric="cpu_ns", at_most=1.3, peers=("pread",)),
            Target("the core is kept for 50 us at most", contender="stalls", metric="stall_us", at_most=50),
        ),
        metric="cpu_ns",
        quick=("--reads", "2000"),
    )


STORAGE = [
    Benchmark(
        "nop",
        "a task paused for each request that does nothing, 64 at once, 1 worker, ns above the bare loop",
        (Contender("dovetail", "nop_dovetail", ("--workers", "1", *ONCE)),),
        (Target("50 ns above the bare loop", metric="extra_ns", at_most=50),),
        metric="extra_ns",
        quick=("--requests", "200000"),
    ),
    *(
        random_transfer(operation, block, depth)
        for operation in ("read", "write")
        for block in (4096, 131072)
        for depth in (1, 16, 64)
    ),
    cached_read(4096, 200_000),
    cached_read(131072, 20_000),
]


def interposed_call(call: str, where: str) -> Benchmark:
    return Benchmark(
        f"interposed_{call}_{where}",
        {
            "pread": "pread of one cached byte",
            "write": "write of a byte to /dev/null",
        }[call]
        + {"outside": " outside of any task", "task": " inside of a task"}[where]
        + ", ns above the C library's",
        (Contender("dovetail", "interposed_call", ("--call", call, "--where", where, *ONCE)),),
        (Target("20 ns", metric="extra_ns", at_most=20),) if where == "outside" else (),
        metric="extra_ns",
        quick=("--pairs", "50"),
    )


POSIX = [interposed_call(call, where) for call in ("pread", "write") for where in ("outside", "task")]


def python_tasks(problem: str, tasks: int, title: str, *targets: Target) -> Benchmark:
    names = ("dovetail", "thread_pool", "dovetail_processes", "process_pool", "loky", "parsl", "ray", "dask")
    shared = ("--problem", problem, "--tasks", str(tasks))
    return Benchmark(
        f"python_{problem}",
        title,
        tuple(Contender(name, f"python_tasks_{name}", shared) for name in names),
        targets,
        metric="us",
        unit="us",
        quick=("--tasks", "500"),
    )


PYTHON = [
    python_tasks(
        "empty",
        10_000,
        "10 000 empty tasks in Python, us per task",
        Target("1.5 times the thread pool", metric="us", at_most=1.5, peers=("thread_pool",)),
        Target(
            "1.2 times the process pool",
            contender="dovetail_processes",
            metric="us",
            at_most=1.2,
            peers=("process_pool",),
        ),
    ),
    python_tasks("chain", 1_000, "a chain of 1 000 tasks in Python, us per task"),
    python_tasks("fan_in", 1_000, "a task with the results of 1 000 others, in Python, us per task"),
    Benchmark(
        "python_start_up",
        "from the start of a program in Python to its first result, above a bare interpreter, ms",
        tuple(Contender(name, f"python_start_up_{name}") for name in ("dovetail", "thread_pool")),
        (Target("0.2 s", metric="ms", at_most=200),),
        metric="ms",
        unit="ms",
        rounds=2,
    ),
    Benchmark(
        "python_array_read",
        "1 GiB from the disk into a NumPy array, direct, MB/s",
        tuple(Contender(name, f"python_array_read_{name}") for name in ("dovetail", "dovetail_askew", "fio")),
        (Target("95 % of fio", metric="mb_per_second", at_least=0.95, peers=("fio",)),),
        metric="mb_per_second",
        unit="MB/s",
        quick=("--megabytes", "64"),
    ),
]

# A learner that has seen one run would have nothing to learn in the next: no warm-up.
COLD = ("--repeat", "1", "--warmup", "0")


def checkpoint(name: str, *arguments: str) -> Contender:
    return Contender(name, "checkpoint_dovetail", (*arguments, *COLD))


def checkpoint_threads(name: str, *arguments: str) -> Contender:
    return Contender(name, "checkpoint_threads", (*arguments, *COLD))


MANY = ("--tasks", "1000", "--compute-milliseconds", "2", "--kibibytes", "4096")

ADMISSION = [
    Benchmark(
        "checkpoint",
        "64 tasks of 50 ms and a 16 MiB checkpoint with fsync, 2 workers, device that congests, s",
        (
            checkpoint_threads("inline"),
            checkpoint_threads("4 writers", "--way", "writers", "--writers", "4"),
            checkpoint_threads("64 writers", "--way", "writers", "--writers", "64"),
            checkpoint("none", "--way", "none"),
            *(
                checkpoint(f"{at_once} at once", "--way", "fixed", "--at-once", str(at_once))
                for at_once in (1, 2, 3, 4, 6, 8, 16, 32)
            ),
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
            Target(
                "110 % of the best static",
                "adaptive",
                "seconds",
                at_most=1.1,
                peers=tuple(f"{at_once} at once" for at_once in (1, 2, 3, 4, 6, 8, 16, 32)),
            ),
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
            *(
                checkpoint(f"{at_once} at once", "--way", "fixed", "--at-once", str(at_once), *MANY)
                for at_once in (1, 2, 3, 4, 6, 8)
            ),
            checkpoint("none", "--way", "none", *MANY),
            checkpoint("auto", "--way", "auto", *MANY),
            checkpoint("auto, 8 executors", "--way", "auto", "--executors", "8", *MANY),
            checkpoint("auto(50,400,2)", "--way", "bounded", "--minimum", "50", *MANY),
            checkpoint("adaptive", "--way", "adaptive", *MANY),
        ),
        (
            Target(
                "103 % of the best static",
                "adaptive",
                "seconds",
                at_most=1.03,
                peers=tuple(f"{at_once} at once" for at_once in (1, 2, 3, 4, 6, 8)),
            ),
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
]

TRACE = [
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

# Each launch measures native HDF5 and Dovetail in turn: a round is one pair, so that no peer is needed.
PAIR, SLOW, EVEN, LONG = ("--repeat", "1"), ("--device", "60"), ("--compute", "even"), ("--compute", "long")


def hdf5(way: str, name: str, title: str, target: Target, unit: str, *arguments: str) -> Benchmark:
    return Benchmark(
        f"hdf5_{name}_{way}",
        f"HDF5, {way}: {title}",
        (Contender("dovetail", f"hdf5_{way}", (*arguments, *PAIR)),),
        (target,),
        metric=target.metric,
        unit=unit,
        quick=("--steps", "4"),
    )


def hdf5_hidden(way: str, kernel: str, least: float | None, *arguments: str) -> Benchmark:
    title = f"{kernel} a time series of 8 variables, I/O as long as the computation, percent hidden"
    target = Target(f"{least or 0:.0f} %", metric="efficiency", at_least=least or 0)
    name = f"hidden_{kernel}{''.join(arguments).replace('--', '_')}"
    return hdf5(way, name, title, target, "%", "--kernel", kernel, *SLOW, *EVEN, *arguments)


def hdf5_io(way: str, kernel: str, *arguments: str) -> Benchmark:
    title = f"{kernel} a time series, computation twice as long, native I/O time of the program / Dovetail's"
    target = Target("5 times", metric="io_ratio", at_least=5)
    name = f"io_{kernel}{''.join(arguments).replace('--', '_')}"
    return hdf5(way, name, title, target, "x", "--kernel", kernel, *SLOW, *LONG, *arguments)


def hdf5_cost(kernel: str, title: str, most: float, *arguments: str) -> Benchmark:
    target = Target(f"{most:g} times native", metric="slowdown", at_most=most)
    return hdf5(
        "transparent",
        f"cost_{kernel}",
        f"{title}, no computation, T / T_native",
        target,
        "x",
        "--kernel",
        kernel,
        *arguments,
    )


HDF5 = [
    hdf5_hidden("transparent", "write", 85),
    hdf5_hidden("transparent", "write", 85, "--processes", "2"),
    hdf5_hidden("explicit", "write", 95),
    hdf5_hidden("h5py", "write", 80),
    hdf5_hidden("transparent", "write", None, "--deflate", "4"),
    hdf5_hidden("h5py", "write", None, "--deflate", "4"),
    hdf5_hidden("transparent", "read", None),
    hdf5_io("transparent", "write"),
    hdf5_io("transparent", "write", "--flush"),
    hdf5_io("transparent", "read"),
    hdf5_io("h5py", "read"),
    hdf5_cost("metadata_write", "2 000 small datasets with attributes written", 1.5, "--steps", "2000"),
    hdf5_cost("metadata_read", "2 000 small datasets with attributes read", 1.5, "--steps", "2000"),
    hdf5_cost("mixed", "large and small datasets in turn", 1.5, "--steps", "20"),
    hdf5_cost("write", "256 MiB written", 1.05, "--steps", "16", "--particles", "524288"),
    hdf5_cost("read", "256 MiB read", 1.05, "--steps", "16", "--particles", "524288"),
]

BENCHMARKS = [*TASKING, *STORAGE, *POSIX, *PYTHON, *ADMISSION, *TRACE, *HDF5]
