"""With a plan the system reads ahead what the program will need, and nothing else; without one that fits it does what it always does."""

import contextlib
import ctypes
import json
import os
import random
import re
import sys
import unittest
from unittest import mock

from support import CACHED, PAGE, Case, Extent, PlannedFile, memory_watch, need, read_ahead_limits, replay

READER = (
    CACHED
    + """
way, path = sys.argv[1:]
descriptor = os.open(path, os.O_RDONLY)
size = os.path.getsize(path)
steps = list(range(0, size, 262144))
memory = map_file(descriptor)
awaited = {"first": steps[1:2], "one": steps[:8], "wait": steps, "wait_then_all": steps}
if way in awaited:
    os.pread(descriptor, 8192, 0)
    # No call of this program brings them in.
    while not all([arrived(memory, offset, 8192) for offset in awaited[way]]):
        os.pread(descriptor, 10, 0)
    if way == "one":
        print(sum(cached(memory, offset + 131072) for offset in steps))
if way in ("all", "wait_then_all"):
    for offset in steps:
        os.pread(descriptor, 8192, offset)
elif way in ("again", "again_opened"):
    for each in range(3):
        for offset in steps[4:] if each else steps:
            os.pread(descriptor, 8192, offset)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        if way == "again_opened":
            os.close(descriptor)
            descriptor = os.open(path, os.O_RDONLY)
            descriptors[memory] = descriptor
        for offset in steps[:4]:
            os.pread(descriptor, 8192, offset)
        while not all([arrived(memory, offset, 8192) for offset in steps]):
            os.pread(descriptor, 10, steps[3])
elif way == "settled":
    os.pread(descriptor, 8192, 0)
    libc.unshare(0)  # before which the helper ends
elif way == "sequence":
    for offset in range(0, size, 131072):
        os.pread(descriptor, 131072, offset)
elif way == "other":
    for offset in steps[:30]:
        os.pread(descriptor, 4096, offset + 131072)
"""
)


class Reading(Case):
    def setUp(self):
        super().setUp()
        self.path = self.file("data", 16 << 20)

    def words(self, way: str):
        return sys.executable, "-c", READER, way, self.path

    def advice(self, way: str, **options) -> list[str]:
        """What each call, in turn, said about the file."""
        return [said for _, _, said in self.calls(way, **options)]

    def lengths(self, way: str, **options) -> list[int]:
        """Of the parts of the file that the system was asked to read."""
        return [length for _, length, said in self.calls(way, **options) if said == "WILLNEED"]

    def calls(self, way: str, **options) -> list[tuple[int, int, str]]:
        """Offset, length and advice of each call, in turn, that was about the file."""
        strace = need(self, "strace")
        log = self.folder / "log"
        command = (strace, "-f", "-y", "-e", "trace=fadvise64", "-o", log, *self.words(way))
        status, _, errors = self.run_with_plan(*command, **options)
        if status != 0 and b"ptrace" in errors:
            self.skipTest("no process may be traced here")
        self.assertEqual(status, 0, errors)
        pattern = rf"fadvise64\(\d+<{re.escape(str(self.path))}>, (\d+), (\d+), POSIX_FADV_(\w+)"
        return [(int(offset), int(length), said) for offset, length, said in re.findall(pattern, log.read_text())]


