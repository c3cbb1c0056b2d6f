"""How the traces of ranks become one: clocks, both ends of messages, and times to the nanosecond. Programs of real ranks are in
tests/interpose_mpi/traced_test.py."""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dovetail.trace_clocks import offsets_of
from dovetail.trace_join import join
from dovetail.trace_parts import UnusableTrace, shifted

SEED = 20240611


def test_an_offset_lies_between_what_messages_of_both_directions_say() -> None:
    offsets = offsets_of(["a", "b"], {("a", "b"): 1300.0, ("b", "a"): -700.0}, {"a": 0.0, "b": 0.0})
    assert (offsets["a"].ahead, offsets["a"].error) == (0, 0)
    assert (offsets["b"].ahead, offsets["b"].error) == (1000, 300)


def test_a_clock_without_messages_of_its_own_is_found_through_others() -> None:
    """Clocks of four nodes of which only neighbours exchange messages, which take some time each."""
    print(f"seed {SEED}")
    chosen = random.Random(SEED)
    for _ in range(50):
        ahead = [0.0] + [chosen.uniform(-1e9, 1e9) for _ in range(3)]
        least = {}
        for a in range(3):
            least[a, a + 1] = ahead[a + 1] - ahead[a] + chosen.uniform(1e3, 1e5)
            least[a + 1, a] = ahead[a] - ahead[a + 1] + chosen.uniform(1e3, 1e5)
        offsets = offsets_of([0, 1, 2, 3], least, dict.fromkeys(range(4), 0.0))
        for node in range(4):
            assert abs(offsets[node].ahead - ahead[node]) <= offsets[node].error + 1e-3
            assert offsets[node].slack == 0
        for (a, b), passed in least.items():
            assert offsets[b].ahead - offsets[a].ahead <= passed + 1e-3, "no message is received before it is sent"


def test_without_messages_in_both_directions_the_clock_of_the_day_decides() -> None:
    none = offsets_of(["a", "b"], {}, {"a": 10.0, "b": 510.0})
    assert none["b"].ahead == 500 and math.isinf(none["b"].error)
    one = offsets_of(["a", "b"], {("a", "b"): 300.0}, {"a": 10.0, "b": 510.0})
    assert one["b"].ahead == 300 and math.isinf(one["b"].error), "as far as the messages allow it"


def test_clocks_that_drift_are_said_to() -> None:
    offsets = offsets_of(["a", "b"], {("a", "b"): 0.0, ("b", "a"): -5000.0}, {"a": 0.0, "b": 0.0})
    assert 2500 <= offsets["b"].slack <= 6400
    assert 0 <= offsets["b"].ahead <= 5000


@pytest.mark.parametrize(
    ("time", "later", "expected"),
    [
        ("1.000", 1, "1.001"),
        ("0.999", 2, "1.001"),
        ("18014398509481.985", 2, "18014398509481.987"),
        ("0.001", -2, "-0.001"),
    ],
)
def test_a_time_is_shifted_without_rounding(time: str, later: int, expected: str) -> None:
    line = f'{{"ph":"X","pid":1,"ts":{time},"dur":2.500,"name":"\\"ts\\":5"}}'
    assert shifted(line, later) == f'{{"ph":"X","pid":1,"ts":{expected},"dur":2.500,"name":"\\"ts\\":5"}}'


def part(
    folder: Path, rank: int, messages: list[dict[str, Any]], lost: int = 0, day: int = 10**18, ranks: int = 2
) -> None:
    """What a rank writes. Each message: `to` or `from`, `tag`, `ts`, and the task."""
    facts = {"producer": "dovetail", "rank": rank, "ranks": ranks, "lost_events": lost, "total_s": 1.0}
    facts |= {"monotonic_clock": "one", "begin_ns": 5_000_000, "begin_wall_ns": day}
    lines = []
    for order, message in enumerate(messages):
        sends = "to" in message
        args = {"task_name": message["task"], "direction": "send" if sends else "receive", "channel": "world"}
        args |= {"order": order, "peer": message["to"] if sends else message["from"], "tag": message["tag"]}
        event = {"ph": "X", "pid": 3 * rank + 3, "ts": message["ts"], "dur": 1.0, "tid": 500_001, "cat": "message"}
        lines.append(json.dumps(event | {"name": "call", "args": args}, separators=(",", ":")))
    text = (
        f'{{"displayTimeUnit":"ns","otherData":{json.dumps(facts)},\n"traceEvents":[\n' + ",\n".join(lines) + "\n]}\n"
    )
    (folder / f"trace.json.{rank}").write_text(text)


