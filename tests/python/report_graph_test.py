"""Dependencies and the critical path, from the accesses that a trace has."""

from __future__ import annotations

import itertools
import random

import pytest
from made_trace import MadeTrace

np = pytest.importorskip("numpy")

from dovetail import report_accesses, report_data, report_graph, report_types  # noqa: E402 (behind what may skip)
from dovetail.report_columns import Columns  # noqa: E402


def graph_of(trace: MadeTrace) -> report_graph.Graph:
    columns = Columns()
    for event in trace.events:
        columns.add(event)
    return report_graph.find(columns.tasks)


def test_a_reader_depends_on_its_writer_and_the_next_writer_on_both() -> None:
    trace = MadeTrace()
    waits = {"waited_for_accesses_us": 9e6}
    trace.task(0, "write", 0, 1, "out 'memory' [0, 8)")
    trace.task(0, "read", 1, 2, "in 'memory' [0, 8)", **waits)
    trace.task(1, "read", 1, 3, "in 'memory' [0, 8)", **waits)
    trace.task(1, "write", 3, 4, "inout 'memory' [0, 8)", **waits)
    trace.task(0, "other", 3, 9, "inout 'memory' [8, 16)", **waits)
    graph = graph_of(trace)
    assert sorted(graph.edges) == [(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)]
    assert graph.path == [4] and graph.length == 6e9


def test_the_critical_path_is_the_longest_chain_not_the_longest_in_number() -> None:
    trace = MadeTrace()
    for number in range(5):
        trace.task(0, f"short {number}", number, number + 0.5, "inout 'memory' [0, 8)")
    trace.task(1, "long 1", 0, 3, "out 'memory' [8, 16)")
    trace.task(1, "long 2", 3, 6, "in 'memory' [8, 16)")
    graph = graph_of(trace)
    assert graph.path == [5, 6]
    assert graph.length == 6_000_000_000


def test_regions_that_overlap_order_their_tasks() -> None:
    trace = MadeTrace()
    trace.task(0, "left", 0, 1, "out 'memory' [0, 10)")
    trace.task(1, "right", 0, 1, "out 'memory' [10, 20)")
    trace.task(0, "middle", 1, 2, "in 'memory' [5, 15)")
    trace.task(1, "elsewhere", 1, 2, "in 'rank 0' [5, 15)")
    assert sorted(graph_of(trace).edges) == [(0, 2), (1, 2)]


def test_commutative_tasks_do_not_depend_on_each_other() -> None:
    trace = MadeTrace()
    waits = {"waited_for_accesses_us": 9e6}
    trace.task(0, "first", 0, 1, "out 'memory' [0, 8)")
    trace.task(0, "add", 1, 2, "commutative 'memory' [0, 8)", **waits)
    trace.task(1, "add", 2, 3, "commutative 'memory' [0, 8)", **waits)
    trace.task(0, "last", 3, 4, "in 'memory' [0, 8)", **waits)
    assert sorted(graph_of(trace).edges) == [(0, 1), (0, 2), (1, 3), (2, 3)]


def test_memory_that_is_used_again_makes_no_dependency() -> None:
    """The first one had ended when the second was made, which does not read what the first wrote."""
    trace = MadeTrace()
    trace.task(0, "first", 0, 1, "out 'memory' [0, 8)")
    trace.task(0, "second", 2, 3, "out 'memory' [0, 8)", waited_for_accesses_us=0.5e6)
    assert graph_of(trace).edges == []


def test_what_is_read_was_written_however_long_ago() -> None:
    trace = MadeTrace()
    trace.task(0, "first", 0, 1, "out 'memory' [0, 8)")
    trace.task(0, "second", 2, 3, "inout 'memory' [0, 8)", waited_for_accesses_us=0.5e6)
    trace.task(0, "third", 4, 5, "in 'memory' [0, 8)")
    graph = graph_of(trace)
    assert graph.edges == [(0, 1), (1, 2)] and graph.path == [0, 1, 2]


def test_a_task_that_pauses_is_one_task() -> None:
    trace = MadeTrace()
    trace.task(0, "reads", 0, 1, "out 'memory' [0, 8)", paused_for="pread")
    trace.task(1, "other", 1, 2)
    first = dict(trace.events[-2])
    trace.events.append(
        {**first, "ts": 3e6, "dur": 2e6, "tid": 2, "flow_in": True, "args": {"task": first["args"]["task"]}}
    )
    columns = Columns()
    for event in trace.events:
        columns.add(event)
    assert list(columns.rows["task"].task) == [1, 2, 1]
    assert report_types.own_seconds(columns)[0] == 3 and columns.tasks.end[0] == 5e9


def test_a_task_is_as_long_on_the_critical_path_as_with_its_pauses() -> None:
    trace = MadeTrace(2, total_s=20, compute_s=2, computing_s=4, io_s=16)
    for begin in (0, 10):
        trace.task(
            0, "step", begin, begin + 1, "inout 'memory' [0, 8)", paused_for="pread", waited_for_accesses_us=1e6 * begin
        )
        first = trace.events[-1]
        trace.events.append(
            {**first, "ts": (begin + 9) * 1e6, "dur": 1e6, "flow_in": True, "args": {"task": first["args"]["task"]}}
        )
    columns = Columns()
    run = report_data.read({**trace.document(), "traceEvents": columns.noted(trace.events)}, {})
    graph = report_graph.find(columns.tasks)
    assert graph.path == [0, 1] and graph.length == 20_000_000_000
    (steps,) = report_types.types_of(run, columns, graph.path)
    assert (steps.total, steps.median, steps.on_path) == pytest.approx((4, 2, 20))


