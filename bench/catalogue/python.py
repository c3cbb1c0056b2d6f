"""Tasks in Python, beside pools and other runtimes."""

from harness.entry import Benchmark, Contender, Target

ALL = ("dovetail", "thread_pool", "dovetail_processes", "process_pool", "loky", "parsl", "ray", "dask")


def python_tasks(problem: str, tasks: int, title: str, *targets: Target, names: tuple[str, ...] = ALL) -> Benchmark:
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


BENCHMARKS = [
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
    python_tasks(
        "mapped",
        100_000,
        "map over 100 000 items in Python, us per item",
        Target("0.3 times the map of the thread pool", metric="us", at_most=0.3, peers=("thread_pool",)),
        names=("dovetail", "thread_pool"),
    ),
    python_tasks(
        "callback",
        10_000,
        "10 000 tasks in Python with a callback each, us per task",
        Target("as the thread pool", metric="us", at_most=1.0, peers=("thread_pool",)),
        names=("dovetail", "thread_pool"),
    ),
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
        "python_report_page",
        "the page of a run of 1 000 000 tasks in a headless Chromium, s until all of them are drawn",
        (Contender("dovetail", "python_report_page"),),
        (Target("3 s", metric="s", at_most=3),),
        metric="s",
        unit="s",
        quick=("--tasks", "10000"),
        rounds=1,
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
