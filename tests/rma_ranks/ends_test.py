"""A group that is used wrongly, or one of whose processes ends or does too much: what the ranks say of it."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["DOVETAIL_SOURCE_DIR"], "scripts")))

import hangs  # noqa: E402
import starters  # noqa: E402

NODE = starters.has_nodes()
BY_GASPI = os.environ.get("DOVETAIL_FABRIC") == "gaspi"
DIED = "rank 1 (process P) has died"


def check(ranks: int, case: str, wanted: dict[str, list[int]], status: int = 0, keep: bool = True) -> None:
    """`wanted`: what ranks say, in any order. A backquote in it stands for anything."""
    done = hangs.run(starters.command(ranks, sys.argv[1], case, keep=keep), timeout=120)
    lines = [line for line in done.stdout.splitlines() if not starters.MPI or line.startswith("rank ")]
    said = sorted(re.sub(r"process \d+", "process P", line) for line in lines)
    expected = sorted(f"rank {rank}: {line}" for line, of in wanted.items() for rank in of)
    same = len(said) == len(expected) and all(
        re.fullmatch(re.escape(pattern).replace("`", ".*"), line) for pattern, line in zip(expected, said, strict=True)
    )
    if not starters.is_status(done.returncode, status) or not same:
        sys.exit(f"{case}\nstatus {done.returncode}\n{done.stdout}\n{done.stderr}\nwanted\n" + "\n".join(expected))


check(2, "second group", {"second group: nothing failed": [0, 1]})
check(
    2,
    "child keeps connections",
    {
        "from rank 0: rma::Error: notification 0 of segment 0 from rank 0 will not come: rank 0 (process P) has ended its group": [
            1
        ]
    },
)
check(
    2,
    "child is no rank",
    {
        "in the child: This process is the child of a rank (process P), which has started a group. A rank is one process": [
            0,
            1,
        ],
        "child: 0": [0, 1],
    },
)
check(4, "barrier", {f"barrier: rma::Error: ` {DIED}": [0, 2, 3]}, 137)
LEFT = "rank 2 (process P) has ended its group"
check(
    3,
    "barrier after an end",
    {
        f"from rank 2: rma::Error: notification 0 of segment 0 from rank 2 will not come: {LEFT}": [0, 1],
        f"barrier: rma::Error: notification ` of segment 255 from rank 2 will not come: {LEFT}": [0],
        f"barrier: rma::Error: nothing can be sent: {LEFT}": [1],
    },
)
# What is under way to another node fails with its place. GASPI is faster: often nothing is under way.
FAILED = "`" if BY_GASPI else "write of 8 bytes ` failed" if NODE else "nothing can be sent"
check(
    3,
    "only writes",
    {f"writes: rma::Error: {FAILED}: {DIED}": [0, 2]},
    137,
)
# What is under way when its owner dies, and what begins later.
check(3, "only reads", {"reads: task 'reads' failed: ` rank 1 (process P) `": [0, 2]}, 137)
check(3, "only adds", {"adds: task 'adds' failed: ` rank 1 (process P) `": [0, 2]}, 137)
check(3, "end after a death", {"end: nothing failed": [0, 2]}, 137)
# It may have said that it leaves, or not: the wait fails, and the others' ends do not wait for it.
check(
    3,
    "killed in its end",
    {
        "from rank 1: rma::Error: notification 0 of segment 0 from rank 1 will not come: rank 1 `": [0, 2],
        "end: nothing failed": [0, 2],
    },
    137,
)
check(3, "allocate", {"allocate: rma::Error: Segment 0 cannot begin: rank ` (process P) has ended": [0, 2]}, 137)
check(
    3,
    "too large",
    {
        "allocate: Rank 1 cannot begin segment 0: dovetail segment`": [0, 1, 2],
        **{
            f"notify: rank {(rank + 1) % 3} has no segment 0: it has not begun, or has been ended": [rank]
            for rank in range(3)
        },
    },
)
check(3, "no descriptors", {"allocate: Rank 1 cannot begin segment 0: `Too many open files": [0, 1, 2]})
check(
    2,
    "reserved segment",
    {
        f"{call}: segment 255 of rank 0 is for barriers; a group has at most 255 others": [0, 1]
        for call in ("notify", "write")
    },
)
check(
    2,
    "refused barriers",
    {
        "in onready: ` A barrier would be waited for in an onready; it belongs into a body": [0],
        "child of a fork: 0": [0],
        "left: 1": [1],
    },
)
check(3, "flood", {"from rank 2: nothing failed": [1]})
LATE = "start: The starter of this process has not answered in time (GroupOptions::start_timeout): not all 2 ranks have begun the group (PMI 1)"
if not starters.MPI:  # whose ranks begin together, or not at all
    check(2, "start", {LATE: [0]}, 3, keep=False)
# A program that a rank has started has the variables of the rank, and a file of its own where the connection was.
with tempfile.TemporaryFile() as file:
    number = file.fileno()
    environment = os.environ | {"PMI_FD": str(number), "PMI_RANK": "0", "PMI_SIZE": "2"}
    done = hangs.run([sys.argv[1], "start"], timeout=120, env=environment, pass_fds=(number,))
    told = f"PMI_FD is {number}, which is no connection to a starter"
    if done.returncode != 3 or told not in done.stdout or os.fstat(number).st_size != 0:
        sys.exit(f"PMI_FD\nstatus {done.returncode}\n{done.stdout}\n{done.stderr}\n{os.fstat(number).st_size} bytes")
if not NODE:  # a fabric connects when it is used
    check(
        2, "descriptors", {"descriptors: 0": [0, 1], "one more: A group has at most 255 segments at a time: `": [0, 1]}
    )
