"""Jobs that read what a killed job has left in the tier: the same bytes as a recovery of the same logs brings into the file, and nothing is drained for it.

Called with the program that starts ranks, the program of the jobs, and `long` if nothing is to be run without DOVETAIL_TEST_LONG. With that, all tests are run.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "scripts"))

import hangs  # noqa: E402

IS_LONG = bool(os.environ.get("DOVETAIL_TEST_LONG"))
STARTER, PROGRAM, *only_long = sys.argv[1:]
WRITERS = 4
SEED = random.randrange(1 << 30)
READ = "is read from the tier"


def command(job: str, folder: Path, ranks: int) -> list[str]:
    return [STARTER, "-n", str(ranks), PROGRAM, job, str(folder), str(SEED)]


def run(job: str, folder: Path, ranks: int, **environment: str) -> str:
    """What it has told."""
    done = hangs.run(command(job, folder, ranks), env={**os.environ, **environment}, timeout=120)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
    return str(done.stderr)


def processes_that_say(word: str, job: subprocess.Popen[str], ranks: int) -> list[int]:
    """All ranks have said it. Their processes."""
    assert job.stdout is not None
    found: list[int] = []
    while len(found) < ranks:
        line = job.stdout.readline()
        assert line, f"the job has ended: {job.wait()}"
        if line.startswith(word):
            found.append(int(line.split()[-1]))
    return found


def started(job: str, folder: Path, ranks: int, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(job, folder, ranks),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None if job != "write" else subprocess.DEVNULL,
        text=True,
        env={**os.environ, **environment},
    )


def kill(job: subprocess.Popen[str], processes: list[int]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):  # the starter ends the others once one is gone
            os.kill(process, signal.SIGKILL)
    job.communicate()


def leave(folder: Path, ranks: int = WRITERS, **environment: str) -> None:
    job = started("write", folder, ranks, **environment)
    kill(job, processes_that_say("written", job, ranks))


def logs(folder: Path, tier: str = "tier") -> list[Path]:
    return sorted(each for each in (folder / tier).iterdir() if each.is_dir())


def recovery(folder: Path, *words: str) -> list[str]:
    program = Path(os.environ["DOVETAIL_BUILD_DIR"]) / "bin" / "dovetail-staging"
    return [str(program), "recover", *words, str(folder / "tier")]


def recover(folder: Path, *words: str, status: int = 0) -> None:
    done = hangs.run(recovery(folder, *words), timeout=120)
    assert done.returncode == status, f"{done.returncode}\n{done.stdout}{done.stderr}"


def expect(folder: Path, status: int = 0) -> None:
    """What a recovery makes of the file. Then all is as it was: also the inode of the file, by which its logs know it."""
    file, tier, copy = folder / "file", folder / "tier", folder / "copy"
    before = file.read_bytes()
    shutil.copytree(tier, copy)
    recover(folder, status=status)
    (folder / "expected").write_bytes(file.read_bytes())
    assert file.read_bytes() != before, "a recovery changes nothing: the test tests nothing"
    file.write_bytes(before)
    shutil.rmtree(tier)
    copy.rename(tier)


def state(folder: Path) -> tuple[bytes, list[tuple[str, int]]]:
    sizes = [(str(path), path.stat().st_size) for path in sorted((folder / "tier").rglob("*")) if path.is_file()]
    return (folder / "file").read_bytes(), sizes


def reads_what_a_recovery_brings(folder: Path, readers: list[int]) -> None:
    before = state(folder)
    for ranks in readers:
        told = run("read", folder, ranks)
        assert told.count(READ) == 1, told
        assert state(folder) == before, "something was drained"


def any_number_of_ranks_reads_it(folder: Path) -> None:
    leave(folder)
    assert len(logs(folder)) == WRITERS
    expect(folder)
    reads_what_a_recovery_brings(folder, [1, 2, 3, 4] if IS_LONG else [3])
    # The next opening for writing drains it, and then it is overwritten.
    told = run("overwrite", folder, 2)
    assert told.count("what an earlier run had left in") == WRITERS, told
    assert not logs(folder)


def last_segment(log: Path) -> Path:
    return max(log.glob("*.log"))


def torn_logs_end_where_a_recovery_ends_them(folder: Path) -> None:
    leave(folder)
    torn = last_segment(logs(folder)[1])
    os.truncate(torn, torn.stat().st_size - 7)
    changed = last_segment(logs(folder)[2])
    with changed.open("r+b") as segment:
        segment.seek(changed.stat().st_size // 2)
        byte = segment.read(1)
        segment.seek(-1, os.SEEK_CUR)
        segment.write(bytes([byte[0] ^ 1]))
    expect(folder)
    reads_what_a_recovery_brings(folder, [1, 4])


def superseded_logs_do_not_count(folder: Path) -> None:
    (folder / "other").mkdir()
    leave(folder)
    old = logs(folder)
    run("overwrite", folder, 2, RESTART_TIER="other")
    leave(folder, 2)
    assert len(logs(folder)) == WRITERS + 2
    expect(folder, status=1)  # which tells of those that were superseded
    before = state(folder)
    told = run("read", folder, 3)
    assert told.count(READ) == 1, told
    for each in old:
        assert told.count(f"{each} has what was written") == 1, told
    assert state(folder) == before, "something was drained"


def readers_that_are_killed_leave_it(folder: Path) -> None:
    leave(folder)
    expect(folder)
    before = state(folder)
    readers = started("hold", folder, 3)
    kill(readers, processes_that_say("read", readers, 3))
    assert state(folder) == before
    reads_what_a_recovery_brings(folder, [2])
    recover(folder)
    assert (folder / "file").read_bytes() == (folder / "expected").read_bytes()
    assert not logs(folder)


def tell(job: subprocess.Popen[str]) -> None:
    assert job.stdin is not None
    job.stdin.write("\n")
    job.stdin.flush()


def ended(job: subprocess.Popen[str]) -> None:
    job.communicate(timeout=120)
    assert job.returncode == 0, job.returncode


def readers_see_what_others_write_since(folder: Path) -> None:
    leave(folder)
    expect(folder)
    readers = started("hold", folder, 2)
    processes_that_say("read", readers, 2)
    told = run("overwrite", folder, 3)
    assert told.count("what an earlier run had left in") == WRITERS, told
    # Of another length of time: the expected bytes are those of the file now.
    newer = (folder / "file").read_bytes()
    assert newer != (folder / "expected").read_bytes(), "the other job has changed nothing"
    (folder / "expected").write_bytes(newer)
    tell(readers)
    processes_that_say("read", readers, 2)
    ended(readers)


def recovery_goes_on_beside_readers(folder: Path) -> None:
    leave(folder)
    expect(folder)
    readers = started("loop", folder, 2)
    processes_that_say("read", readers, 2)
    # One log after the other.
    recover(folder)
    assert not logs(folder)
    assert (folder / "file").read_bytes() == (folder / "expected").read_bytes()
    (folder / "stop").touch()
    ended(readers)


def wait_until_it_waits(job: subprocess.Popen[str], locked: Path) -> None:
    """A process waits for the lock of that file or folder; `job` has not ended."""
    inode = f":{locked.stat().st_ino} "
    while not any("-> FLOCK" in line and inode in line for line in Path("/proc/locks").read_text().splitlines()):
        assert job.poll() is None, f"{job.args} has ended"


@contextlib.contextmanager
def begun_recovery(folder: Path) -> Iterator[None]:
    """It has brought the first log into the file, and the others not, until the block has ended. It is stopped where it waits for the lock under which a log ends."""
    before = (folder / "file").read_bytes()
    path = folder / "tier" / f".dovetail-{os.geteuid()}.marks.lock"
    with path.open("r+b") as marks:
        fcntl.flock(marks, fcntl.LOCK_EX)
        job = subprocess.Popen(recovery(folder), text=True)
        wait_until_it_waits(job, path)
        job.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, job.pid, os.WSTOPPED)
    assert (folder / "file").read_bytes() != before
    assert len(logs(folder)) == WRITERS
    try:
        yield
        assert len(logs(folder)) == WRITERS, "others have recovered something"
    finally:
        job.send_signal(signal.SIGCONT)
    ended(job)


def an_opening_waits_for_a_recovery_that_has_begun(folder: Path) -> None:
    # Later logs must not come into the file before the one that the recovery has.
    leave(folder)
    expect(folder)
    with begun_recovery(folder):
        opening = started("whole", folder, 2)
        wait_until_it_waits(opening, logs(folder)[0])
    ended(opening)
    assert (folder / "file").read_bytes() == (folder / "expected").read_bytes()
    assert not logs(folder)


def a_reader_drains_nothing_beside_a_recovery_that_has_begun(folder: Path) -> None:
    leave(folder)
    expect(folder)
    readers = started("hold", folder, 2, RESTART_FLUSH="flush_onclose")
    processes_that_say("read", readers, 2)
    with begun_recovery(folder):
        tell(readers)
        processes_that_say("read", readers, 2)
        ended(readers)
    assert (folder / "file").read_bytes() == (folder / "expected").read_bytes()
    assert not logs(folder)


def it_is_drained_behind_the_close(folder: Path) -> None:
    # MPI_Finalize waits for it.
    leave(folder)
    expect(folder)
    told = run("read", folder, 2, RESTART_FLUSH="flush_onclose")
    assert told.count(READ) == 1, told
    assert (folder / "file").read_bytes() == (folder / "expected").read_bytes()
    assert not logs(folder)


def ranks_that_leave_it_say_so_before_one_lets_its_log_go(folder: Path) -> None:
    # Otherwise an opening at that instant would take those that have not yet for what is left of a killed job.
    (folder / "file").touch()
    run("overwrite", folder, 2, RESTART_FLUSH="flush_none")
    assert len(logs(folder)) == 2
    for each in logs(folder):
        assert (each / "closed").exists(), each
    expect(folder)
    reads_what_a_recovery_brings(folder, [2])


def what_the_library_reads_itself_is_drained_before(folder: Path) -> None:
    leave(folder)
    expect(folder)
    told = run("shared", folder, 2)
    assert told.count("what an earlier run had left in") == WRITERS, told
    assert (folder / "file").read_bytes() == (folder / "expected").read_bytes()
    assert not logs(folder)


def what_cannot_be_served_is_drained(folder: Path) -> None:
    # The second rank has another tier, as if it were on another node: as many logs, and others. Each is the last one of the first rank's, so that the order of the drains does not matter.
    leave(folder)
    expect(folder)
    for each in logs(folder):
        shutil.copytree(logs(folder)[-1], folder / "other" / each.name)
    words = command("whole", folder, 1)[3:]
    other = ["env", "RESTART_TIER=other", *words]
    done = hangs.run([STARTER, "-n", "1", *words, ":", "-n", "1", *other], timeout=120)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
    assert READ not in done.stderr, done.stderr
    assert done.stderr.count("what an earlier run had left in") == 2 * WRITERS, done.stderr
    assert not logs(folder)
    assert not logs(folder, "other")


# What else there is, undrained_file_test.cpp tests without ranks.
SHORT = (
    any_number_of_ranks_reads_it,
    an_opening_waits_for_a_recovery_that_has_begun,
    a_reader_drains_nothing_beside_a_recovery_that_has_begun,
    it_is_drained_behind_the_close,
    ranks_that_leave_it_say_so_before_one_lets_its_log_go,
    what_the_library_reads_itself_is_drained_before,
    what_cannot_be_served_is_drained,
)
LONG = (
    torn_logs_end_where_a_recovery_ends_them,
    superseded_logs_do_not_count,
    readers_that_are_killed_leave_it,
    readers_see_what_others_write_since,
    recovery_goes_on_beside_readers,
)
if only_long and not IS_LONG:
    print("only with DOVETAIL_TEST_LONG")
    sys.exit(77)
print(f"seed {SEED}")
for test in (*SHORT, *LONG) if IS_LONG else SHORT:
    with tempfile.TemporaryDirectory() as name:
        Path(name, "tier").mkdir()
        begun = time.monotonic()
        test(Path(name))
        print(f"{time.monotonic() - begun:5.1f} s  {test.__name__}", flush=True)
