"""`dovetail launch` and ranks that end, ask or read badly: no rank is left behind, nothing hangs, and the user is told in one sentence."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "scripts"))

import hangs  # noqa: E402

RANK = str(Path(__file__).resolve().parent / "launcher_rank.py")
SECONDS = 100
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import launch
exec(sys.argv[2])
sys.exit(launch.launch(sys.argv[5:], int(sys.argv[3]), sys.argv[4] == 'keep'))
"""


def words(count: int, *what: str, keep: bool = False, first: str = "") -> list[str]:
    """`first`: a statement that the launcher executes before it starts."""
    package = str(SOURCE / "python" / "dovetail")
    keeps = "keep" if keep else "end"
    return [sys.executable, "-c", PROGRAM, package, first, str(count), keeps, sys.executable, RANK, *what]


def expect(status: int, output: list[str], errors: list[str], command: list[str]) -> None:
    # A rank that is left behind holds the pipes open, so that this does not return.
    done = hangs.run(command, timeout=SECONDS)
    told = [f"dovetail launch: {line}" for line in errors]
    if (done.returncode, sorted(done.stdout.splitlines()), done.stderr.splitlines()) != (status, sorted(output), told):
        sys.exit(f"{command}\nstatus {done.returncode}, not {status}\n{done.stdout}\n{done.stderr}")


def check(holds: bool, what: object) -> None:
    if not holds:
        sys.exit(str(what))


def a_rank_that_dies_before_it_reads_an_answer() -> None:
    expect(137, [], ["rank 1 ended with status 137"], words(2, "unread"))


def children_that_are_ignored() -> None:
    first = "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    expect(137, [], ["rank 1 ended with status 137"], words(2, "unread", first=first))


def a_fault_of_the_launcher_ends_the_ranks() -> None:
    first = "def fail(*_): raise RuntimeError('a fault')\nlaunch._Server.receive = fail"
    expect(1, [], ["all ranks were ended because of RuntimeError: a fault"], words(2, "unread", first=first))


def too_few_descriptors() -> None:
    shell = ["sh", "-c", 'ulimit -n 40; exec "$@"', "sh"]
    told = "too few open files for 20 ranks: `ulimit -n 72` allows enough"
    expect(1, [], [told], [*shell, *words(20, "unread")])
    # All processes are there, and none can be watched.
    first = "import errno, os\ndef fail(_): raise OSError(errno.EMFILE, 'Too many open files')\nos.pidfd_open = fail"
    expect(1, [], [told], words(20, "unread", first=first))


def malformed_questions() -> None:
    unknown = "cmd=None rc=-1 msg=unknown_command"
    put, get = "cmd=put_result rc=-1 msg=needs_key_and_value", "cmd=get_result rc=-1 msg=key_not_found value=unknown"
    answers = [put, put, get, *[unknown] * 4, "dropped", unknown, get]
    expect(0, [f"0: {answer}" for answer in answers], [], words(1, "malformed"))


def an_abort() -> None:
    for word, status in (("3", 3), ("256", 1), ("-1", 255), ("x", 1), ("0", 0)):
        told = f"rank 1 asks for an abort with status {status}"
        expect(status, ["1: cmd=appnum appnum=0 rc=0"], [told], words(3, "abort", word))
    expect(9, [], ["rank 1 asks for an abort with status 9"], words(2, "abort_and_exit"))
    gone = "cmd=barrier_out rc=-1 msg=rank_1_has_ended"
    output = [f"0: {gone}", "1: cmd=appnum appnum=0 rc=0", f"2: {gone}"]
    expect(1, output, ["rank 1 asks for an abort with status 1"], words(3, "abort", keep=True))


def ranks_that_do_not_look_for_each_other() -> None:
    told = (
        "none of the 3 processes looked for the others, so that each ran alone. A program of Open MPI needs its mpiexec; "
        "one of Python may have loaded Open MPI"
    )
    expect(0, [], [told], words(3, "alone"))
    expect(0, [], [], words(1, "alone"))


def a_barrier_that_a_rank_has_left() -> None:
    answers = [*["cmd=barrier_out rc=-1 msg=rank_1_has_ended"] * 2, "cmd=finalize_ack rc=0"]
    expect(0, [f"{rank}: {answer}" for rank in (0, 2) for answer in answers], [], words(3, "left"))


def a_rank_that_goes_on_asking_is_killed() -> None:
    first = "launch._SECONDS_TO_END = 1.0"
    expect(7, [], ["rank 1 ended with status 7"], words(2, "chatty", first=first))


def a_rank_that_does_not_read() -> None:
    expect(1, [], ["rank 1 is ended: it asks without reading the answers"], words(2, "flood"))


def ctrl_c_comes_once() -> None:
    process, terminal = pty.fork()
    if process == 0:
        command = words(1, "interrupted")
        os.execv(command[0], command)
    with open(terminal, "rb", buffering=0) as reader, open(os.dup(terminal), "wb", buffering=0) as writer:
        seen = read_until(reader.fileno(), b"ready")
        writer.write(b"\x03")
        seen += read_until(reader.fileno(), b"interrupted")
        # The launcher passes signals on one after the other, so that another SIGINT would come before this one.
        os.kill(process, signal.SIGTERM)
        seen += read_until(reader.fileno(), b"in all")
        # Before the terminal is closed, which hangs up.
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    check(status == 0 and b"0: 1 in all" in seen, (status, seen))


def read_until(descriptor: int, text: bytes) -> bytes:
    seen = b""
    while text not in seen:
        seen += os.read(descriptor, 1000)
    return seen


def a_signal_of_another_process_is_passed_on() -> None:
    with subprocess.Popen(words(2, "interrupted"), stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        check({process.stdout.readline() for _ in range(2)} == {b"0: ready\n", b"1: ready\n"}, "not ready")
        process.send_signal(signal.SIGINT)
        lines = {process.stdout.readline() for _ in range(2)}
        check(lines == {b"0: interrupted\n", b"1: interrupted\n"}, lines)
        process.send_signal(signal.SIGTERM)
        output, _ = hangs.finish(process, SECONDS)
        check(process.returncode == 0 and output.count(b"1 in all") == 2, output)


alarm = hangs.Alarm(2)
for test in (
    a_rank_that_dies_before_it_reads_an_answer,
    children_that_are_ignored,
    a_fault_of_the_launcher_ends_the_ranks,
    too_few_descriptors,
    malformed_questions,
    an_abort,
    ranks_that_do_not_look_for_each_other,
    a_barrier_that_a_rank_has_left,
    a_rank_that_goes_on_asking_is_killed,
    a_rank_that_does_not_read,
    ctrl_c_comes_once,
    a_signal_of_another_process_is_passed_on,
):
    print(test.__name__, flush=True)
    alarm.set(2 * SECONDS)
    test()
alarm.stop()
