"""Tasks that make tasks, as many and as deep as a program likes: the throttle holds spawners, never the interpreter."""

from __future__ import annotations

import os
import resource
import sys

import hangs
import pytest

SMALL = os.environ.get("DOVETAIL_TEST_SCALE") == "small"


def run(program: str, *, stack_megabytes: int = 1, timeout: float = 240) -> str:
    """Runs a program of its own, since a hang could not be ended here."""
    result = hangs.run(
        [sys.executable, "-c", program],
        env={**os.environ, "DOVETAIL_STACK_SIZE": str(stack_megabytes << 20)},
        timeout=timeout,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


WIDE = """
import sys
import dovetail as dt

@dt.task()
def leaf(i):
    return i

@dt.task()
def inner(n):
    return sum(dt.wait([leaf(i) for i in range(n)]))

@dt.task()
def outer(n, m):
    return sum(dt.wait([inner(m) for _ in range(n)]))

n, m, workers = map(int, sys.argv[1:] or {arguments})
with dt.Runtime(workers=workers):
    print(dt.wait(outer(n, m)))
"""


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_more_children_of_more_children_than_the_throttle_lets_pass(workers):
    n, m = (200, 300) if SMALL else (1_100, 1_100)
    if workers != 2:
        n //= 4
    assert run(WIDE.replace("{arguments}", repr([str(n), str(m), str(workers)]))) == str(n * (m * (m - 1) // 2))


DEEP = """
import dovetail as dt

@dt.task()
def count(depth):
    return 0 if depth == 0 else 1 + dt.wait(count(depth - 1))

with dt.Runtime(workers={workers}):
    for _ in range({times}):
        print(dt.wait(count({depth})))
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_recursion_of_tasks(workers):
    depth, times = (300, 2) if SMALL else (2_000, 3)
    program = DEEP.replace("{workers}", str(workers)).replace("{depth}", str(depth)).replace("{times}", str(times))
    assert run(program).split() == [str(depth)] * times


def test_memory_stays_bounded_while_a_task_makes_many():
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    program = WIDE.replace("{arguments}", repr(["3", "20000" if SMALL else "100000", "2"]))
    run(program)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert max(before, peak) < 1 << 20, f"{peak} KiB"
