"""`dovetail launch`: programs of several processes, what happens when one ends, and what the others are told of its death."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["DOVETAIL_SOURCE_DIR"], "scripts")))

import hangs  # noqa: E402
import starters  # noqa: E402

RANKS, DEATH, C_RANKS, PROGRAM_MEMORY, INBOX, SEGMENTS = sys.argv[1:7]
SECONDS = 120
NODE = starters.has_nodes()
SENT = "nothing can be sent"  # also said of what was under way


def launch(count: int, *command: str, keep: bool = False) -> subprocess.CompletedProcess[str]:
    return hangs.run(starters.command(count, *command, keep=keep), timeout=SECONDS)


def lines_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    # The starters of MPI say something, too, when a rank dies.
    told = [line for line in done.stdout.splitlines() if not starters.MPI or line.startswith("rank ")]
    lines = (re.sub(r"process \d+", "process P", line) for line in told)
    # The provider between nodes may fail a call before the kernel says that the process has ended.
    lines = (re.sub(r"cannot be reached any more \((libfabric|MPI|GASPI) .*\)$", "has died", line) for line in lines)
    return sorted(re.sub(r"write of \d+ bytes at \d+ in segment \d+ of rank \d+ failed", SENT, line) for line in lines)


def of_survivors(*lines: str) -> list[str]:
    """What ranks 0 and 2 say when rank 1 has died."""
    return sorted(f"rank {rank}: {line}" for rank in (0, 2) for line in lines)


def check(holds: bool, done: subprocess.CompletedProcess[str]) -> None:
    if not holds:
        sys.exit(f"{done.args}\nstatus {done.returncode}\n{done.stdout}\n{done.stderr}")


for count in (2,) if NODE else (1, 2, 4):
    for program in (RANKS, C_RANKS, PROGRAM_MEMORY, INBOX, SEGMENTS):
        done = launch(count, program)
        check(done.returncode == 0, done)

DIED = "rank 1 (process P) has died"
done = launch(3, DEATH, keep=True)
wanted = of_survivors(
    "sent before: nothing failed",
    f"from it: task 'from it' failed: notification 11 of segment 0 from rank 1 will not come: {DIED}",
    f"from anyone: task 'from anyone' failed: notification 12 of segment 0 will not come: {DIED}",
    "waited for later: nothing failed",
    f"begun later: notification 14 of segment 0 from rank 1 will not come: {DIED}",
    f"write: nothing can be sent: {DIED}",
)
check(starters.is_status(done.returncode, 137) and lines_of(done) == wanted, done)
check("rank 1 ended with status 137" in done.stderr or bool(starters.MPI), done)

done = launch(3, INBOX, "death", keep=True)
wanted = of_survivors(
    "sent before: nothing failed",
    f"receive: task 'receive' failed: one of the notifications 0 to 5 of segment 0 will not come: {DIED}",
    f"send: task 'send' failed: nothing can be sent: {DIED}",
    "from itself: nothing failed",
)
check(starters.is_status(done.returncode, 137) and lines_of(done) == wanted, done)

done = launch(3, C_RANKS, "death", keep=True)
check(starters.is_status(done.returncode, 137) and lines_of(done) == ["rank 0: told", "rank 2: told"], done)

done = launch(3, PROGRAM_MEMORY, "death", keep=True)
check(starters.is_status(done.returncode, 137), done)
check(lines_of(done) == [f"rank {rank}: write: nothing can be sent: {DIED}" for rank in (0, 2)], done)

done = launch(3, SEGMENTS, "death", keep=True)
check(starters.is_status(done.returncode, 137), done)
ended = "Segment 0 cannot end: rank 1 (process P) has ended; ended: 1, of rank 1"
check(lines_of(done) == [f"rank {rank}: {ended}" for rank in (0, 2)], done)

# A barrier of three: rank 2 waits for rank 1 and fails; rank 0 waits for rank 2, then for rank 1.
done = launch(3, DEATH, "barrier", keep=True)
check(starters.is_status(done.returncode, 137) and len(lines_of(done)) == 2, done)
check(all("will not come" in line or "nothing can be sent" in line for line in lines_of(done)), done)

if NODE:
    sys.exit(0)

# Between nodes a thread of the receiver takes all that comes, so that nothing is left unsent.
done = launch(2, DEATH, "unsent")
check(done.returncode == 0 and "cannot be sent: this process has ended its group" in done.stdout, done)

done = launch(3, PROGRAM_MEMORY, "forbidden")
why = "Rank 1 cannot reach the memory that rank 0 uses for segment 0: the kernel forbids it (process_vm_readv: "
check(done.returncode == 0 and len(lines_of(done)) == 3, done)
check(all(f"rank {rank}: {why}" in done.stdout for rank in range(3)), done)
check(done.stdout.count("rma::Segment::allocate needs no such permission") == 3, done)

done = launch(3, SEGMENTS, "late")
check(done.returncode == 0, done)

done = launch(3, "sh", "-c", 'test "$PMI_RANK" = 1 && exit 7; exec sleep 1000')
check(done.returncode == 7 and "rank 1 ended with status 7" in done.stderr, done)

done = launch(2, "sh", "-c", 'test "$PMI_RANK" = 1 && exit 0; exec "$0"', RANKS)
check(done.returncode not in (0, 143) and "rank_1_has_ended" in done.stderr, done)

done = launch(2, "no-such-program")
check(done.returncode == 2 and "no-such-program: No such file or directory" in done.stderr, done)
