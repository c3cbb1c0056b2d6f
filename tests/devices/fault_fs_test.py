"""The fault-injecting file system: each rule does what it says, and nothing else changes."""

import errno
import mmap
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support import DEVICES, errno_of, open_file, run_tests_on

# isort: split
from fault_fs import FaultFs

BLOCK = 4096


class RuleTest(unittest.TestCase):
    """One mount for all; each test sets its rules anew."""

    @classmethod
    def setUpClass(cls):
        cls.faults = cls.enterClassContext(FaultFs())

    def setUp(self):
        self.faults.set_rules()
        self.file = open_file(self.faults.path / "file", os.O_TRUNC)
        self.addCleanup(os.close, self.file)
        self.addCleanup(self.faults.set_rules)
        os.pwrite(self.file, bytes(range(256)) * 64, 0)

    def write(self, offset: int, length: int = BLOCK) -> int:
        return os.pwrite(self.file, b"w" * length, offset)

    def test_nth_operation_fails_and_only_that(self):
        self.faults.set_rules("write error=EIO nth=3")
        results = [errno_of(self.write, index * BLOCK) for index in range(5)]
        self.assertEqual(results, [0, 0, errno.EIO, 0, 0])
        self.assertEqual(os.pread(self.file, BLOCK, 2 * BLOCK), bytes(range(256)) * 16, "the failed write wrote")
        self.faults.set_rules("read error=EIO every=2 times=1")
        results = [errno_of(os.pread, self.file, BLOCK, 0) for _ in range(5)]
        self.assertEqual(results, [0, errno.EIO, 0, 0, 0])

    def test_offset_range_fails_where_it_is_touched(self):
        self.faults.set_rules("read,write error=EIO offset=4k..8k")
        for offset, length, expected in (
            (0, 4096, 0),
            (0, 4097, 5),
            (4095, 1, 0),
            (8191, 1, 5),
            (8192, 9, 0),
            (6000, 10, 5),
        ):
            self.assertEqual(errno_of(os.pread, self.file, length, offset), expected, (offset, length))
            self.assertEqual(errno_of(self.write, offset, length), expected, (offset, length))

    def test_no_space_after_a_number_of_bytes_cuts_the_crossing_write_short(self):
        self.faults.set_rules("write,fallocate error=ENOSPC after=10000")
        self.assertEqual([self.write(0), self.write(4096), self.write(8192)], [4096, 4096, 10000 - 8192])
        self.assertEqual(errno_of(self.write, 10000), errno.ENOSPC)
        self.assertEqual(errno_of(os.posix_fallocate, self.file, 0, 1 << 20), errno.ENOSPC)

    def test_short_transfers(self):
        self.faults.set_rules("read short=100", "write short=1000 path=file")
        self.assertEqual(len(os.pread(self.file, BLOCK, 0)), 100)
        self.assertEqual(self.write(0), 1000)
        self.assertEqual(self.write(0, 10), 10)

    def test_path_pattern_selects_files(self):
        self.faults.set_rules("write error=EROFS path=sub/*.log")
        (self.faults.path / "sub").mkdir(exist_ok=True)
        log = open_file(self.faults.path / "sub" / "a.log")
        self.addCleanup(os.close, log)
        self.assertEqual(errno_of(os.write, log, b"x"), errno.EROFS)
        self.assertEqual(self.write(0), BLOCK)

    def test_fsync_open_and_close_fail(self):
        self.faults.set_rules("fsync error=EIO", "open error=EMFILE path=other", "close error=EDQUOT")
        self.assertEqual(errno_of(os.fsync, self.file), errno.EIO)
        self.assertEqual(errno_of(os.fdatasync, self.file), errno.EIO)
        self.assertEqual(errno_of(open_file, self.faults.path / "other"), errno.EMFILE)
        self.assertEqual(errno_of(os.close, open_file(self.faults.path / "file")), errno.EDQUOT)

    def test_direct_files_follow_the_rules_too(self):
        direct = open_file(self.faults.path / "file", os.O_DIRECT)
        self.addCleanup(os.close, direct)
        self.faults.set_rules("write error=EIO nth=2")
        with mmap.mmap(-1, BLOCK) as block:
            self.assertEqual(os.pwritev(direct, [block], 0), BLOCK)
            self.assertEqual(errno_of(os.pwritev, direct, [block], 0), errno.EIO)

    def test_many_calls_wait_at_the_same_time_and_are_released(self):
        self.faults.set_rules("read hold", "write hold")
        threads = [
            threading.Thread(
                target=os.pread if index % 2 else self.write, args=(self.file, 64, 0) if index % 2 else (0, 64)
            )
            for index in range(128)
        ]
        for thread in threads:
            thread.start()
        self.faults.wait_for_waiting(128)
        self.assertEqual(self.faults.status()["waiting"], 128)
        self.faults.release()
        for thread in threads:
            thread.join()
        self.assertEqual(self.faults.status()["waiting"], 0)

    def test_a_call_that_arrives_as_others_are_released_is_not_held_for_ever(self):
        # Nothing releases it again: the test would hang.
        with ThreadPoolExecutor(8) as readers:
            for _ in range(200):
                self.faults.set_rules("read hold")
                calls = [readers.submit(os.pread, self.file, 64, index) for index in range(8)]
                self.faults.wait_for_waiting(1)
                self.faults.set_rules()
                self.assertEqual([len(call.result()) for call in calls], [64] * 8)

    def test_delay_and_bandwidth_take_at_least_their_time(self):
        for rule, count, seconds in (("read delay=30", 3, 0.09), ("read bandwidth=1", 50, 50 * BLOCK / 1e6 - 0.001)):
            self.faults.set_rules(rule)
            start = time.monotonic()
            for _ in range(count):
                os.pread(self.file, BLOCK, 0)
            self.assertGreaterEqual(time.monotonic() - start, seconds, rule)

    def test_a_signal_ends_the_wait_of_a_held_call(self):
        self.faults.set_rules("read hold")
        with subprocess.Popen(["cat", str(self.faults.path / "file")], stdout=subprocess.DEVNULL) as process:
            self.faults.wait_for_waiting(1)
            process.terminate()
            self.assertEqual(process.wait(), -signal.SIGTERM)

    def test_rules_can_be_read_added_and_are_refused_with_a_message(self):
        self.faults.set_rules("write delay=1 # a comment", "", "fsync error=5")
        self.faults.add_rules("read hold nth=99")
        os.pread(self.file, 10, 0)
        status = self.faults.status()["rules"]
        self.assertEqual([rule["rule"] for rule in status], ["write delay=1", "fsync error=5", "read hold nth=99"])
        self.assertEqual([rule["matched"] for rule in status], [0, 0, 1])
        for bad in (
            "write",
            "wrote error=EIO",
            "write error=NONE",
            "write error=EIO nth=0",
            "read offset=9..3 hold",
            "wait x",
            "read delay=-1",
            "read short=4q",
            "read error=EIO frequently",
            "read offset=99999999999999G.. hold",
        ):
            with self.assertRaises(ValueError, msg=bad):
                self.faults.add_rules(bad)
        self.assertEqual(len(self.faults.status()["rules"]), 3)

    def test_without_rules_it_is_a_file_system(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        generator = random.Random(seed)
        model = bytearray(1 << 16)
        os.pwrite(self.file, model, 0)
        for _ in range(300):
            offset, length = generator.randrange(1 << 16), generator.randrange(1, 5000)
            data = generator.randbytes(min(length, (1 << 16) - offset))
            self.assertEqual(os.pwrite(self.file, data, offset), len(data))
            model[offset : offset + len(data)] = data
        self.assertEqual((self.faults.path / "file").read_bytes(), model)
        self.assertEqual((self.faults.backing / "file").read_bytes(), model)
        root = self.faults.path
        (root / "folder").mkdir()
        os.rename(root / "file", root / "folder" / "renamed")
        os.link(root / "folder" / "renamed", root / "link")
        os.symlink("link", root / "symbolic")
        os.truncate(root / "symbolic", 10)
        os.chmod(root / "link", 0o640)
        os.utime(root / "link", (1, 2))
        status = os.stat(root / "folder" / "renamed")
        self.assertEqual((status.st_size, status.st_mode & 0o777, status.st_mtime, status.st_nlink), (10, 0o640, 2, 2))
        self.assertEqual(os.readlink(root / "symbolic"), "link")
        self.assertEqual(sorted(os.listdir(root)), sorted(os.listdir(self.faults.backing)))
        with open(root / "link", "ab") as file:
            file.write(b"appended")
        self.assertEqual((root / "link").read_bytes(), bytes(model[:10]) + b"appended")
        for name in ("link", "symbolic", "folder/renamed"):
            (root / name).unlink()
        (root / "folder").rmdir()


class MountTest(unittest.TestCase):
    def test_cached_files_pass_through_the_page_cache(self):
        with FaultFs(cached=True) as faults:
            (faults.path / "file").write_bytes(b"c" * 100_000)
            with (faults.path / "file").open("rb") as file:
                self.assertEqual(len(file.read()), 100_000)
                faults.set_rules("read error=EIO")
                self.assertEqual(len(os.pread(file.fileno(), 100_000, 0)), 100_000, "not from the cache")
            direct = os.open(faults.path / "file", os.O_RDONLY | os.O_DIRECT)
            self.assertEqual(errno_of(os.pread, direct, BLOCK, 0), errno.EIO)
            os.close(direct)

    def test_bad_rules_and_options_are_refused(self):
        with self.assertRaisesRegex(ValueError, "frequently"), FaultFs("read error=EIO frequently"):
            pass
        with FaultFs() as faults:
            program = faults._process.args[0]
        for words in (["--what"], [], ["a"], ["--threads", "0", "a", "b"], ["--rule"]):
            done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("--help", done.stderr)

    def test_entering_twice_mounts_once(self):
        faults = FaultFs()
        faults.__enter__()
        first = faults.path
        with faults:
            self.assertEqual(faults.path, first)
        self.assertFalse(first.exists())

    def test_unmounting_frees_calls_that_wait(self):
        results = []
        with FaultFs() as faults:
            file = open_file(faults.path / "file")
            faults.set_rules("read hold")
            thread = threading.Thread(target=lambda: results.append(errno_of(os.pread, file, 10, 0)))
            thread.start()
            faults.wait_for_waiting(1)
        thread.join()
        errno_of(os.close, file)  # which says that the file system is gone
        self.assertEqual(len(results), 1)
        self.assertFalse(faults.path.exists())

    def test_no_mount_outlives_a_killed_maker(self):
        code = (
            f"import sys; sys.path.insert(0, {str(DEVICES)!r})\n"
            "from fault_fs import FaultFs\n"
            "with FaultFs() as faults:\n"
            "    print(faults.path, faults._process.pid, flush=True)\n"
            "    sys.stdin.read()\n"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as maker:
            path, number = maker.stdout.readline().split()
            server = os.pidfd_open(int(number))
            self.assertTrue(os.path.ismount(path))
            maker.kill()
        self.assertTrue(select.select([server], [], [], 60)[0], "the server still runs")
        os.close(server)
        self.assertNotIn(path, Path("/proc/mounts").read_text())
        os.rmdir(path)
        os.rmdir(os.path.dirname(path) + "/backing")
        os.rmdir(os.path.dirname(path))


if __name__ == "__main__":
    run_tests_on(FaultFs())