def arrows(folder: Path) -> list[tuple[str, str]]:
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    return [(event["args"]["from_task"], event["args"]["to_task"]) for event in events if event["ph"] == "s"]


def send(task: str, tag: int = 1) -> dict[str, Any]:
    return {"to": 1, "tag": tag, "ts": 1.0, "task": task}


def receive(task: str, tag: int = 1) -> dict[str, Any]:
    return {"from": 0, "tag": tag, "ts": 2.0, "task": task}


def test_the_nth_send_is_the_nth_receive_of_the_same_tag(tmp_path: Path) -> None:
    part(tmp_path, 0, [send("a"), send("b", 2), send("c")])
    part(tmp_path, 1, [receive("B", 2), receive("A"), receive("C")])
    joined = join(tmp_path / "trace.json")
    assert sorted(arrows(tmp_path)) == [("a", "A"), ("b", "B"), ("c", "C")]
    assert (joined.ranks, joined.arrows, joined.missing) == ([0, 1], 3, [])


def test_what_may_be_another_message_has_no_arrow(tmp_path: Path) -> None:
    part(tmp_path, 0, [send("a"), send("b", 2)])
    part(tmp_path, 1, [receive("A"), receive("B", 2), receive("C", 2), receive("D", 3)])
    (tagged_2, tagged_3) = join(tmp_path / "trace.json").missing
    assert arrows(tmp_path) == [("a", "A")]
    assert "with tag 2" in tagged_2 and "sent 1 messages and received 2" in tagged_2
    assert "with tag 3" in tagged_3


def test_where_the_oldest_are_lost_the_last_ones_belong_together(tmp_path: Path) -> None:
    part(tmp_path, 0, [send("b"), send("c")], lost=100)
    part(tmp_path, 1, [receive("A"), receive("B"), receive("C")])
    assert join(tmp_path / "trace.json").missing == []
    assert sorted(arrows(tmp_path)) == [("b", "B"), ("c", "C")]


def test_a_part_of_an_earlier_run_is_left_out(tmp_path: Path) -> None:
    part(tmp_path, 0, [send("a")])
    part(tmp_path, 1, [receive("old")], day=10**18 - 3600 * 10**9)
    part(tmp_path, 2, [], ranks=3, day=10**18 - 3600 * 10**9)  # that run had more ranks
    joined = join(tmp_path / "trace.json", tmp_path / "other.json")
    assert joined.ranks == [0] and "earlier run" in joined.missing[0] and len(joined.missing) == 1
    assert not (tmp_path / "trace.json").exists()
    assert json.loads((tmp_path / "other.json").read_text())["otherData"]["arrows"] == 0


@pytest.mark.parametrize(
    "text", ["[]\n", "{}\n", '{"otherData":{}}\n', "\x00\n", '{"otherData":{"producer":"dovetail"},\n']
)
def test_what_no_rank_has_written_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "trace.json.0").write_text(text)
    with pytest.raises(UnusableTrace, match=r"trace\.json\.0 was not written by a rank"):
        join(tmp_path / "trace.json")


def test_a_part_that_is_nested_too_deep_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trace.json.0").write_text('{"otherData":' + "[" * 200_000 + "\n")
    with pytest.raises(UnusableTrace, match=r"trace\.json\.0 was not written by a rank"):
        join(tmp_path / "trace.json")


def test_a_part_that_is_a_pipe_or_a_link_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "trace.json.0")
    with pytest.raises(UnusableTrace, match="not a regular file"):
        join(tmp_path / "trace.json")
    (tmp_path / "trace.json.0").unlink()
    (tmp_path / "trace.json.0").symlink_to("/etc/hostname")
    with pytest.raises(UnusableTrace, match="symbolic link"):
        join(tmp_path / "trace.json")


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to(path.with_name("victim"))])
def test_a_trace_is_not_written_through_a_link_nor_to_a_pipe(tmp_path: Path, make: Callable[[Path], None]) -> None:
    part(tmp_path, 0, [], ranks=1)
    (tmp_path / "victim").write_text("as it was")
    make(tmp_path / "trace.json")
    with pytest.raises(UnusableTrace, match="cannot write"):
        join(tmp_path / "trace.json")
    assert (tmp_path / "victim").read_text() == "as it was"


def test_a_trace_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    part(tmp_path, 0, [], ranks=1)
    with pytest.raises(UnusableTrace, match="cannot write"):
        join(tmp_path / "trace.json", tmp_path / "no" / "folder.json")
