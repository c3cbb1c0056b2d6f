"""What an empty task costs on a cluster: `dt.Cluster` against Dask itself, on the same workers, in turns.

    python bench/cluster/empty_tasks.py [--tasks 10000] [--rounds 5] [--workers 2] [--json FILE]

Each round makes the tasks from one driver and waits for all their results. The ratio is that of the medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def empty(x: int) -> int:
    return x


def seconds_of(run: Callable[[], Any], expected: Any) -> float:
    started = time.perf_counter()
    got = run()
    seconds = time.perf_counter() - started
    if got != expected:
        raise RuntimeError("the results are wrong")
    return seconds


def measure(tasks: int, rounds: int, workers: int) -> dict[str, Any]:
    import distributed
    import dovetail as dt

    expected = list(range(tasks))
    ours = dt.task(empty)
    seconds: dict[str, list[float]] = {"dovetail": [], "dask": []}
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        dt.Cluster(cluster),
    ):

        def with_dask() -> Any:
            return client.gather(client.map(empty, range(tasks), pure=False))

        def with_dovetail() -> Any:
            return dt.wait([ours(x) for x in range(tasks)])

        for contender in (with_dask, with_dovetail):  # not measured: what the first tasks load
            contender()
        for number in range(rounds):
            contenders = [("dask", with_dask), ("dovetail", with_dovetail)]
            for name, contender in contenders if number % 2 == 0 else reversed(contenders):
                seconds[name].append(seconds_of(contender, expected))
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    return {
        "tasks": tasks,
        "workers": workers,
        "seconds": seconds,
        "microseconds_per_task": {name: median / tasks * 1e6 for name, median in medians.items()},
        "ratio": medians["dovetail"] / medians["dask"],
        "load": os.getloadavg()[0],
        "distributed": distributed.__version__,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path, help="where the result is written")
    arguments = parser.parse_args()
    try:
        result = measure(arguments.tasks, arguments.rounds, arguments.workers)
    except ImportError as error:
        print(f"empty_tasks: {error}; pip install 'dovetail[cluster]'", file=sys.stderr)
        return 2
    for name, each in result["microseconds_per_task"].items():
        print(f"{name:10} {each:8.1f} us per task")
    print(f"ratio      {result['ratio']:8.3f}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
