"""Transfers by tasks, beside the bare interfaces and fio."""

from harness.entry import Benchmark, Contender, Target

from catalogue.launch import ONCE


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
            # Which process the kernel charges with passing a request on to the device is chance: its own threads, often.
            Target("1.2 times, whoever is charged", metric="machine_us", at_most=1.2, peers=("liburing",)),
        ),
        metric="iops",
        unit="/s",
        quick=("--milliseconds", "200", "--megabytes", "64"),
    )


def cached_transfer(operation: str, block: int, transfers: int) -> Benchmark:
    shared = ("--operation", operation, "--block", str(block), "--transfers", str(transfers), *ONCE)
    return Benchmark(
        f"cached_{operation}_{block // 1024}k",
        f"buffered {operation}s of {block // 1024} KiB of what lies in the page cache, in turn in one task, CPU ns for each",
        (
            Contender("dovetail", "cached_transfer_dovetail", shared),
            Contender("stalls", "cached_transfer_dovetail", (*shared, "--stalls", "yes")),
            Contender("thread", "cached_transfer_thread", shared),
        ),
        (
            Target("1.3 times the CPU of the plain call", metric="cpu_ns", at_most=1.3, peers=("thread",)),
            Target("1.3 times the time of the plain call", metric="ns", at_most=1.3, peers=("thread",)),
            Target("the core is kept for 50 us at most", contender="stalls", metric="stall_us", at_most=50),
        ),
        metric="cpu_ns",
        quick=("--transfers", "2000"),
    )


def cached_streams(operation: str, block: int, transfers: int) -> Benchmark:
    shared = ("--operation", operation, "--block", str(block), "--transfers", str(transfers), *ONCE)
    return Benchmark(
        f"cached_{operation}_{block // 1024}k_tasks",
        f"buffered {operation}s of {block // 1024} KiB in the page cache by 16 tasks on 2 workers, beside 2 threads, ns for each",
        (
            Contender("dovetail", "cached_transfer_dovetail", (*shared, "--streams", "16")),
            Contender("threads", "cached_transfer_thread", (*shared, "--streams", "2")),
        ),
        (
            Target("1.3 times the CPU of the plain call", metric="cpu_ns", at_most=1.3, peers=("threads",)),
            Target("1.3 times the time of the plain call", metric="ns", at_most=1.3, peers=("threads",)),
        ),
        quick=("--transfers", "2000"),
    )


def small_files(cache: str) -> Benchmark:
    pools = tuple(f"pool_{threads}" for threads in (2, 4, 8, 16))
    shared = ("--cache", cache, *ONCE)
    return Benchmark(
        f"small_files_{cache}",
        f"20 000 files of 4 KiB opened, read and closed, {'in' if cache == 'warm' else 'not in'} the page cache, ns a file",
        (
            Contender("tasks", "small_files_dovetail", ("--way", "tasks", *shared)),
            Contender("io_tasks", "small_files_dovetail", ("--way", "io_tasks", *shared)),
            *(Contender(pool, "small_files_threads", ("--threads", pool[len("pool_") :], *shared)) for pool in pools),
        ),
        (
            Target("95 % of the best pool's rate", contender="tasks", at_most=1 / 0.95, peers=pools),
            Target("60 % of the best pool's rate", contender="io_tasks", at_most=1 / 0.6, peers=pools),
        ),
        quick=("--files", "500"),
    )


BENCHMARKS = [
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
    *(
        cached_transfer(operation, block, transfers)
        for operation in ("read", "write")
        for block, transfers in ((4096, 200_000), (131072, 20_000))
    ),
    *(
        cached_streams(operation, block, transfers)
        for operation in ("read", "write")
        for block, transfers in ((4096, 200_000), (131072, 20_000))
    ),
    small_files("warm"),
    small_files("cold"),
    Benchmark(
        "logs",
        "8 logs, each record of 4 KiB appended and made durable before the next, ns a record",
        (
            Contender("dovetail", "logs_dovetail", ONCE),
            Contender("durable", "logs_dovetail", ("--way", "durable", *ONCE)),
            Contender("threads", "logs_threads", ONCE),
        ),
        (
            Target("no slower than a thread for each log", at_most=1.0, peers=("threads",)),
            Target("no slower, in one call", contender="durable", at_most=1.0, peers=("threads",)),
        ),
        quick=("--records", "10"),
    ),
]