class Replay(Reading):
    def setUp(self):
        super().setUp()
        self.assertEqual(self.observe(*self.words("all"))[0], 0)
        # A program must not have to wait for the system to write.
        self.forget(self.path)

    def test_another_pass_over_the_file_is_read_ahead_too(self):
        for way in ("again", "again_opened"):
            with self.subTest(way=way):
                self.forget(self.path)
                self.assertEqual(self.run_with_plan(*self.words(way)), (0, b"", b""))

    def test_what_is_needed_comes_by_itself_and_nothing_else(self):
        environment = {"DOVETAIL_PREFETCH_GAP_KB": "0"}
        status, output, errors = self.run_with_plan(*self.words("one"), environment=environment)
        self.assertEqual((status, output, errors), (0, b"0\n", b""))

    def test_gaps_that_cost_less_than_a_request_come_too(self):
        environment = {"DOVETAIL_PREFETCH_GAP_KB": "512", "DOVETAIL_PREFETCH_WINDOW_MB": "64"}
        status, output, _ = self.run_with_plan(*self.words("one"), environment=environment)
        self.assertEqual(status, 0)
        self.assertGreater(int(output), 5)

    def test_while_memory_is_short_less_is_read_ahead(self):
        environment = {"DOVETAIL_PREFETCH_GAP_KB": "512", "DOVETAIL_PREFETCH_WINDOW_MB": "4"}

        @contextlib.contextmanager
        def short_from_the_beginning(_, tell):
            for one in tell:
                one(PAGE)
            yield

        # Runs of 8 KiB, together with the gaps between them.
        plenty = self.lengths("first", environment=environment)
        self.assertGreater(max(plenty), 8192)
        self.forget(self.path)
        with mock.patch.object(memory_watch, "watched", short_from_the_beginning):
            short = self.lengths("first", environment=environment)
        self.assertEqual(max(short), 8192, "there is no room for a gap, and one run at a time is always asked for")

    def test_the_system_does_not_read_ahead_as_well(self):
        advice = self.advice("wait_then_all")
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

    def test_a_part_that_is_cached_is_not_asked_for(self):
        if not has_cachestat():
            self.skipTest("this kernel has no cachestat")
        part = 3 * 262144
        with self.path.open("rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            os.pread(file.fileno(), 8192, part)
        calls = self.calls("wait_then_all", environment={"DOVETAIL_PREFETCH_GAP_KB": "0"})
        asked = {offset for offset, _, said in calls if said == "WILLNEED"}
        self.assertIn(part + 262144, asked)
        self.assertNotIn(part, asked)

    def test_a_file_that_is_reached_by_a_symbolic_link(self):
        link = self.folder / "link"
        link.symlink_to(self.path)
        words = (sys.executable, "-c", READER, "all", link)
        self.assertEqual(self.observe(*words)[0], 0)
        self.assertEqual(len(self.extents_of(self.path)), 64, "it has the path of the file")
        by_the_link = self.plan_file.read_text().replace(f'"{self.path}"', f'"{link}"')
        for plan in (self.plan_file.read_text(), by_the_link):
            self.plan_file.write_text(plan)
            for path in (link, self.path):
                self.forget(self.path)
                # It ends when all has come.
                found = self.run_with_plan(sys.executable, "-c", READER, "wait", path)
                self.assertEqual(found, (0, b"", b""))

    def test_a_program_that_takes_another_way_is_left_to_the_system(self):
        found = [one for one in self.advice("other") if one != "WILLNEED"]
        self.assertEqual(found, ["RANDOM", "NORMAL"])


class Windows(unittest.TestCase):
    """All files together get no more memory than there is for them."""

    def shares(self, *files: tuple[float, float, int]) -> list[int]:
        """Of files that are read from then to then, and have so many MiB, in MiB; 64 in all."""
        planned = [
            PlannedFile("/data", 1, 1, size << 20, 1, [Extent(0, 4096, begin, 0), Extent(4096, 4096, end, 0)])
            for begin, end, size in files
        ]
        return [share >> 20 for share in replay.windows(planned, 64 << 20)]

    def test_files_that_are_read_at_the_same_time_share(self):
        self.assertEqual(self.shares((0, 2, 100), (1, 3, 100)), [32, 32])
        self.assertEqual(self.shares((0, 9, 100), (1, 2, 100), (3, 4, 100), (5, 6, 100)), [32, 32, 32, 32])

    def test_files_that_are_read_one_after_the_other_do_not(self):
        self.assertEqual(self.shares((0, 1, 100), (2, 3, 100)), [64, 64])

    def test_a_small_file_takes_little_from_a_large_one(self):
        small, large = self.shares((0, 1, 1), (0, 1, 100))
        self.assertLess(small, 4)
        self.assertGreater(large, 60)

    def test_at_no_time_more_than_all(self):
        seed = random.randrange(1 << 30)
        dice = random.Random(seed)
        for _ in range(200):
            files = [
                (begin, begin + dice.random() / 2, dice.randrange(1, 200))
                for begin in [dice.random() for _ in range(12)]
            ]
            shares = self.shares(*files)
            for time in (file[0] for file in files):
                at_once = [share for share, (begin, end, _) in zip(shares, files, strict=True) if begin <= time <= end]
                # Each has a MiB, whatever the others have.
                self.assertLessEqual(sum(share for share in at_once if share > 1), 64, f"seed {seed}")


def has_cachestat() -> bool:
    """Whether the system says what is cached (since Linux 6.5)."""
    whole, found = (ctypes.c_uint64 * 2)(0, 0), (ctypes.c_uint64 * 5)()
    with open(__file__, "rb") as file:
        return ctypes.CDLL(None).syscall(451, file.fileno(), whole, found, 0) == 0


class Report(Reading):
    def setUp(self):
        super().setUp()
        self.assertEqual(self.observe(*self.words("all"))[0], 0)
        self.forget(self.path)
        self.report = self.folder / "report.txt"

    def reported(self, way: str) -> tuple[list[str], str]:
        """The numbers of the file, and what is behind them."""
        environment = {"DOVETAIL_PREFETCH_GAP_KB": "0"}
        found = self.run_with_plan(*self.words(way), report=self.report, environment=environment)
        self.assertEqual(found, (0, b"", b""))
        seen_by, head, *lines = self.report.read_text().splitlines()
        self.assertEqual(seen_by, "the program's reads are seen by a library that is loaded into it")
        (line,) = [line for line in lines if str(self.path) in line]
        self.assertTrue(head.startswith("reads  in memory  waited"), head)
        numbers, path, note = line.partition(str(self.path))
        self.assertEqual(path, str(self.path))
        return numbers.split(), note

    def test_what_a_plan_did_is_written_to_a_file(self):
        (reads, _, _, _, _, _, unforeseen, asked, unread), note = self.reported("wait_then_all")
        self.assertEqual((unforeseen, asked, unread, note), ("0", "0.5", "0.0", ""))
        self.assertGreaterEqual(int(reads), 64 + 1)

    def test_what_was_asked_for_and_not_read_is_counted(self):
        (*_, asked, unread), _ = self.reported("wait")
        self.assertEqual((asked, unread), ("0.5", "0.5"), "of 64 pieces of 8 KiB one was read")

    def test_a_path_in_no_known_encoding_is_written_as_it_is(self):
        plan = self.plan()
        strange = self.folder / os.fsdecode(b"\xff")
        self.path.rename(strange)
        for file in plan["files"]:
            if file["path"] == str(self.path):
                file["path"] = str(strange)
        self.plan_file.write_text(json.dumps(plan))
        self.assertEqual(self.run_with_plan("true", report=self.report), (0, b"", b""))
        self.assertIn("not read", self.report.read_bytes().decode(errors="surrogateescape"))
        self.assertEqual(self.run_with_plan("cat", strange, report=self.report)[0], 0)
        self.assertIn(os.fsencode(strange), self.report.read_bytes())

    def test_what_was_cached_was_in_memory_and_not_asked_for(self):
        # A helper that is busy with other files comes too late for this one.
        plan = self.plan()
        plan["files"] = [file for file in plan["files"] if file["path"] == str(self.path)]
        self.plan_file.write_text(json.dumps(plan))
        self.path.read_bytes()
        if not has_cachestat():
            self.skipTest("this kernel has no cachestat")
        # A program that comes to the end of the plan before the helper has looked is left to the system for that.
        (*_, asked, _), note = self.reported("settled")
        self.assertEqual((asked, note), ("0.0", " (left to the system: all of it was in memory)"))

    def test_a_plan_that_was_given_up_is_named(self):
        numbers, note = self.reported("other")
        self.assertIn("given up", note)
        self.assertEqual((numbers[6], numbers[8]), ("9", "-"))

    def test_what_was_not_read_ahead_is_named(self):
        self.path.write_bytes(b"other")
        self.run_with_plan("true", report=self.report)
        text = self.report.read_text()
        self.assertIn("more files of the plan were not read", text)
        self.assertIn(f"not read ahead: {self.path}: it is not the file", text)

    def test_it_is_written_when_the_program_is_killed_too(self):
        status, _, _ = self.run_with_plan("sh", "-c", "cat data > copy; kill -KILL $$", report=self.report)
        self.assertEqual(status, -9)
        self.assertIn(str(self.path), self.report.read_text())

    def test_where_it_cannot_be_written_nothing_is_run(self):
        for place in (self.folder, self.folder / "none" / "report.txt"):
            status, output, errors = self.run_with_plan("echo", "ran", report=place)
            self.assertEqual((status, output), (2, b""))
            self.assertIn(b"a report cannot be written there", errors)


class InSequence(Reading):
    """What the system reads ahead as well by itself gets no advice: it takes large pages, which advice does not."""

    sequences_are_left = True

    def given(self, way: str, read_ahead: int, gap: int) -> list[str]:
        """The advice with a plan of such reads, for a device with such numbers."""
        self.assertEqual(self.observe(*self.words(way))[0], 0)
        self.forget(self.path)
        # Observed beside other programs it may have paused.
        plan = self.plan()
        for file in plan["files"]:
            for extent in file["extents"]:
                extent["think"] = 0
        self.plan_file.write_text(json.dumps(plan))
        device = read_ahead_limits.Device(max(read_ahead, 1 << 17), gap, read_ahead, of_a_request=gap)
        with mock.patch.object(replay, "device_of", return_value=device):
            return self.advice(way if read_ahead > gap and way == "sequence" else "wait_then_all")

    def test_it_is_left_to_a_system_that_reads_enough_ahead(self):
        self.assertEqual(self.given("sequence", read_ahead=2 << 20, gap=1 << 20), [])

    def test_the_report_says_so(self):
        self.assertEqual(self.observe(*self.words("sequence"))[0], 0)
        report = self.folder / "report.txt"
        with mock.patch.object(replay, "is_left_to_the_system", return_value=True):
            self.run_with_plan(*self.words("sequence"), report=report)
        self.assertIn(
            f"left to the system, which reads ahead as well what is read in sequence: {self.path}", report.read_text()
        )

    def planned(self, *think: float) -> PlannedFile:
        """Read from front to back, with these seconds before each read."""
        extents = [Extent(number * PAGE, PAGE, 0, seconds) for number, seconds in enumerate(think)]
        return PlannedFile("file", 1, 1, len(extents) * PAGE, 1, extents)

    def test_pauses_give_the_device_time_but_not_those_before_the_first_read(self):
        device = read_ahead_limits.Device(1 << 20, 0, 1 << 20, of_a_request=1 << 18)
        self.assertTrue(replay.is_left_to_the_system(self.planned(5, *[0] * 63), device))
        self.assertTrue(replay.is_left_to_the_system(self.planned(0, 1, 1, *[0] * 61), device), "two in 64")
        self.assertFalse(replay.is_left_to_the_system(self.planned(0, 1, 1, 1, *[0] * 60), device), "three in 64")

    def test_no_gaps_say_nothing_about_the_device(self):
        many = self.planned(*[0] * 64)
        self.assertFalse(
            replay.is_left_to_the_system(many, read_ahead_limits.Device(1 << 20, 0, 0, of_a_request=1 << 18))
        )

    def test_but_not_to_one_that_reads_little(self):
        self.assertIn("WILLNEED", self.given("sequence", read_ahead=128 << 10, gap=1 << 20))

    def test_strides_are_not_in_sequence(self):
        self.assertIn("WILLNEED", self.given("all", read_ahead=2 << 20, gap=1 << 20))

    def test_which_files_are(self):
        device = read_ahead_limits.Device(piece=1 << 20, gap=1 << 20, read_ahead=2 << 20)
        slow = read_ahead_limits.Device(piece=1 << 20, gap=1 << 20, read_ahead=128 << 10)
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
