"""The sentence at the top of a report: each rule on a made trace, and those that a program can be made for on a real run."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import hangs
import pytest
from made_trace import MadeTrace

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from dovetail import report_advice, report_graph, report_types  # noqa: E402 (behind what may skip)
from dovetail.report_columns import Columns  # noqa: E402
from dovetail.report_data import Run, read  # noqa: E402


def read_trace(trace: MadeTrace) -> tuple[Run, Columns, report_graph.Graph, list[report_types.TaskType]]:
    document = trace.document()
    columns = Columns()
    run = read({**document, "traceEvents": columns.noted(trace.events)}, {})
    graph = report_graph.find(columns.tasks)
    return run, columns, graph, report_types.types_of(run, columns, graph.path)


def advice(trace: MadeTrace) -> str:
    return report_advice.advise(report_advice.Evidence(*read_trace(trace)))


def test_a_task_that_blocks_becomes_an_io_task() -> None:
    trace = MadeTrace(2, total_s=10, compute_s=2, computing_s=4, blocked_s=6.4)
    trace.task(0, "checkpoint 1", 0, 10, processor_us=0.2e6)
    trace.task(1, "checkpoint 2", 1, 5, processor_us=0.2e6)
    trace.task(1, "sum", 5, 10)
    assert advice(trace) == (
        "`checkpoint` held workers 68 % of the time without using the processor: make it an I/O task (in Python with `@dt.io`) if it waits for files or other programs, or split off what waits."
    )


def test_io_that_nothing_hides_is_named() -> None:
    trace = MadeTrace(1, total_s=10, compute_s=3, computing_s=3, io_s=8, hidden_s=1)
    trace.task(0, "sum", 0, 3)
    trace.io_task(0, "fsync 1", 2, 6)
    trace.io_task(1, "fsync 2", 5, 9.4)
    trace.request(0, "pread", 9, 9.5)
    assert advice(trace).startswith("64 % of the time no worker ran a task while `fsync` went on: ")
    # Where a computing task runs beside it, it is hidden.
    trace.task(0, "more", 3, 9)
    trace.facts |= {"compute_s": 9, "computing_s": 9, "hidden_s": 7}
    assert advice(trace).startswith("Nothing stands out: workers computed 90 % of the time")


def test_requests_that_nothing_hides_are_named() -> None:
    trace = MadeTrace(1, total_s=10, compute_s=3, computing_s=3, io_s=7, hidden_s=0)
    trace.task(0, "sum", 0, 3)
    trace.request(0, "pread", 3, 8)
    trace.request(0, "pwrite", 8, 10)
    assert advice(trace).startswith("50 % of the time no worker ran a task while `pread` of files went on: ")


def test_bodies_that_take_turns_at_the_interpreter() -> None:
    trace = MadeTrace(2, total_s=10, compute_s=5, computing_s=9, blocked_s=5)
    for worker in range(2):
        trace.task(worker, f"parse {worker}", 0, 10, processor_us=5e6)
    trace.wait(0, 0, 0.005)
    assert advice(trace).startswith(
        "Bodies took turns for 50 % of their time, as they do that wait for the interpreter, `parse` most: give it `process=True`"
    )
    # The same without the interpreter is a task that blocks.
    trace.events.pop()
    assert advice(trace).startswith("`parse` held workers 50 % of the time without using the processor")


def test_bodies_that_block_at_the_same_time_do_not_take_turns() -> None:
    trace = MadeTrace(2, total_s=10, compute_s=0.5, computing_s=1, blocked_s=9.5)
    for worker in range(2):
        trace.task(worker, f"load {worker}", 0, 10, processor_us=0.5e6)
    trace.wait(0, 0, 0.005)
    assert advice(trace).startswith("`load` held workers 95 % of the time")


def test_time_outside_of_tasks() -> None:
    trace = MadeTrace(2, total_s=10, compute_s=2, computing_s=4, io_s=0)
    trace.task(0, "sum", 0, 2)
    trace.task(1, "sum", 8, 10)
    assert advice(trace).startswith(
        "60 % of the time no task ran, no I/O was in flight and no message outstanding: make a task of what the program does"
    )


def test_time_in_which_a_task_is_blocked_is_not_outside_of_tasks() -> None:
    trace = MadeTrace(2, total_s=10, compute_s=2.5, computing_s=5, blocked_s=2.5)
    trace.task(0, "fetch", 0, 5, processor_us=0)
    trace.task(0, "sum", 5, 10)
    assert advice(trace).startswith("`fetch` held workers 25 % of the time")


def test_a_chain_of_tasks() -> None:
    trace = MadeTrace(4, total_s=10, compute_s=2.5, computing_s=10)
    for number in range(5):
        name = "reduce" if number % 2 else f"step {number}"
        trace.task(
            number % 4, name, 2 * number, 2 * number + 2, "inout 'memory' [0, 8)", waited_for_accesses_us=2e6 * number
        )
    assert advice(trace) == (
        "A chain of 5 tasks, each of which waits for the one before, takes 100 % of the run, 60 % of it in `step`: shorten or split `step`; "
        "more workers do not help."
    )
    trace.facts["elsewhere"] = True  # the chain may be longer than the trace says
    assert advice(trace).startswith("Nothing stands out")


def test_tasks_that_are_too_short() -> None:
    trace = MadeTrace(1, total_s=0.02, compute_s=0.004, computing_s=0.019)
    for number in range(2000):
        trace.task(0, "tiny", number * 1e-5, number * 1e-5 + 2e-6)
    assert advice(trace).startswith(
        "Half of the 2000 tasks `tiny` take less than 2 µs, about what it costs to run a task: put several calls into one"
    )


def test_lost_events_leave_the_time_before_out() -> None:
    """The sums of a trace begin where the events of all threads are known."""
    trace = MadeTrace(1, total_s=2, compute_s=1.9, computing_s=1.9, lost_events=100_000)
    trace.task(0, "early", 1, 97)
    trace.task(0, "sum 99", 97, 98)
    trace.wait(0, 97, 98)
    for number in range(19):
        trace.task(0, f"sum {number}", 98 + number / 10, 98.1 + number / 10, processor_us=1e5)
    trace.lost(0, 98)
    run, columns, _, types = read_trace(trace)
    assert (run.since, run.end, run.length) == (98, 100, 2)
    assert [(one.name, one.tasks) for one in types] == [("sum", 19)] and list(run.kinds) == ["sum"]
    assert run.waits == {}
    assert advice(trace).startswith("Nothing stands out: workers computed 95 % of the time, and `sum` takes 100 %")


def test_a_task_that_goes_on_where_the_sums_begin_covers_what_is_behind() -> None:
    trace = MadeTrace(1, total_s=2, compute_s=0.5, computing_s=0.5, lost_events=7, elsewhere=False)
    trace.task(0, "sum", 90, 98.5)
    trace.lost(0, 98)
    assert advice(trace).startswith("75 % of the time no task ran")


def test_ranks_that_lost_different_parts_get_no_advice() -> None:
    rank = {"workers": 1, "total_s": 10, "compute_s": 1, "lost_events": 0}
    trace = MadeTrace(1, ranks=[rank, {**rank, "total_s": 2, "lost_events": 5}])
    trace.task(0, "sum", 0, 1)
    trace.lost(0, 8)
    assert advice(trace).startswith("Ranks lost older events")


def test_what_goes_on_elsewhere_is_not_called_outside_of_tasks() -> None:
    """In worker processes and in the event loop: the trace has only what starts such tasks."""
    trace = MadeTrace(2, total_s=10, compute_s=0.001, computing_s=0.002)
    for number in range(4):
        begin = 5.0 * (number // 2)
        trace.task(number % 2, "parse", begin, begin + 2e-4)
    assert advice(trace).endswith(
        "(A trace does not show what goes on elsewhere for a task: with `process=True`, in an `async def`, or bound to an event.)"
    )
    trace.facts["elsewhere"] = False
    assert advice(trace).endswith("or make its tasks earlier.")
    trace.facts["elsewhere"] = True
    assert advice(trace).startswith("Nothing stands out")


def test_messages_that_nothing_hides() -> None:
    trace = MadeTrace(2, total_s=10, compute_s=2, computing_s=4, communication_s=6)
    trace.task(0, "sum", 0, 4, paused_for="MPI_Recv")
    trace.message("MPI_Recv", 4, 10)
    assert advice(trace).startswith("60 % of the time a message was outstanding and no worker computed: start it")
    assert report_advice._covered(report_advice.Evidence(*read_trace(trace))) == 10


def test_what_others_take_from_the_processors_does_not_hide_time_outside_of_tasks() -> None:
    trace = MadeTrace(8, total_s=10, compute_s=5.4, computing_s=6, blocked_s=0.6, elsewhere=False)
    for worker in range(8):
        trace.task(worker, "sum", 0, 6, processor_us=5.4e6)
    assert advice(trace).startswith("40 % of the time no task ran")


def test_time_outside_of_tasks_is_a_mean_over_the_ranks() -> None:
    rank = {"workers": 1, "total_s": 10, "compute_s": 6, "computing_s": 6, "blocked_s": 1}
    trace = MadeTrace(1, ranks=[rank, rank])
    trace.task(0, "sum", 0, 8, processor_us=7e6)
    trace.task(0, "sum", 0, 5, processor_us=4e6)
    trace.events[-1] |= {"pid": 4}
    assert advice(trace).startswith("35 % of the time no task ran")


def test_a_slice_inside_of_another_one_is_counted_once() -> None:
    trace = MadeTrace(1, total_s=10, compute_s=2, computing_s=2, blocked_s=8)
    trace.task(0, "child", 1, 9, processor_us=0)
    trace.task(0, "parent", 0, 10, processor_us=2e6)
    run, _, _, types = read_trace(trace)
    told = {one.name: (one.total, one.median, one.blocked) for one in types}
    assert told["child"] == pytest.approx((8, 8, 8)) and told["parent"] == pytest.approx((2, 2, 0))
    assert run.kinds["parent"]["seconds"] == pytest.approx(2)
    assert advice(trace).startswith("`child` held workers 80 % of the time")


def test_bodies_inside_of_others_take_turns_as_one_worker() -> None:
    trace = MadeTrace(2, total_s=10, compute_s=5, computing_s=9, blocked_s=5)
    for worker in range(2):
        trace.task(worker, "child", 0.001, 9.999, processor_us=5e6)
        trace.task(worker, "parent", 0, 10, processor_us=5e6)
    trace.wait(0, 0, 0.005)
    assert advice(trace).startswith(
        "Bodies took turns for 50 % of their time, as they do that wait for the interpreter, `child` most"
    )


def test_short_tasks_count_as_what_they_cost() -> None:
    """A thousand of them somewhere do not explain all the time in which workers were idle."""
    trace = MadeTrace(1, total_s=10, compute_s=3, computing_s=3, io_s=7)
    for number in range(1000):
        trace.task(0, "tiny", number * 1e-5, number * 1e-5 + 1e-6)
    trace.task(0, "sum", 0.02, 3)
    trace.io_task(0, "fsync", 3, 9.4)
    assert advice(trace).startswith("64 % of the time no worker ran a task while `fsync` went on")


def test_tasks_one_after_the_other_without_a_reason() -> None:
    """As in a program that asks for each result before it makes the next task."""
    trace = MadeTrace(8, total_s=10, compute_s=1.25, computing_s=10)
    for number in range(10):
        trace.task(number % 8, f"step {number}", number, number + 1)
    assert advice(trace).startswith("88 % of the workers' time they had no task to run, though")
    # One task that takes long is another matter: nothing can be made earlier.
    uneven = MadeTrace(2, total_s=10, compute_s=6, computing_s=10)
    uneven.task(0, "solve", 0, 10)
    uneven.task(1, "sum", 0, 2)
    assert advice(uneven).startswith("Nothing stands out")
    # So are tasks that go on at the same time.
    many = MadeTrace(8, total_s=10, compute_s=2.5, computing_s=10)
    for number in range(20):
        many.task(number % 2, f"step {number}", number // 2, number // 2 + 1)
    assert advice(many).startswith("Nothing stands out")


def test_a_program_under_a_plan_has_no_workers() -> None:
    trace = MadeTrace(0, total_s=1)
    trace.request(0, "pread", 0, 1)
    assert advice(trace).startswith("The trace has no tasks and no workers")


def test_nothing_stands_out() -> None:
    trace = MadeTrace(1, total_s=10, compute_s=9.5, computing_s=9.5)
    trace.task(0, "sum", 0, 9.5)
    assert (
        advice(trace)
        == "Nothing stands out: workers computed 95 % of the time, and `sum` takes 100 % of the tasks' time."
    )
    assert advice(MadeTrace(1, total_s=1)) == "Nothing stands out: workers computed 0 % of the time."


BLOCKS = """
import os, threading
import dovetail as dt

