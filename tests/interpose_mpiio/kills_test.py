"""Jobs that are killed at random instants, and the jobs that recover what they have left: no write that had returned is lost, and none is invented.

Called with the program that starts ranks, and the program of the jobs (kills.cpp). DOVETAIL_TEST_ROUNDS: how often (usually 3).
"""

from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "scripts"))

import hangs  # noqa: E402

STARTER, PROGRAM = sys.argv[1:]
RANKS = 3
SECONDS = 120


def start(job: str, folder: Path, ranks: int, seed: int) -> subprocess.Popen[str]:
    command = [STARTER, "-n", str(ranks), PROGRAM, job, str(folder), str(seed)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def progress(folder: Path) -> list[tuple[int, int]]:
    """Of each rank: how many writes have returned, and its process. 0, 0: it has not begun."""
    found = []
    for rank in range(RANKS):
        path = folder / f"progress.{rank}"
        data = path.read_bytes()[:8] if path.exists() else b""
        found.append(struct.unpack("II", data) if len(data) == 8 else (0, 0))
    return found


def forget_processes(folder: Path) -> None:
    for rank in range(RANKS):
        path = folder / f"progress.{rank}"
        if path.exists():
            with path.open("r+b") as file:
                file.seek(4)
                file.write(bytes(4))


def kill(processes: list[int]) -> None:
    """They have ended when it returns."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            ended = os.pidfd_open(process)
            try:
                if PROGRAM in Path(f"/proc/{process}/cmdline").read_text():  # no other process that has its number now
                    signal.pidfd_send_signal(ended, signal.SIGKILL)
                    assert select.select([ended], [], [], SECONDS)[0], f"process {process} does not end"
            finally:
                os.close(ended)


def end(job: subprocess.Popen[str], folder: Path, chosen: list[int]) -> None:
    """The starter ends the other ranks, or this does."""
    kill(chosen)
    hangs.finish(job, SECONDS)
    kill([process for _, process in progress(folder) if process])


def write_and_kill(folder: Path, dice: random.Random) -> None:
    forget_processes(folder)
    wanted = sum(writes for writes, _ in progress(folder)) + dice.randrange(1, 1500)
    job = start("write", folder, RANKS, dice.getrandbits(32))
    limit = time.monotonic() + SECONDS
    while sum(writes for writes, _ in progress(folder)) < wanted:
        if job.poll() is not None or time.monotonic() > limit:
            raise AssertionError(f"the job has ended with {job.poll()}, or hangs:\n{hangs.finish(job, 1)[0]}")
    processes = [process for _, process in progress(folder)]
    end(job, folder, [dice.choice(processes)] if dice.random() < 0.5 else processes)


def recover(folder: Path, dice: random.Random, is_killed: bool) -> None:
    forget_processes(folder)
    # Any number of ranks finds what all of the last job have left.
    job = start("recover", folder, dice.randrange(1, RANKS + 1), dice.getrandbits(32))
    if is_killed:
        limit = time.monotonic() + SECONDS
        while not any(process for _, process in progress(folder)) and time.monotonic() < limit and job.poll() is None:
            pass
        time.sleep(dice.random() * 0.1)  # the instant is random
        end(job, folder, [process for _, process in progress(folder) if process])
        return
    output, _ = hangs.finish(job, SECONDS)
    assert job.returncode == 0, f"{job.returncode}\n{output}"


def verify(folder: Path) -> None:
    done = hangs.run([STARTER, "-n", "1", PROGRAM, "verify", str(folder), str(RANKS)], timeout=SECONDS)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"


def main() -> None:
    seed = int(os.environ.get("DOVETAIL_TEST_SEED") or random.SystemRandom().getrandbits(32))
    print(f"DOVETAIL_TEST_SEED={seed}", flush=True)
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tier").mkdir()
        for number in range(int(os.environ.get("DOVETAIL_TEST_ROUNDS", "3"))):
            print(f"round {number}", flush=True)
            write_and_kill(folder, dice)
            while dice.random() < 0.4:
                recover(folder, dice, is_killed=True)
            recover(folder, dice, is_killed=False)
            verify(folder)


if __name__ == "__main__":
    main()
