"""`pycompss.functions`: reductions and maps over tasks, elapsed time, random data."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

from .api import compss_wait_on
from .task import task


def merge_reduce(function: Callable[[Any, Any], Any], data: list[Any]) -> Any:
    """Joins items two by two, then the results, until one is left. `None` for no items."""
    return merge_n_reduce(function, 2, data)


def merge_n_reduce(function: Callable[..., Any], arity: int, data: list[Any]) -> Any:
    """Joins `arity` items at a time, the oldest first, until one is left. `None` for no items."""
    rest = list(data)
    while len(rest) > 1:
        joined, rest = rest[:arity], rest[arity:]
        rest.append(function(*joined))
    return rest[0] if rest else None


def map(function: Callable[[Any], Any], iterable: list[Any], chunksize: int | None = None) -> Any:  # noqa: A001
    """Calls the function for each item, or for parts of `chunksize` items, and waits for all results."""
    parts = list(iterable) if not chunksize else list(chunks(list(iterable), chunksize))
    return compss_wait_on([function(part) for part in parts])


def timeit(*_: Any, **__: Any) -> Callable[[Callable[..., Any]], Callable[..., list[Any]]]:
    """The function returns a list of its result and the seconds that it took. Above @task: the seconds that making the task took."""

    def decorate(function: Callable[..., Any]) -> Callable[..., list[Any]]:
        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> list[Any]:
            start = time.time()
            result = function(*args, **kwargs)
            return [result, time.time() - start]

        return timed

    return decorate


def chunks(items: list[Any], number: int, balanced: bool = False) -> Iterator[list[Any]]:
    """Parts of `number` items; `balanced`: the first parts have one more, instead of a shorter part at the end."""
    longer = len(items) % number if balanced else 0
    start = 0
    while start < len(items):
        end = start + number + (1 if longer else 0)
        longer -= bool(longer)
        yield items[start:end]
        start = end


@task(returns=list)
def _fragment(distribution: str, size: int, count: int, seed: int) -> list[list[float]]:
    numbers = random.Random(seed)  # not the one that all threads share
    draws: dict[str, Callable[[], float]] = {
        "random": numbers.random,
        "normal": lambda: numbers.gauss(0.0, 1.0),
        "uniform": lambda: numbers.uniform(-1.0, 1.0),
    }
    draw = draws[distribution]
    return [[draw() for _ in range(size)] for _ in range(count)]


def generator(
    size: tuple[int, int], num_frag: int, seed: int = 0, distribution: str = "random", wait: bool = False
) -> Any:
    """Fragments of `size[0]` rows of `size[1]` random numbers: `random`, `normal` or `uniform`. Each is made by a task."""
    if distribution not in ("random", "normal", "uniform"):
        return None
    data = [_fragment(distribution, size[1], size[0] // num_frag, seed) for _ in range(num_frag)]
    return compss_wait_on(data) if wait else data


# Which module of pycompss.functions has which names.
MODULES: dict[str, dict[str, Any]] = {
    "reduce": {"merge_reduce": merge_reduce, "merge_n_reduce": merge_n_reduce},
    "map": {"map": map},
    "elapsed_time": {name: timeit for name in ("timeit", "TimeIt", "TimeIT", "TIMEIT")},
    "data": {"generator": generator, "chunks": chunks},
}