def test_identities_that_are_used_again_are_other_tasks() -> None:
    trace = MadeTrace()
    for number in range(3):
        trace.task(0, "task", number, number + 0.5)
        trace.events[-1]["args"]["task"] = "0x1"
    columns = Columns()
    for event in trace.events:
        columns.add(event)
    assert list(columns.rows["task"].task) == [1, 2, 3]


@pytest.mark.parametrize("seed", range(5))
def test_chains_are_as_long_as_a_search_of_all_paths_says(seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    trace = MadeTrace(4)
    ends: dict[int, float] = {}  # when a region's last user ends
    modes = {}
    for number in range(12):
        used = chance.sample(range(4), chance.randint(1, 2))
        begin = max([ends.get(region, 0.0) for region in used])
        end = begin + chance.randint(1, 9)
        modes[number] = {region: chance.choice(("in", "out", "inout")) for region in used}
        text = ", ".join(f"{mode} 'memory' [{8 * region}, {8 * region + 8})" for region, mode in modes[number].items())
        trace.task(number % 4, f"task {number}", begin, end, text, waited_for_accesses_us=begin * 1e6)
        ends |= dict.fromkeys(used, end)
    edges = {
        (a, b)
        for a, b in itertools.combinations(range(12), 2)
        for region in modes[a].keys() & modes[b].keys()
        if (modes[a][region], modes[b][region]) != ("in", "in")
    }
    took = {number: event["dur"] * 1e3 for number, event in enumerate(e for e in trace.events if e["ph"] == "X")}

    def longest(task: int) -> float:
        return took[task] + max((longest(a) for a, b in edges if b == task), default=0.0)

    graph = graph_of(trace)
    assert graph.length == pytest.approx(max(map(longest, range(12))))
    assert set(graph.edges) <= edges
    assert all(pair in graph.edges for pair in itertools.pairwise(graph.path))


def test_a_child_does_not_break_the_chain_of_those_that_its_parent_is_in() -> None:
    """Children are ordered among themselves only; this one is made behind a task that waits for its parent."""
    trace = MadeTrace(2)
    memory = "inout 'memory' [0, 8)"
    trace.task(0, "parent", 0, 1, memory)
    trace.task(0, "second", 1, 2, memory, waited_for_accesses_us=1e6)
    trace.task(1, "child", 0.2, 0.3, memory)
    trace.task(0, "third", 2, 3, memory, waited_for_accesses_us=1.5e6)
    graph = graph_of(trace)
    assert graph.path == [0, 1, 3] and graph.length == 3_000_000_000
    assert {(0, 1), (1, 3)} <= set(graph.edges)


def test_a_child_that_writes_does_not_make_others_forget_who_reads() -> None:
    trace = MadeTrace(2)
    trace.task(0, "reader", 0, 2, "in 'memory' [0, 8)")
    trace.task(1, "child", 0.2, 0.3, "out 'memory' [0, 8)")
    trace.task(0, "writer", 2, 3, "out 'memory' [0, 8)", waited_for_accesses_us=1.5e6)
    assert graph_of(trace).edges == [(0, 2)]


def test_a_child_that_reads_does_not_order_commutative_tasks() -> None:
    trace = MadeTrace(2)
    trace.task(0, "add", 0, 1, "commutative 'memory' [0, 8)")
    trace.task(1, "child", 0.2, 3, "in 'memory' [0, 8)")
    trace.task(0, "add", 1, 2, "commutative 'memory' [0, 8)", waited_for_accesses_us=1e6)
    assert graph_of(trace).edges == []


def test_the_critical_path_begins_where_the_sums_do() -> None:
    trace = MadeTrace(1)
    for begin in (0, 1, 2):
        trace.task(0, "step", begin, begin + 1, "inout 'memory' [0, 8)")
    columns = Columns()
    for event in trace.events:
        columns.add(event)
    graph = report_graph.find(columns.tasks, since=1_500_000_000)
    assert graph.path == [1, 2] and graph.length == 1_500_000_000
    assert graph.edges == [(0, 1), (1, 2)]


def test_a_space_may_have_a_quote_in_its_name() -> None:
    trace = MadeTrace(2)
    trace.task(0, "write", 0, 1, "out 'it's' [0, 8), out 'other' [0, 4)")
    trace.task(0, "read", 1, 2, "in 'it's' [4, 12)")
    assert graph_of(trace).edges == [(0, 1)]


def test_what_python_accesses_in_words() -> None:
    text = (
        "in 'file fffffffffffffffd' [3, 4), in 'file fffffffffffffffd' [5, 6), inout 'file ffffffffffffffff' [94000000, 94000001), "
        "out 'file fffffffffffffffe' [7, 8)"
    )
    told = report_accesses.in_words(report_accesses.accesses_of(text))
    assert told == "reads 2 files, writes 1 result, updates 1 object"


def test_accesses_in_words() -> None:
    text = (
        "in 'file fffffffffffffffe' [1, 2), in 'file fffffffffffffffe' [2, 3), out 'file fffffffffffffffe' [3, 4), "
        "in 'memory' [0, 8000000), inout 'file a3' [0, 1099511627775), commutative 'rank 3' [4, 12)"
    )
    assert report_accesses.in_words(report_accesses.accesses_of(text)) == (
        "reads 2 results and 1 region of memory (8 MB), writes 1 result, updates 1 region of a file, updates in any order 'rank 3' [4, 12)"
    )
