"""kill -9 of a program at random: what its calls had done is in the file when it is opened next, or a command has brought it there."""

import os
import random
import unittest
from pathlib import Path

from killed_writer import content_after
from support import COMMAND, Case, seed

WRITER = Path(__file__).with_name("killed_writer.py")
KILLS = int(os.environ.get("DOVETAIL_TEST_KILLS", "8"))


class Kill(Case):
    def kill_one(self, number: int, numbers: random.Random) -> int:
        """The number of the last change that has returned."""
        (self.folder / "file").unlink(missing_ok=True)
        writer = self.started(os.sys.executable, WRITER, self.folder / "file", number)
        assert writer.stdout is not None
        until = numbers.randrange(1, 150)
        for line in writer.stdout:
            if int(line) >= until:
                break
        writer.kill()
        told = [int(line) for line in writer.stdout.read().split()]
        writer.wait()
        return told[-1] if told else until

    def check(self, content: bytes, number: int, last: int) -> None:
        # The change after the last one may have been made, and not have been told.
        allowed = [content_after(number, changes) for changes in (last, last + 1)]
        self.assertIn(content, allowed, f"seed {number}, killed after {last} changes")

    def test_the_next_opening_finds_what_was_written(self):
        first = seed()
        logs = 0
        for number in range(first, first + KILLS):
            last = self.kill_one(number, random.Random(number))
            logs += len(self.logs())
            read = self.staged("cat", self.folder / "file")
            self.check(read.stdout, number, last)
            self.assertEqual(self.logs(), [], f"seed {number}")
        # There is none where the file had just been closed and opened again.
        self.assertGreater(logs, KILLS // 2)

    def test_a_file_that_has_got_another_name_is_whole(self):
        program = f"""
import os, signal
os.chdir({str(self.folder)!r})
file = os.open("new", os.O_WRONLY | os.O_CREAT)
os.write(file, b"x" * 100_000)
os.fsync(file)
os.rename("new", "checkpoint")
os.kill(os.getpid(), signal.SIGKILL)
"""
        self.staged(os.sys.executable, "-c", program)
        self.assertEqual(self.staged("cat", self.folder / "checkpoint").stdout, b"x" * 100_000)
        self.assertEqual(self.logs(), [])

    def test_a_file_that_is_written_while_it_gets_another_name_is_whole(self):
        os.chdir(self.folder)
        self.addCleanup(os.chdir, "/")
        left = 'import os, signal\nfile = os.open("last", os.O_WRONLY | os.O_CREAT)\n'
        left += "os.write(file, bytes(3_000_000))\nos.kill(os.getpid(), signal.SIGKILL)"
        self.staged(os.sys.executable, "-c", left)
        program = """
import os, signal, threading
os.close(os.open("new", os.O_WRONLY | os.O_CREAT))
renaming = threading.Thread(target=os.rename, args=("new", "last"))
renaming.start()
while os.stat("last").st_size == 0:
    pass  # until what was left of it is brought there, which takes long: the file has its old name
file = os.open("new", os.O_WRONLY)
os.write(file, b"x" * 100_000)
renaming.join()
os.kill(os.getpid(), signal.SIGKILL)
"""
        self.staged("env", "DOVETAIL_DRAIN_BANDWIDTH=1", os.sys.executable, "-c", program)
        self.assertEqual(self.staged("cat", "last").stdout, b"x" * 100_000)
        self.assertEqual(self.logs(), [])

    def test_the_command_brings_it_into_the_file(self):
        number = seed()
        last = self.kill_one(number, random.Random(number))
        done = self.plain(COMMAND, "recover", self.tier)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check((self.folder / "file").read_bytes(), number, last)


if __name__ == "__main__":
    unittest.main()
