"""With a plan the system reads ahead what the program will need, and nothing else; without one that fits it does what it always does."""

import re
import sys
import unittest
from unittest import mock

from support import Case, Extent, PlannedFile, need, replay

READER = """
import ctypes, mmap, os, sys
way, path = sys.argv[1:]
descriptor = os.open(path, os.O_RDONLY)
size = os.path.getsize(path)
steps = list(range(0, size, 262144))
libc = ctypes.CDLL(None)
map_of = libc.mmap
map_of.restype, map_of.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
memory = map_of(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
def cached(offset):
    state = (ctypes.c_ubyte * 1)()
    assert libc.mincore(ctypes.c_void_p(memory + offset), ctypes.c_size_t(4096), state) == 0
    return state[0] & 1
if way == "one":
    os.pread(descriptor, 8192, 0)
    # No call of this program brings them in.
    while not all(cached(offset) and cached(offset + 4096) for offset in steps[:8]):
        os.pread(descriptor, 10, 0)
    print(sum(cached(offset + 131072) for offset in steps))
elif way == "all":
    for offset in steps:
        os.pread(descriptor, 8192, offset)
elif way == "sequence":
    for offset in range(0, size, 131072):
        os.pread(descriptor, 131072, offset)
elif way == "other":
    for offset in steps[:30]:
        os.pread(descriptor, 4096, offset + 131072)
"""


class Reading(Case):
    def setUp(self):
        super().setUp()
        self.path = self.file("data", 16 << 20)

    def words(self, way: str):
        return sys.executable, "-c", READER, way, self.path

    def advice(self, way: str, **options) -> list[str]:
        """The last argument of each call, in turn, that was about the file."""
        strace = need(self, "strace")
        log = self.folder / "log"
        command = (strace, "-f", "-y", "-e", "trace=fadvise64", "-o", log, *self.words(way))
        status, _, errors = self.run_with_plan(*command, **options)
        if status != 0 and b"ptrace" in errors:
            self.skipTest("no process may be traced here")
        self.assertEqual(status, 0, errors)
        return re.findall(rf"fadvise64\(\d+<{re.escape(str(self.path))}>, .*POSIX_FADV_(\w+)", log.read_text())


class Replay(Reading):
    def setUp(self):
        super().setUp()
        self.assertEqual(self.observe(*self.words("all"))[0], 0)
        # A program must not have to wait for the system to write.
        self.forget(self.path)

    def test_what_is_needed_comes_by_itself_and_nothing_else(self):
        environment = {"DOVETAIL_PREFETCH_GAP_KB": "0"}
        status, output, errors = self.run_with_plan(*self.words("one"), environment=environment)
        self.assertEqual((status, output, errors), (0, b"0\n", b""))

    def test_gaps_that_cost_less_than_a_request_come_too(self):
        environment = {"DOVETAIL_PREFETCH_GAP_KB": "512", "DOVETAIL_PREFETCH_WINDOW_MB": "64"}
        status, output, _ = self.run_with_plan(*self.words("one"), environment=environment)
        self.assertEqual(status, 0)
        self.assertGreater(int(output), 5)

    def test_the_system_does_not_read_ahead_as_well(self):
        advice = self.advice("all")
        self.assertGreater(advice.count("WILLNEED"), 0)
        # The end of the plan: what is read after it is the system's to read ahead.
        self.assertEqual([one for one in advice if one != "WILLNEED"], ["RANDOM", "NORMAL"])
        self.assertEqual(advice[0], "RANDOM")

    def test_what_is_cached_is_not_asked_for(self):
        self.path.read_bytes()
        found = self.advice("all", environment={"DOVETAIL_PREFETCH_GAP_KB": "0"})
        if "WILLNEED" in found:
            self.skipTest("this kernel has no cachestat")
        self.assertEqual(found, ["RANDOM", "NORMAL"])

    def test_a_program_that_takes_another_way_is_left_to_the_system(self):
        found = [one for one in self.advice("other") if one != "WILLNEED"]
        self.assertEqual(found, ["RANDOM", "NORMAL"])


class InSequence(Reading):
    """What the system reads ahead as well by itself gets no advice: it takes large pages, which advice does not."""

    sequences_are_left = True

    def observed(self, way: str, read_ahead: int, gap: int) -> list[str]:
        self.assertEqual(self.observe(*self.words(way))[0], 0)
        self.forget(self.path)
        device = replay.Device(max(read_ahead, 1 << 17), gap, read_ahead)
        with mock.patch.object(replay, "device_of", return_value=device):
            return self.advice(way)

    def test_it_is_left_to_a_system_that_reads_enough_ahead(self):
        self.assertEqual(self.observed("sequence", read_ahead=2 << 20, gap=1 << 20), [])

    def test_but_not_to_one_that_reads_little(self):
        self.assertIn("WILLNEED", self.observed("sequence", read_ahead=128 << 10, gap=1 << 20))

    def test_strides_are_not_in_sequence(self):
        self.assertIn("WILLNEED", self.observed("all", read_ahead=2 << 20, gap=1 << 20))

    def test_which_files_are(self):
        device = replay.Device(piece=1 << 20, gap=1 << 20, read_ahead=2 << 20)
        slow = replay.Device(piece=1 << 20, gap=1 << 20, read_ahead=128 << 10)
        run = 1 << 20

        def left(offsets, device=device, think=0.0, length=run):
            file = PlannedFile("/data", 1, 1, 1 << 40, 1, [Extent(offset, length, 0, think) for offset in offsets])
            return replay.is_left_to_the_system(file, device)

        in_sequence = [number * run for number in range(100)]
        self.assertTrue(left(in_sequence))
        self.assertTrue(left([offset + 8 * run * (offset > 50 * run) for offset in in_sequence]), "one jump")
        self.assertFalse(left(in_sequence[::-1]))
        self.assertFalse(left(in_sequence[::2]))
        self.assertFalse(left(in_sequence, think=0.1), "the device has time to be far ahead")
        self.assertFalse(left(in_sequence, slow))
        self.assertTrue(left([0], slow, length=65536), "one request brings all of it")
        self.assertFalse(left([0, 4 * run], slow, length=16384))


if __name__ == "__main__":
    unittest.main(verbosity=2)
