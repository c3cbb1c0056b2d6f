"""One advisor for several programs: what they share, and what happens when it is not there, is killed, hangs, or is another user's."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

from support import BUILD, CACHED, Case, Ways, advisor, hangs

BLOCK = 1 << 20
# Reads a byte of some blocks, waits until the blocks behind the last one are cached, and prints what it has read.
READER = (
    CACHED
    + """
path, first, last, way = sys.argv[1], *map(int, sys.argv[2:4]), sys.argv[4]
BLOCK = 1 << 20
descriptor = os.open(path, os.O_RDONLY)
size = os.fstat(descriptor).st_size
memory = map_file(descriptor)
def come_to(number):
    print(os.pread(descriptor, 8, number * BLOCK).hex(), flush=True)
    end = min(number + 4, size // BLOCK)
    while way != "reads" and not all([arrived(memory, block * BLOCK + (1 << 19)) for block in range(number, end)]):
        os.pread(descriptor, 8, number * BLOCK)
if way == "holders":
    # The last one that has looked at the file is gone when there is something to ask for.
    os.pread(descriptor, 8, 0)
    other = os.open(path, os.O_RDONLY)
    os.pread(other, 8, 0)
    os.close(other)
for number in range(first, last):
    come_to(number)
    if way == "tells":
        print("there", flush=True)
    if way in ("asks", "tells"):
        sys.stdin.readline()
"""
)


class Advisor(Case):
    def setUp(self):
        super().setUp()
        self.socket = self.advisor_socket()
        self.path = self.file("data", 16 * BLOCK)
        self.forget(self.path)
        self.reader = self.folder / "reader.py"
        self.reader.write_text(READER)
        self.rules = self.rules_with(8)

    def rules_with(self, blocks: int) -> Path:
        sizes = {"BlockSize": BLOCK, "CacheSize": blocks, "ReadAheadSize": 4}
        return self.configuration({"File": {"Path": str(self.path), **sizes, "WillNeed": {}}})

    def start(self, *options: str) -> subprocess.Popen:
        return self.start_advisor(self.rules, *options)

    def read(self, first: int = 0, last: int = 16, way: str = "waits", stdin: bytes = b""):
        words = (sys.executable, self.reader, self.path, first, last, way)
        return self.run_in(Ways(advised=True), *words, stdin=stdin)

    def expect(self, first: int = 0, last: int = 16) -> bytes:
        data = self.path.read_bytes()
        return b"".join(
            data[number * BLOCK : number * BLOCK + 8].hex().encode() + b"\n" for number in range(first, last)
        )

    def status(self) -> list[str]:
        status, output, errors = self.dovetail("prefetch", "status")
        self.assertEqual((status, errors), (0, b""))
        return output.decode(errors="surrogateescape").splitlines()  # of others, too

    @contextlib.contextmanager
    def program(self, *words: object):
        """One that waits for a line after each block."""
        command = [sys.executable, "-m", "dovetail.cli", "run", "--advised", "--", sys.executable]
        command += [str(word) for word in (self.reader, self.path, *words)]
        environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"))
        # Without a buffer, where lines could stay that the test has not read when it waits for the end.
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        with subprocess.Popen(command, env=environment, **pipes) as program:
            try:
                yield program
            finally:
                program.kill()

    def test_programs_share_what_one_of_them_has_asked_for(self):
        expected = self.expect(0, 4).splitlines(keepends=True)
        self.forget(self.path)
        process = self.start("--stay")
        with self.program(0, 4, "asks") as other:
            for number in range(4):
                self.assertEqual(other.stdout.readline(), expected[number])
                if number < 3:
                    other.stdin.write(b"\n")
                    other.stdin.flush()
            self.assertEqual(self.read(0, 4)[0], 0)
            *waiting, asked, _, _, blocks, in_time, late, path = self.status()[1].split()
        self.assertEqual(waiting, ["-"] * 4, "nobody has asked for a report")
        self.assertEqual((asked, path), ("7.3", str(self.path)), "seven blocks, each asked for once")
        self.assertEqual((int(blocks), int(in_time) + int(late)), (8, 7), "all but the first one were there")
        process.terminate()
        self.assertEqual(process.wait(), 0)

    def test_what_one_program_had_is_not_taken_for_granted_by_the_next(self):
        self.start("--stay")
        for warm in (False, True, False):
            if warm:
                self.path.read_bytes()
            else:
                self.forget(self.path)
            # It waits until its blocks are there.
            self.assertEqual(self.read(0, 4)[:2], (0, self.expect(0, 4)))

    def test_whoever_has_the_file_open_serves(self):
        self.rules = self.configuration(
            {"File": {"Path": str(self.path), "BlockSize": BLOCK, "WillNeed": {"Offset": 2 * BLOCK}}}
        )
        self.start("--stay")
        self.assertEqual(self.read(2, 4, "holders")[:2], (0, self.expect(2, 4)))

    def test_the_program_has_the_descriptors_that_it_would_have(self):
        self.start("--stay")
        words = (sys.executable, "-c", "import os; print(sorted(os.listdir('/proc/self/fd')), os.dup(1))")
        plain = self.dovetail("run", "--configuration", self.rules, "--", *words)
        self.assertEqual(self.dovetail("run", "--advised", "--", *words), plain)
        self.assertEqual(self.run_as_it_is(*words), plain)

    def test_what_is_there_and_is_no_socket_stays(self):
        Path(self.socket).write_text("kept")
        status, output, errors = self.dovetail("advisord", "--configuration", self.rules)
        self.assertEqual((status, output, errors.count(b"\n")), (2, b"", 1), errors)
        self.assertEqual(Path(self.socket).read_text(), "kept")

    def test_eight_programs_at_once_read_each_block_once(self):
        self.rules = self.rules_with(16)
        self.start("--stay")
        with contextlib.ExitStack() as stack:
            words = [sys.executable, "-m", "dovetail.cli", "run", "--advised", "--", sys.executable]
            words += [str(self.reader), str(self.path), "0", "13", "waits"]
            environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"))
            programs = [
                stack.enter_context(subprocess.Popen(words, env=environment, stdout=subprocess.PIPE)) for _ in range(8)
            ]
            outputs = {hangs.finish(program, 120)[0] for program in programs}
            self.assertEqual([program.returncode for program in programs], [0] * 8)
        self.assertEqual(outputs, {self.expect(0, 13)})
        asked = float(self.status()[1].split()[4])
        # What was in part there when it was asked for is asked for as a whole.
        self.assertLessEqual(asked, 16.8)

    def test_ends_with_its_last_program(self):
        process = self.start()
        self.status()
        self.assertIsNone(process.poll(), "one that only looks does not end it")
        self.assertEqual(self.read(0, 2)[:2], (0, self.expect(0, 2)))
        self.assertEqual(process.wait(60), 0)
        self.assertFalse(Path(self.socket).exists())

    def test_killed_in_the_middle_programs_go_on_by_themselves(self):
        process = self.start()
        with self.program(0, 12, "tells") as program:
            # Killed when it has nothing to do: a block that it had taken, and not asked for, would not be asked for again.
            output = program.stdout.readline() + program.stdout.readline()
            process.kill()
            process.wait()
            # From here on its blocks come by its own helper.
            rest, _ = hangs.finish(program, 100, b"\n" * 12)
        lines = (output + rest).splitlines(keepends=True)
        self.assertEqual((program.returncode, b"".join(lines[::2])), (0, self.expect(0, 12)))
        self.assertEqual(lines[1::2], [b"there\n"] * 12)

    def test_killed_at_work_it_holds_nothing_up(self):
        process = self.start()
        with self.program(0, 16, "reads") as program:
            output = program.stdout.readline()
            process.kill()
            process.wait()
            rest, _ = hangs.finish(program, 100)
        self.assertEqual((program.returncode, output + rest), (0, self.expect()))

    def test_one_that_hangs_holds_nothing_up(self):
        process = self.start()
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        status, output, errors = self.run_in(Ways(advised=True), sys.executable, self.reader, self.path, 0, 16, "reads")
        self.assertEqual((status, output), (0, self.expect()), errors)
        self.assertIn(b"the advisor does not answer", errors)
        process.send_signal(signal.SIGCONT)

    def test_one_that_hangs_later_holds_nothing_up(self):
        process = self.start()
        with self.program(0, 2, "asks") as program:
            self.assertEqual(program.stdout.readline(), self.expect(0, 1))
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
            self.path.read_bytes()  # what it waits for comes by others
            rest, _ = hangs.finish(program, 100, b"\n\n")
        self.assertEqual((program.returncode, rest), (0, self.expect(1, 2)))
        process.send_signal(signal.SIGCONT)

    def test_without_one_the_program_runs(self):
        status, output, errors = self.read(0, 2, "reads")
        self.assertEqual((status, output), (0, self.expect(0, 2)))
        self.assertEqual(errors.count(b"\n"), 1, errors)
        self.assertIn(b"the program runs without advice", errors)
        # Other programs with a plan may run here: the status is then 0.
        _, output, errors = self.dovetail("prefetch", "status", "--json")
        self.assertIsNone(json.loads(output)["advisor"], errors)

    def test_only_one_at_a_time_and_a_new_one_after_a_kill(self):
        process = self.start("--stay")
        words = ("advisord", "--configuration", self.rules)
        status, output, errors = self.dovetail(*words)
        self.assertEqual((status, output, errors.count(b"\n")), (2, b"", 1))
        self.assertIn(b"an advisor runs already at", errors)
        process.kill()
        process.wait()
        self.assertTrue(Path(self.socket).exists(), "what was killed leaves its socket")
        self.start()
        self.assertEqual(self.read(0, 2)[:2], (0, self.expect(0, 2)))

    def test_what_is_wrong_with_its_configuration_is_told(self):
        self.rules.write_text("{")
        status, output, errors = self.dovetail("advisord", "--configuration", self.rules)
        self.assertEqual((status, output, errors.count(b"\n")), (2, b"", 1), errors)
        self.assertIn(b"advice.json:1", errors)

    def test_another_user_gets_nothing(self):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        self.start("--stay")
        self.socket_folder_is_open()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                os.setuid(65534)
                with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                    connection.connect(self.socket)
                    data, descriptors, _, _ = socket.recv_fds(connection, 8, 1)
                    os._exit(0 if data == b"" and not descriptors else 1)
            os._exit(3)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(self.read(0, 2)[:2], (0, self.expect(0, 2)))

    def socket_folder_is_open(self) -> None:
        os.chmod(self.socket, 0o777)
        os.chmod(os.path.dirname(self.socket), 0o755)
        for folder in Path(self.socket).absolute().parents:
            if not os.stat(folder).st_mode & 0o001:
                self.skipTest(f"no other user comes to {folder}")

    def test_an_advisor_of_another_user_is_not_trusted(self):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        # The kernel notes the user of a listening socket when `listen` is called: root binds it, the other user listens.
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(listening.close)
        listening.bind(self.socket)
        os.seteuid(65534)
        try:
            listening.listen()
        finally:
            os.seteuid(0)
        with self.assertRaisesRegex(advisor.NoAdvisor, "another user's"), advisor.connected(b"s"):
            pass

    def test_a_folder_that_others_can_enter_is_not_used(self):
        os.environ.pop("DOVETAIL_ADVISORD_SOCKET")
        self.addCleanup(os.environ.__setitem__, "DOVETAIL_ADVISORD_SOCKET", self.socket)
        own = self.folder / "own"
        (own / "dovetail").mkdir(parents=True)
        (own / "dovetail").chmod(0o755)
        changed = mock.patch.dict(os.environ, XDG_RUNTIME_DIR=str(own))
        changed.start()
        self.addCleanup(changed.stop)
        with self.assertRaisesRegex(advisor.NoAdvisor, "belongs to this user alone"):
            advisor.socket_path()
        (own / "dovetail").chmod(0o700)
        self.assertEqual(advisor.socket_path(), own / "dovetail" / "advisord.sock")

    def test_whatever_clients_say_it_goes_on(self):
        seed = int(os.environ.get("DOVETAIL_TEST_SEED", random.randrange(1 << 30)))
        print("DOVETAIL_TEST_SEED is", seed, flush=True)
        dice = random.Random(seed)
        process = self.start("--stay")
        with contextlib.ExitStack() as stack:
            for _ in range(300):
                connection = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
                connection.settimeout(10)
                with contextlib.suppress(OSError):
                    connection.connect(self.socket)
                    connection.sendall(dice.randbytes(dice.randrange(64)))
                    if dice.random() < 0.5:
                        socket.send_fds(connection, [b"r"], [0])
                if dice.random() < 0.7:
                    connection.close()
        self.assertEqual(self.read(0, 2)[:2], (0, self.expect(0, 2)))
        self.assertIsNone(process.poll())
        self.assertLess(len(os.listdir(f"/proc/{process.pid}/fd")), 20, "nothing is kept of them")

    def test_with_its_socket_full_programs_run_and_later_have_advice_again(self):
        process = self.start("--stay")
        with contextlib.ExitStack() as stack:
            # As many as the system keeps waiting for one that takes none.
            process.send_signal(signal.SIGSTOP)
            stack.callback(process.send_signal, signal.SIGCONT)
            for _ in range(1000):
                connection = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
                connection.setblocking(False)
                try:
                    connection.connect(self.socket)
                except BlockingIOError:
                    break
            else:
                self.fail("any number may wait")
            status, output, errors = self.read(0, 2, "reads")
            self.assertEqual((status, output), (0, self.expect(0, 2)))
            self.assertIn(b"the program runs without advice", errors)
        # It still has to take those that were waiting.
        while self.dovetail("prefetch", "status")[0] != 0:
            pass
        self.assertEqual(self.read(0, 2), (0, self.expect(0, 2), b""))
        self.assertIsNone(process.poll())

    def test_a_program_that_is_killed_leaves_it_as_it_was(self):
        process = self.start("--stay")
        words = (sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
        self.assertEqual(self.run_in(Ways(advised=True), *words)[0], -signal.SIGKILL)
        self.assertEqual(self.read(0, 4)[:2], (0, self.expect(0, 4)))
        self.assertIsNone(process.poll())


if __name__ == "__main__":
    unittest.main(verbosity=2)
