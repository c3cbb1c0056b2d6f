"""Regions of spaces of the program's own."""

from __future__ import annotations

import threading

import dovetail as dt
import numpy as np
import pytest


def test_spaces_order_tasks_by_region():
    space = dt.Space("rank 3")
    assert space.name == "rank 3"
    assert repr(space[2:5]) == "Space('rank 3')[2:5]"
    order = []

    @dt.task(region=dt.INOUT)
    def append(region, number):
        order.append(number)

    for number in range(100):
        append(space[0:8], number)
    dt.barrier()
    assert order == list(range(100))

    gate = threading.Event()

    @dt.io(region=dt.OUT)
    def hold(region):
        gate.wait()

    @dt.task
    def read(region):
        return True

    hold(space[8:16])
    free = [read(space[0:8]), read(space[16]), read(dt.Space("rank 3")[8:16]), read(np.zeros(16, np.uint8))]
    assert all(dt.wait(free))
    held = [read(space[15:20]), read(space[12]), read(space), read([space[9:10]])]
    assert not any(future.wait(timeout=0.01) for future in held)
    gate.set()
    assert all(dt.wait(held))


def test_one_that_was_never_initialised_is_no_region():
    @dt.task(region=dt.INOUT)
    def take(region):
        return True

    assert take(dt.Space.__new__(dt.Space)).result()


@pytest.mark.parametrize("key", [-1, slice(3, 2), slice(-1, 2), slice(0, 8, 2), "text", 1.5])
def test_a_region_that_makes_no_sense_is_refused(key):
    with pytest.raises((ValueError, TypeError)):
        dt.Space("x")[key]


def test_a_report_names_spaces_and_operations(run_program):
    result = run_program(
        """
        import os
        import tempfile

        import dovetail as dt

        with dt.Runtime(workers=1, report_after=0.1):
            space = dt.Space("rank 3")
            source = dt.EventSource(lambda: None, label="mail")
            operation = source.expect("a letter of rank 3")

            @dt.task(region=dt.OUT, label="put")
            def put(region):
                operation.wait()

            @dt.task(label="get")
            def get(region):
                pass

            put(space[0:8])
            last = get(space[4:5])
            kept = os.dup(2)
            with tempfile.TemporaryFile() as said:
                os.dup2(said.fileno(), 2)
                while b"task 'get'" not in os.pread(said.fileno(), 1 << 20, 0):
                    last.wait(timeout=0.1)
                os.dup2(kept, 2)
                os.write(2, os.pread(said.fileno(), 1 << 20, 0))
            operation.complete()
        """.replace("\n        ", "\n")
    )
    assert result.returncode == 0, result.stderr
    assert "task 'put' (out 'rank 3' [0, 8)) waits for a letter of rank 3 (polling service 'mail')" in result.stderr
    assert "task 'get' (in 'rank 3' [4, 5)) waits for its accesses" in result.stderr
