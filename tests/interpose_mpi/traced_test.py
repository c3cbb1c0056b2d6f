"""The trace of a program of several ranks: which tasks its arrows connect, in which order in time, and how much of its communication was hidden.

Called with the program that starts ranks, and the program that they run (traced.cpp).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
BUILD = Path(os.environ["DOVETAIL_BUILD_DIR"])
sys.path.insert(0, str(SOURCE / "scripts"))

import hangs  # noqa: E402

STARTER, PROGRAM = sys.argv[1:3]
ROUNDS = 3
# A process's clock is read to some 100 ns, and two processes' readings are compared.
CLOCK_ERROR_US = 2.0
SECONDS_OF_WORK = 0.1


def check(holds: bool, *shown: object) -> None:
    if not holds:
        sys.exit("\n".join(str(each) for each in shown))


def traced(folder: Path, what: str, ranks: int) -> Path:
    """What DOVETAIL_TRACE was."""
    trace = folder / f"{what}{ranks}.json"
    environment = os.environ | {"DOVETAIL_TRACE": str(trace)}
    done = hangs.run([STARTER, "-n", str(ranks), PROGRAM, what], env=environment, timeout=120)
    check(done.returncode == 0, done)
    return trace


def join(trace: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(BUILD / "python")}
    command = [sys.executable, "-m", "dovetail.cli", "trace", "join", str(trace), *options]
    return hangs.run(command, env=environment, timeout=60, capture_output=True, text=True)


def joined(trace: Path) -> tuple[dict[str, Any], str]:
    done = join(trace)
    check(done.returncode == 0, done)
    return json.loads(trace.read_text()), done.stdout


def events_of(document: dict[str, Any], phase: str, category: str) -> list[dict[str, Any]]:
    return [event for event in document["traceEvents"] if event["ph"] == phase and event.get("cat") == category]


def arrows_of(document: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    ends = {event["id"]: event for event in events_of(document, "f", "message")}
    starts = events_of(document, "s", "message")
    check(len(starts) == len(ends) == document["otherData"]["arrows"], "an arrow has two ends")
    return [(start, ends[start["id"]]) for start in starts]


def expected(ranks: int) -> Counter[tuple[int, int, int, str, str]]:
    """The messages of traced.cpp: sender, receiver, tag, and the tasks of both."""
    found: Counter[tuple[int, int, int, str, str]] = Counter()
    for rank in range(ranks):
        to = (rank + 1) % ranks
        for name, tag in (
            ("waiting", 1),
            ("bound", 2),
            ("unmodified", 3),
            ("first", 1),
            ("second", 1),
            ("started, bound", 21),
            ("started, waited for", 22),
            ("started, any of them", 23),
        ):
            for number in range(ROUNDS):
                found[rank, to, tag, f"{name} sends {number}", f"{name} receives {number}"] += 1
        for name in ("waits for all", "waits for each", "waits for some", "binds all"):
            for tag in (31, 32, 33):
                found[rank, to, tag, name, name] += 1
        found[rank, to, 41, "tests", "starts with its own"] += 1
        found[rank, to, 4, "exchanges", "exchanges"] += 1
        found[rank, to, 5, "exchanges unmodified", "exchanges unmodified"] += 1
        found[rank, to, 6, "sends", "starts with it"] += 1
        found[rank, to, 7, "sends", "probes"] += 1
        found[rank, to, 9, "sends", "probes in C++"] += 1
        if rank > 0:
            found[rank, 0, 10 + rank, "to any", "from any"] += 1
    return found


def slice_at(slices: list[dict[str, Any]], event: dict[str, Any]) -> str | None:
    """The task that the end of an arrow lies in; the innermost one."""
    found = [
        each
        for each in slices
        if (each["pid"], each["tid"]) == (event["pid"], event["tid"])
        and each["ts"] <= event["ts"] + 1e-6 <= each["ts"] + each["dur"] + 2e-6
    ]
    return max(found, key=lambda each: (each["ts"], -each["dur"]))["name"] if found else None


def see_arrows(folder: Path, ranks: int) -> None:
    trace = traced(folder, "arrows", ranks)
    check(not trace.exists(), "the ranks write a file each, and none of them this one")
    document, said = joined(trace)
    check(f"{trace} has {ranks} ranks" in said and len(said.splitlines()) == 1, said)
    arrows = arrows_of(document)
    found = Counter(
        (
            start["args"]["from"],
            start["args"]["to"],
            start["args"]["tag"],
            end["args"]["from_task"],
            end["args"]["to_task"],
        )
        for start, end in arrows
    )
    check(found == expected(ranks), "missing", expected(ranks) - found, "too many", found - expected(ranks))

    slices = events_of(document, "X", "task")
    for start, end in arrows:
        told = start["args"]
        check(start["pid"] == 3 * told["from"] + 1, "a message is sent from a thread of its rank", start)
        check(slice_at(slices, start) == told["from_task"], "it is sent in the slice of its task", start)
        check(end["pid"] in (3 * told["to"] + 1, 3 * told["to"] + 3), "it is received by its rank", end)
        # A task that has returned before is in none; the message itself is shown then.
        if not any(name in told["to_task"] for name in ("bound", "binds")):
            check(end["pid"] == 3 * told["to"] + 1 and slice_at(slices, end) == told["to_task"], "in its task", end)
        check(end["ts"] >= start["ts"] - CLOCK_ERROR_US, "no message is received before it is sent", start, end)
    names = [event["args"]["name"] for event in document["traceEvents"] if event.get("name") == "process_name"]
    check(names.count("rank 1: tasks") == 1 and names.count(f"rank {ranks - 1}: messages outstanding") == 1, names)
    check(sum(event["name"] == "MPI_Barrier" for event in events_of(document, "X", "message")) == ranks, "collectives")
    facts = document["otherData"]
    check([part["rank"] for part in facts["ranks"]] == list(range(ranks)), facts)
    check(len(facts["clocks"]) == 1, "all ranks of a node have one clock", facts["clocks"])


def see_what_is_missing(folder: Path) -> None:
    trace = folder / "arrows4.json"
    whole = {path: path.read_text() for path in folder.glob("arrows4.json.*")}
    # A rank that has died has written nothing, or something of its trace.
    trace.with_name("arrows4.json.2").write_text("")
    cut = whole[trace.with_name("arrows4.json.3")]
    trace.with_name("arrows4.json.3").write_text(cut[: len(cut) // 2])
    document, said = joined(trace)
    check("rank 2 has written no trace" in said, said)
    check("rank 3 has not written its trace to the end" in said, said)
    between = {(start["args"]["from"], start["args"]["to"]) for start, _ in arrows_of(document)}
    check((0, 1) in between and not any(2 in pair for pair in between), between)
    trace.with_name("arrows4.json.0").write_text("{}\n")
    done = join(trace)
    check(done.returncode == 2 and "arrows4.json.0 was not written" in done.stderr, done)
    check("Traceback" not in done.stderr, done)
    done = join(folder / "nothing.json")
    check(done.returncode == 2 and "nothing.json.0" in done.stderr, done)
    for path, text in whole.items():
        path.write_text(text)


def see_another_clock(folder: Path) -> None:
    """As if rank 1 ran on another node, whose clock is ahead by a known time."""
    ahead_us = 123_456.0
    part = folder / "arrows2.json.1"
    head, rest = part.read_text().split("\n", 1)
    facts = json.loads(head.rstrip(",") + "}")["otherData"]
    changed = facts | {"monotonic_clock": "another", "begin_ns": facts["begin_ns"] + round(ahead_us * 1000)}
    part.write_text(f'{{"displayTimeUnit":"ns","otherData":{json.dumps(changed)},\n{rest}')
    document, said = joined(folder / "arrows2.json")
    (_, told) = document["otherData"]["clocks"]
    check(told["aligned_by"] == "messages" and told["ranks"] == [1], told)
    check(abs(told["ahead_us"] - ahead_us) <= told["error_us"] + CLOCK_ERROR_US, told)
    check(f"{told['ahead_us']} µs ahead" in said and f"at most {told['error_us']} µs wrong" in said, said)
    for start, end in arrows_of(document):
        check(end["ts"] >= start["ts"] - CLOCK_ERROR_US, "no message is received before it is sent", start, end)


def see_overlap(folder: Path) -> None:
    facts = json.loads(Path(f"{traced(folder, 'hidden', 2)}.0").read_text())["otherData"]
    # All that is computed is computed while the message is waited for; a loaded machine makes both longer.
    check(facts["computing_s"] >= 0.9 * SECONDS_OF_WORK, facts)
    check(facts["communication_hidden_s"] >= 0.9 * facts["computing_s"], facts)
    check(facts["communication_s"] >= facts["communication_hidden_s"], facts)
    facts = json.loads(Path(f"{traced(folder, 'idle', 2)}.0").read_text())["otherData"]
    check(facts["communication_s"] >= 0.5 * SECONDS_OF_WORK, facts)
    check(facts["communication_hidden_share"] <= 0.1, facts)


def see_what_came_from_outside(folder: Path) -> None:
    document, said = joined(traced(folder, "outside", 2))
    check(arrows_of(document) == [] and "no arrows from rank 0 to rank 1 with tag 8" in said, said)


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for ranks in (2, 4):
        see_arrows(folder, ranks)
    see_what_is_missing(folder)
    see_another_clock(folder)
    see_overlap(folder)
    see_what_came_from_outside(folder)
