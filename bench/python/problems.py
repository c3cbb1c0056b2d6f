"""The problems: what a contender is asked to do, and whether it did it. A contender offers `submit(function, *arguments)`, where arguments may
be what earlier calls returned, and `results(list)`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

# Found by name in worker processes too.
sys.path.insert(0, str(Path(__file__).parent))


def nothing() -> None:
    pass


def increment(x: int) -> int:
    return x + 1


def total(*values: int) -> int:
    return sum(values)


def empty(contender: Any, tasks: int) -> str | None:
    submit = contender.task(nothing)
    values = contender.results([submit() for _ in range(tasks)])
    return None if values == [None] * tasks else "a task did not return"


def chain(contender: Any, tasks: int) -> str | None:
    submit = contender.task(increment)
    value = 0
    for _ in range(tasks):
        value = submit(value)
    found = contender.results([value])[0]
    return None if found == tasks else f"{found} instead of {tasks}"


def fan_in(contender: Any, tasks: int) -> str | None:
    submit, collect = contender.task(increment), contender.task(total)
    found = contender.results([collect(*[submit(i) for i in range(tasks)])])[0]
    expected = tasks * (tasks + 1) // 2
    return None if found == expected else f"{found} instead of {expected}"


def mapped(contender: Any, tasks: int) -> str | None:
    found = sum(contender.mapped(increment, range(tasks)))
    expected = tasks * (tasks + 1) // 2
    return None if found == expected else f"{found} instead of {expected}"


def callback(contender: Any, tasks: int) -> str | None:
    submit = contender.task(increment)
    seen: list[Any] = []
    made = [submit(i) for i in range(tasks)]
    for future in made:
        future.add_done_callback(seen.append)
    contender.results(made)
    end = time.perf_counter() + 10  # callbacks may come a moment later
    while len(seen) < tasks and time.perf_counter() < end:
        time.sleep(0)
    return None if len(seen) == tasks else f"{len(seen)} callbacks instead of {tasks}"


PROBLEMS = {"empty": empty, "chain": chain, "fan_in": fan_in, "mapped": mapped, "callback": callback}


def timed(problem: str, contender: Any, tasks: int) -> tuple[float, str | None]:
    """Seconds, and what was wrong."""
    start = time.perf_counter()
    wrong = PROBLEMS[problem](contender, tasks)
    return time.perf_counter() - start, wrong
