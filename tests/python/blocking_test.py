"""Tasks that hold a worker while they wait in the operating system are noticed, and no others."""

from __future__ import annotations

HEAD = """
import os
import threading
import time

import dovetail as dt

"""


def warnings(result) -> list[str]:
    assert result.returncode == 0, result.stderr
    return [line for line in result.stderr.splitlines() if "held a worker" in line]


def test_one_that_sleeps_is_told_once(run_program):
    result = run_program(
        HEAD
        + """
@dt.task
def sleeper(n):
    time.sleep(0.1)

with dt.Runtime(workers=4):
    dt.wait([sleeper(n) for n in range(60)])
    dt.wait([sleeper(n) for n in range(40)])
"""
    )
    (line,) = warnings(result)
    assert line.startswith("task 'sleeper' held a worker while it waited in the operating system (sleep), ")
    assert 50 < int(line.split(", ")[1].split()[0]) <= 100


def test_one_whose_first_bodies_are_short(run_program):
    result = run_program(
        HEAD
        + """
@dt.task
def late(n):
    if n >= 100:
        readable, writable = os.pipe()
        threading.Timer(0.1, os.write, (writable, b"x")).start()
        os.read(readable, 1)

with dt.Runtime(workers=2):
    dt.wait([late(n) for n in range(200)])
"""
    )
    (line,) = warnings(result)
    assert "'late'" in line and "(read)" in line


def test_a_program_that_forks(run_program):
    result = run_program(
        HEAD
        + """
@dt.task
def sleeper(n):
    time.sleep(0.1)

with dt.Runtime(workers=2):
    dt.wait([sleeper(n) for n in range(4)])
child = os.fork()
with dt.Runtime(workers=4):
    dt.wait([sleeper(n) for n in range(60)])
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    )
    assert len(warnings(result)) == 2


def test_others_are_not(run_program):
    result = run_program(
        HEAD
        + """
lock = threading.Lock()

def count():
    return sum(range(1_000_000))

@dt.task
def computes(n):
    return count()

@dt.task
def waits_for_a_lock(n):
    with lock:
        return count()

@dt.io
def waits_beside(n):
    time.sleep(0.1)

@dt.task
def pauses(n):
    dt.wait(waits_beside(n))

@dt.task(process=True)
def in_a_process(n):
    time.sleep(0.1)

with dt.Runtime(workers=4):
    dt.wait([task(n) for n in range(30) for task in (computes, waits_for_a_lock, waits_beside, pauses, in_a_process)])
"""
    )
    assert warnings(result) == []