# The other end writes only when each body has been in its read for a while.
def feed(end):
    threading.Event().wait(0.25)
    os.write(end, b"x")

@dt.task
def fetch(end):
    os.read(end, 1)

with dt.Runtime(workers=1):
    for turn in range(4):
        reading, writing = os.pipe()
        feeder = threading.Thread(target=feed, args=(writing,))
        feeder.start()
        fetch(reading).result()
        feeder.join()
"""

TURNS = """
import time
import dovetail as dt

@dt.task
def parse(n):
    end = time.thread_time() + 0.15
    while time.thread_time() < end:
        sum(range(1000))

with dt.Runtime(workers=2):
    for future in [parse(n) for n in range(4)]:
        future.result()
"""

OUTSIDE = """
import time
import dovetail as dt

@dt.task
def short(n):
    return sum(range(1000))

with dt.Runtime(workers=2):
    for n in range(3):
        short(n).result()
        end = time.monotonic() + 0.1
        while time.monotonic() < end:
            pass
"""

ALONE = """
import threading
import dovetail as dt

@dt.io
def archive(n):
    threading.Event().wait(0.3)
    return n

@dt.task
def use(n):
    return n

with dt.Runtime(workers=2):
    for n in range(3):
        use(archive(n)).result()
"""


@pytest.mark.parametrize(
    "text, pattern",
    [
        (BLOCKS, r"`fetch` held workers \d+ % of the time without using the processor"),
        (OUTSIDE, r"\d+ % of the time no task ran, no I/O was in flight and no message outstanding: .* earlier\.$"),
        (ALONE, r"\d+ % of the time no worker ran a task while `archive` went on"),
    ],
    ids=["blocks", "outside", "alone"],
)  # fmt: skip
def test_a_real_run_is_advised(tmp_path: Path, text: str, pattern: str) -> None:
    told = advice_of_run(tmp_path, text)
    assert re.match(pattern, told), told


def advice_of_run(folder: Path, text: str) -> str:
    program = folder / "app.py"
    program.write_text(text)
    command = [sys.executable, "-m", "dovetail.cli", "run", "--report", str(folder / "out.html"), str(program)]
    done = hangs.run(command, timeout=100)
    assert done.returncode == 0, done.stderr
    (told,) = re.findall(r'<p class="advice">(.*)</p>', (folder / "out.html").read_text())
    return str(told)


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="bodies in Python run at the same time")
def test_a_real_run_of_bodies_that_take_turns(tmp_path: Path) -> None:
    for _ in range(3):
        told = advice_of_run(tmp_path, TURNS)
        events = json.loads((tmp_path / "out.trace.json").read_text())["traceEvents"]
        slices = [event for event in events if event["ph"] == "X" and event["name"] == "parse"]
        used = sum(event["args"]["processor_us"] for event in slices)
        begin, end = min(event["ts"] for event in slices), max(event["ts"] + event["dur"] for event in slices)
        if used > 0.8 * (end - begin):
            assert re.match(
                r"Bodies took turns for \d+ % of their time, as they do that wait for the interpreter, `parse` most",
                told,
            ), told
            return
    pytest.skip("other programs use the processors: what bodies wait for cannot be told apart")
