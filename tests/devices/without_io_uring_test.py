"""dovetail-without-io-uring: io_uring fails as asked, everything else works."""

import errno
import subprocess
import sys
import unittest
from contextlib import nullcontext

from support import run_tests_on

# isort: split
from device_unavailable import DeviceUnavailable
from programs import find_program

# The numbers of io_uring_setup, _enter and _register, with their neighbours. Arguments that are invalid everywhere.
CALLS = """
import ctypes
library = ctypes.CDLL(None, use_errno=True)
for number in (424, 425, 426, 427, 428):
    ctypes.set_errno(0)
    library.syscall(number, -1, 0, 0, 0, 0, 0)
    print(ctypes.get_errno())
"""


class WithoutIoUringTest(unittest.TestCase):
    def run_program(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)

    def errors(self, *options: str) -> list[int]:
        done = self.run_program(*options, sys.executable, "-c", CALLS)
        if done.returncode == 77:
            print(done.stderr)
            sys.exit(77)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [int(line) for line in done.stdout.split()]

    def test_the_three_calls_fail_as_asked_and_their_neighbours_as_ever(self):
        plain = subprocess.run([sys.executable, "-c", CALLS], capture_output=True, text=True, check=True).stdout.split()
        before, after = int(plain[0]), int(plain[-1])
        self.assertEqual(self.errors(), [before, *[errno.EPERM] * 3, after])
        self.assertEqual(self.errors("--errno", "ENOSYS"), [before, *[errno.ENOSYS] * 3, after])
        self.assertEqual(self.errors("--errno", "13", "--"), [before, *[errno.EACCES] * 3, after])

    def test_exit_status_comes_back(self):
        self.assertEqual(self.run_program("sh", "-c", "exit 9").returncode, 9)
        self.assertEqual(self.run_program("/nowhere/to/be/found").returncode, 127)
        self.assertEqual(self.run_program("/").returncode, 126)

    def test_bad_usage_exits_with_2(self):
        for words in ([], ["--errno"], ["--errno", "ENONSENSE", "true"], ["--errno", "0", "true"], ["--other", "true"]):
            done = self.run_program(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("usage:", done.stderr)


if __name__ == "__main__":
    try:
        PROGRAM = find_program("dovetail-without-io-uring")
    except DeviceUnavailable as error:
        print(f"skipped: {error}")
        sys.exit(77)
    run_tests_on(nullcontext())
