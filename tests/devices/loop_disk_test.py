"""The slow and the small disk: real limits, real ENOSPC, and nothing left behind."""

import errno
import json
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from support import DEVICES, errno_of, hangs, open_file, run_tests_on

# isort: split
import loop_file_system
from bandwidth import measure
from slow_disk import SlowDisk
from small_disk import SmallDisk

SLOW_DISK = str(DEVICES / "slow_disk.py")


def use_own_registry(test: unittest.TestCase) -> str:
    """A test that makes a device removes the leftovers in the registry, so tests beside this one would do its work.

    Returns what has a program of Python do the same.
    """
    registry = Path(test.enterContext(tempfile.TemporaryDirectory()))
    test.enterContext(mock.patch.object(loop_file_system, "REGISTRY", registry))
    test.addCleanup(loop_file_system.remove_leftovers)
    return (
        f"import sys; sys.path.insert(0, {str(DEVICES)!r})\n"
        "import loop_file_system, pathlib, slow_disk\n"
        f"loop_file_system.REGISTRY = pathlib.Path({str(registry)!r})\n"
    )


def run(*command: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)


class SlowDiskTest(unittest.TestCase):
    def test_no_kind_of_transfer_exceeds_its_limit(self):
        # Only upper bounds: a busy machine makes transfers slower, nothing makes them faster than the limit. The 15 %
        # are the slice by which the kernel lets a transfer start early.
        with SlowDisk(read_mb_per_s=40, write_mb_per_s=20, size_mb=96) as disk:
            for name, value in measure(disk.path, 32).items():
                self.assertLess(value, 1.15 * (20 if name.endswith("write") else 40), name)

    def test_bandwidth_can_be_changed_while_mounted(self):
        with SlowDisk(0, 0, 64) as disk:
            disk.set_bandwidth(0, 10)
            start = time.monotonic()
            (disk.path / "file").write_bytes(b"x" * 5_000_000)
            with (disk.path / "file").open("rb+") as file:
                os.fdatasync(file.fileno())
            self.assertGreater(time.monotonic() - start, 0.5 * 0.85)

    def test_command_gets_the_path_and_its_exit_status_comes_back(self):
        script = "import os, sys; sys.exit(7 if os.path.ismount(os.environ['SLOW_DISK']) else 1)"
        done = run(SLOW_DISK, "--size", "32", "--", sys.executable, "-c", script)
        self.assertEqual(done.returncode, 7, done.stderr)

    def test_bad_usage_exits_with_2(self):
        for words in ([], ["--size", "0", "--", "true"], ["--read", "-1", "--", "true"], ["--write", "fast"]):
            done = run(SLOW_DISK, *words)
            self.assertEqual(done.returncode, 2, f"{words}: {done.stderr}")
            self.assertIn("error:", done.stderr)


class CleanUpTest(unittest.TestCase):
    def setUp(self):
        self.beginning = use_own_registry(self)

    def start(self) -> tuple[subprocess.Popen, Path]:
        # Not `sys.stdin.read()`: Python runs no handler for a signal that comes just before a call that blocks.
        code = (
            self.beginning + "import select, signal, socket\n"
            "with slow_disk.SlowDisk(10, 10, 32) as disk:\n"
            "    woken, wake = socket.socketpair()\n"
            "    wake.setblocking(False)\n"
            "    signal.set_wakeup_fd(wake.fileno())\n"
            "    print(disk.path, flush=True)\n"
            "    select.select([sys.stdin, woken], [], [])\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        path = Path(process.stdout.readline().strip())
        self.assertTrue(path.is_mount(), path)
        return process, path

    def assert_gone(self, path: Path) -> None:
        self.assertFalse(path.parent.exists(), path)
        self.assertNotIn(str(path), Path("/proc/mounts").read_text())

    def test_signals_and_exceptions_take_the_disk_down(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            process, path = self.start()
            process.send_signal(number)
            self.assertNotEqual(hangs.wait(process, 100), 0)
            self.assert_gone(path)
        with self.assertRaises(ZeroDivisionError), SlowDisk(10, 10, 32) as disk:
            raise ZeroDivisionError
        self.assert_gone(disk.path)

    def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_is_not(self):
        living, living_path = self.start()
        killed, killed_path = self.start()
        killed.kill()
        killed.wait()
        self.assertTrue(killed_path.is_mount())
        done = run("-c", self.beginning + "sys.exit(slow_disk.main())", "--remove-leftovers")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(str(killed_path), done.stdout)
        self.assert_gone(killed_path)
        self.assertTrue(living_path.is_mount())
        living.stdin.close()
        self.assertEqual(hangs.wait(living, 100), 0)
        self.assert_gone(living_path)

    def test_a_file_that_is_still_open_does_not_keep_the_mount(self):
        with SmallDisk(4) as disk:
            descriptor = open_file(disk.path / "open")
        try:
            self.assert_gone(disk.path)
            self.assertEqual(os.pwrite(descriptor, b"still here", 0), 10)
        finally:
            os.close(descriptor)

    def test_entering_twice_makes_one_disk(self):
        disk = SmallDisk(4)
        disk.__enter__()
        first = disk.path
        with disk:
            self.assertEqual(disk.path, first)
        self.assert_gone(first)

    def test_the_throttle_goes_with_the_disk(self):
        # A limit that no other test has, since another device may soon have the number of this one.
        with SlowDisk(10, 10.0007, 32) as disk:
            (entry,) = loop_file_system.REGISTRY.glob("device-*.json")
            record = json.loads(entry.read_text())["throttled"]
            if record["version"] != 1:
                self.skipTest("version 2 keeps the limit in a group of its own, which goes as a whole")
            limits = [Path(group) / "blkio.throttle.write_bps_device" for group in record["groups"]]
            for limit in limits:
                self.assertIn(f"{disk.device_number} 10000700", limit.read_text())
        for limit in limits:
            self.assertNotIn(f"{disk.device_number} 10000700", limit.read_text())


class SmallDiskTest(unittest.TestCase):
    def fill(self, file: int) -> tuple[int, int]:
        """The bytes that fit and the errno of the write that did not."""
        written = 0
        with mmap.mmap(-1, 65536) as block:
            while (error := errno_of(os.pwritev, file, [block], written)) == 0 and written <= 4 << 20:
                written = os.fstat(file).st_size
        return written, error

    def test_it_is_full_after_its_size_for_buffered_and_direct_writes(self):
        for flags in (0, os.O_DIRECT):
            with SmallDisk(4) as disk:
                file = open_file(disk.path / "file", flags)
                written, error = self.fill(file)
                os.close(file)
                self.assertEqual(error, errno.ENOSPC)
                self.assertGreater(written, 3 << 20)
                self.assertLess(written, 4 << 20)


if __name__ == "__main__":
    run_tests_on(SlowDisk(10, 10, 16))
