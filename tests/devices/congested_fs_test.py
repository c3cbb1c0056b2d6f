"""The file system that congests: files are what was written, and writers wait by the law. Nothing here measures time."""

import errno
import os
import random
import select
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from support import DEVICES, errno_of, hangs, run_tests_on

# isort: split
from congested_fs import NAME, CongestedFs
from programs import find_program

SLOW = 1e-6  # MB/s: no writer is done before the law is changed
FAST = 1e6
WRITERS = 64


class CongestedFsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.system = cls.enterClassContext(CongestedFs())

    def setUp(self):
        self.system.set_law(peak=FAST, saturation=2, knee=4, penalty=0.15)

    def wait_until(self, count):
        """How many drain is said by the file system itself."""
        while self.system.status()["waiting"] != count:
            os.sched_yield()

    def test_files_are_what_was_written(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        content = random.Random(seed).randbytes(3_000_001)
        path = self.system.path / "folder" / "file"
        path.parent.mkdir()
        with open(path, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        self.assertEqual(path.read_bytes(), content)
        self.assertEqual((Path(self.system.backing) / "folder" / "file").read_bytes(), content)
        path.rename(path.with_name("renamed"))
        os.truncate(path.with_name("renamed"), 5)
        self.assertEqual(os.listdir(path.parent), ["renamed"])
        self.assertEqual(path.with_name("renamed").read_bytes(), content[:5])
        path.with_name("renamed").unlink()
        path.parent.rmdir()
        self.assertEqual(errno_of(path.stat), errno.ENOENT)

    def test_sixty_four_callers_wait_at_once_until_the_law_lets_them(self):
        ended = []

        def write(number):
            descriptor = os.open(self.system.path / str(number), os.O_WRONLY | os.O_CREAT)
            os.pwrite(descriptor, b"x" * 4096, 0)
            os.fsync(descriptor)
            ended.append(number)
            os.close(descriptor)

        self.system.set_law(peak=SLOW)
        threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
        for thread in threads:
            thread.start()
        self.wait_until(WRITERS)
        self.assertEqual(ended, [])
        self.assertEqual((self.system.path / "0").stat().st_size, 4096, "other calls go on")
        self.system.set_law(peak=FAST)
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(ended), list(range(WRITERS)))
        self.assertEqual(self.system.status()["most_waiting"], WRITERS)

    def test_only_what_was_written_since_is_drained(self):
        descriptor = os.open(self.system.path / "again", os.O_WRONLY | os.O_CREAT)
        self.addCleanup(os.close, descriptor)
        os.pwrite(descriptor, b"x" * 4096, 0)
        os.fsync(descriptor)
        self.system.set_law(peak=SLOW)
        os.fsync(descriptor)  # would not return if anything were left
        os.fdatasync(descriptor)

    def test_synchronous_writes_drain_themselves(self):
        descriptor = os.open(self.system.path / "synchronous", os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
        self.addCleanup(os.close, descriptor)
        self.system.set_law(peak=SLOW)
        writer = threading.Thread(target=os.pwrite, args=(descriptor, b"x" * 4096, 0))
        writer.start()
        self.wait_until(1)
        self.system.set_law(peak=FAST)
        writer.join()

    def test_the_law_is_read_and_changed(self):
        self.system.set_law(peak=200, saturation=1, knee=1, penalty=5)
        status = self.system.status()
        self.assertEqual([status[name] for name in ("peak", "saturation", "knee", "penalty")], [200, 1, 1, 5])
        self.assertEqual(self.system.bandwidth(3), 200 / 11)
        for bad in ("peak=0", "peak=x", "speed=3", "peak", "penalty=-1"):
            with self.subTest(bad), self.assertRaises(OSError) as raised, open(self.system.path / ".law", "w") as law:
                law.write(bad)
            self.assertEqual(raised.exception.errno, errno.EINVAL)
        self.assertEqual(self.system.status()["peak"], 200)


class CommandTest(unittest.TestCase):
    def test_bad_usage_is_refused_with_status_2(self):
        program = find_program(NAME)
        for words in ([], ["/nowhere", "/tmp"], ["--peak", "0", "/tmp", "/tmp"], ["--threads", "1", "/tmp", "/tmp"]):
            done = hangs.run([program, *words], timeout=60)
            self.assertEqual(done.returncode, 2, words)
            self.assertNotEqual(done.stderr, "")

    def test_the_mount_goes_with_the_program_that_made_it(self):
        backing = self.enterContext(tempfile.TemporaryDirectory())
        script = f"""
import sys
sys.path.insert(0, {str(DEVICES)!r})
from congested_fs import CongestedFs
system = CongestedFs(backing={backing!r}).__enter__()
print(system.path, flush=True)
sys.stdin.read()
"""
        maker = subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        path = maker.stdout.readline().strip()
        self.assertTrue(os.path.ismount(path))
        mounts = os.open("/proc/self/mounts", os.O_RDONLY)
        self.addCleanup(os.close, mounts)
        os.read(mounts, 1 << 20)
        maker.kill()
        maker.communicate()
        poller = select.poll()
        poller.register(mounts, select.POLLERR | select.POLLPRI)
        # In the table, not by `ismount`: a mount whose server is gone no longer looks like one, and still is there.
        while path in Path("/proc/self/mounts").read_text():
            poller.poll(100)
        self.assertEqual(os.listdir(path), [])
        os.rmdir(path)
        os.rmdir(os.path.dirname(path))


if __name__ == "__main__":
    run_tests_on(CongestedFs())
