"""The trace of several processes that `dovetail launch` starts: one file, with each notification as an arrow from the task that sends it to the one
that takes it. Called with the program that they run (traced.cpp)."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
BUILD = Path(os.environ["DOVETAIL_BUILD_DIR"])
sys.path.insert(0, str(SOURCE / "scripts"))

import hangs  # noqa: E402

ROUNDS, RANGE = 3, 4
CLOCK_ERROR_US = 2.0


def check(holds: bool, *shown: object) -> None:
    if not holds:
        sys.exit("\n".join(str(each) for each in shown))


def expected(ranks: int) -> Counter[tuple[int, int, int, str, str]]:
    """Of each message: sender, receiver, number, and the tasks of both."""
    found: Counter[tuple[int, int, int, str, str]] = Counter()
    for rank in range(ranks):
        right, left = (rank + 1) % ranks, (rank - 1) % ranks
        for number in range(ROUNDS):
            found[rank, right, 0, f"notifies {number}", f"takes {number}"] += 1
            found[rank, left, 1, f"takes {number}", f"notifies {number}"] += 1
        for number in range(RANGE):
            found[rank, right, 4 + number, "writes", "starts with all"] += 1
        found[rank, right, 10, "notifies any", "takes any"] += 1
        found[rank, right, 12, "task", "takes from outside"] += 1
        found[rank, right, 13, "notifies a thread", "task"] += 1
    return found


for ranks in (2, 3):
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "trace.json")
        environment = os.environ | {"DOVETAIL_TRACE": str(trace), "PYTHONPATH": str(BUILD / "python")}
        command = [sys.executable, "-m", "dovetail.cli", "launch", "-n", str(ranks), sys.argv[1]]
        done = hangs.run(command, env=environment, timeout=120, capture_output=True, text=True)
        check(done.returncode == 0, done)
        document = json.loads(trace.read_text())
    arrows = [event for event in document["traceEvents"] if event["ph"] == "s"]
    ends = {event["id"]: event for event in document["traceEvents"] if event["ph"] == "f"}
    told = [event["args"] for event in arrows]
    found = Counter((arrow["from"], arrow["to"], arrow["tag"], arrow["from_task"], arrow["to_task"]) for arrow in told)
    check(found == expected(ranks), "missing", expected(ranks) - found, "too many", found - expected(ranks))
    check(document["otherData"]["missing"] == [], document["otherData"]["missing"])
    for arrow in arrows:
        end = ends[arrow["id"]]
        check(end["ts"] >= arrow["ts"] - CLOCK_ERROR_US, "no notification is taken before it is sent", arrow, end)
    for facts in document["otherData"]["ranks"]:
        check(0 < facts["communication_s"] <= facts["total_s"], facts)
