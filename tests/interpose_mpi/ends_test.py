"""How a job ends while tasks of all its ranks wait in calls of MPI: one task calls MPI_Abort, or one rank is killed.

Called with the name of an MPI library, the program that starts its ranks, and the program that they run (ends.cpp).
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
sys.path[:0] = [str(SOURCE / "scripts"), str(SOURCE / "tests" / "rma_ranks")]

import hangs  # noqa: E402
import starters  # noqa: E402

RANKS = 3
# What the starter ends with after a death: that rank's signal, each in its own way.
KILLED = {"mpich": 9, "openmpi": 128 + 9}
ENDS_AFTER = 60
# What Dovetail, the C++ library or a handler of signals would say of an end that they have not expected.
UNEXPECTED = re.compile(r"dovetail|terminate called|received signal|core dumped|[Bb]acktrace|Segmentation|Assertion")


def processes_of(job: str) -> list[int]:
    """Those that have the job in their environment, and have not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if job.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def wait_until_ended(job: str) -> None:
    """No process of the job stays. @raises SystemExit with the stacks of one that does."""
    while left := processes_of(job):
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                ended = os.pidfd_open(process)
                ready, _, _ = select.select([ended], [], [], ENDS_AFTER)
                os.close(ended)
                if not ready:
                    shown = hangs.show(left)
                    hangs.kill(left)
                    sys.exit(f"the starter has ended, and these have not:\n{shown}")


def run(case: str, command: list[str], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """The case of ends.cpp, when its ranks and all that has started them have ended. All tasks had waited by then."""
    job = f"dovetail-test-{uuid.uuid4()}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        done = hangs.run(
            [*command, case, path],
            timeout=ENDS_AFTER,
            env=os.environ | {"DOVETAIL_TEST_JOB": job} | (environment or {}),
        )
        wait_until_ended(job)
        if not Path(f"{path}.all_wait").exists():
            sys.exit(f"{case}: not all tasks have waited\nstatus {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


def said_by_ranks(done: subprocess.CompletedProcess[str]) -> list[str]:
    return sorted(line for line in done.stdout.splitlines() if line.startswith("rank "))


def check_all_ended(case: str, command: list[str], status: int) -> None:
    done = run(case, command)
    if done.returncode != status or said_by_ranks(done) or UNEXPECTED.search(done.stdout + done.stderr):
        sys.exit(f"{case}: status {done.returncode}, wanted {status}\n{done.stdout}\n{done.stderr}")


def check_said(case: str, done: subprocess.CompletedProcess[str], lines: list[str]) -> None:
    wanted = sorted(f"rank {rank}: {line}" for line in lines for rank in range(RANKS) if rank != 1)
    if said_by_ranks(done) != wanted:
        sys.exit(f"{case}: status {done.returncode}\n{done.stdout}\n{done.stderr}\nwanted\n" + "\n".join(wanted))


def main() -> None:
    abi, starter, program = sys.argv[1:]
    count = ["-n", str(RANKS)]
    check_all_ended("abort", [starter, *count, program], 7)
    for case in ("die", "die in transfer", "die in file", "die in finalize"):
        check_all_ended(case, [starter, *count, program], KILLED[abi])
    done = run("stops", [starter, *count, program])
    wanted = ["rank 0: ended", "rank 0: went on", "rank 1: ended", "rank 2: ended", "rank 2: went on"]
    if done.returncode != 0 or said_by_ranks(done) != wanted:
        sys.exit(f"stops: status {done.returncode}\n{done.stdout}\n{done.stderr}")
    # Any status: that of the starter after a death is its own.
    done = run("go on", [starter, *starters.KEEP[abi], *count, *starters.WRAPPER, program])
    check_said("go on", done, ["went on", "went on", "was told what waits"])


if __name__ == "__main__":
    main()
