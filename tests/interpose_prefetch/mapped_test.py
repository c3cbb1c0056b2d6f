"""What a program touches of mapped files, without privilege: seen by its parent, part of the plan, and read ahead within the window."""

import contextlib
import os
import subprocess
import sys
import unittest
from unittest import mock

from support import (
    CACHED,
    PAGE,
    Case,
    Extent,
    Plan,
    PlannedFile,
    Ways,
    mapped_ahead,
    mapped_pages,
    read_plan,
    replay,
    write_plan,
)

MIB = 1 << 20
SIZE = 8 * MIB
# What the kernel may give a program around a page that it touches.
AROUND = 64 << 10
# Touches the pages at these offsets, says so, and waits for a line.
TOUCHING = """
import mmap, os, sys
memory = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 0, prot=mmap.PROT_READ)
total = 0
for line in sys.stdin:
    total += sum(memory[int(offset)] for offset in line.split())
    print(total, flush=True)
"""
# The same without a partner: whoever sees the last touch makes a file.
OBSERVED = """
import mmap, os, sys
memory = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 0, prot=mmap.PROT_READ)
print(sum(memory[int(offset)] for offset in sys.argv[2].split()))
while not os.path.exists("seen"):
    pass
"""
# Waits for planned pages that it has not touched. Of these it touches the first ones, and waits for what comes then.
FOLLOWED = (
    CACHED
    + """
descriptor = os.open(sys.argv[1], os.O_RDONLY)
memory = map_file(descriptor)
touched = mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)
places = [int(place) for place in sys.argv[2].split()]
def wait_for(places):
    while not all([arrived(memory, place, 131072) for place in places]):
        pass
wait_for(places[:8])
print(sum(cached(memory, place, 131072) for place in places[8:]))
for place in places[:8]:
    for page in range(place, place + 131072, 4096):
        touched[page]
wait_for(places[8:16])
"""
)


class Mapped(Case):
    def setUp(self):
        super().setUp()
        self.path = self.file("data", SIZE)
        self.forget(self.path)

    @contextlib.contextmanager
    def touching(self):
        """A function that touches these offsets in another process."""
        words = [sys.executable, "-c", TOUCHING, str(self.path)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:

            def touch(*offsets: int) -> None:
                process.stdin.write(" ".join(map(str, offsets)) + "\n")
                self.assertTrue(process.stdout.readline())

            yield touch
            process.stdin.close()

    def check_what_is_seen(self):
        offsets = [5 * MIB, MIB + 7 * PAGE, 3 * MIB + PAGE]
        pages = mapped_pages.MappedPages()
        self.addCleanup(pages.close)
        with self.touching() as touch:
            touch(offsets[0])
            first = self.look_until(pages, offsets[0])
            self.assertTrue(all(abs(one.offset - offsets[0]) < AROUND for one in first), first)
            touch(*offsets[1:])
            more = pages.look()
            for offset in offsets[1:]:
                self.assertTrue(any(one.offset <= offset < one.end for one in more), more)
            for one in more:
                self.assertTrue(any(abs(one.offset - offset) < AROUND for offset in offsets[1:]), one)
            self.assertEqual(pages.look(), [], "nothing is told twice")
        self.assertEqual([file.path for file in pages.files.values()], [str(self.path)])

    def look_until(self, pages, offset: int):
        while True:
            found = pages.look()
            if any(one.offset <= offset < one.end for one in found):
                return found

    def test_touched_pages_are_seen(self):
        self.check_what_is_seen()

    def test_also_by_a_kernel_that_does_not_scan(self):
        with mock.patch.object(mapped_pages.fcntl, "ioctl", side_effect=OSError(25, "not here")):
            self.check_what_is_seen()

    def test_a_process_that_ends_and_one_that_may_not_be_looked_at_are_left_out(self):
        pages = mapped_pages.MappedPages()
        with self.touching() as touch:
            touch(0)
            self.look_until(pages, 0)
        self.assertEqual(pages.look(), [])
        with self.touching() as touch, mock.patch.object(mapped_pages._Pages, "__init__", side_effect=PermissionError):
            touch(MIB)
            pages = mapped_pages.MappedPages()
            self.assertEqual(pages.look(), [])
            self.assertEqual(pages.files, {})

    def test_a_plan_has_what_was_touched(self):
        offsets = [5 * MIB, MIB, 3 * MIB]
        look = mapped_pages.MappedPages.look

        def noted(pages):
            found = look(pages)
            if any(one.offset <= offsets[-1] < one.end for one in found):
                (self.folder / "seen").touch()
            return found

        words = (sys.executable, "-c", OBSERVED, self.path, " ".join(map(str, offsets)))
        with mock.patch.object(mapped_pages.MappedPages, "look", noted):
            status, output, errors = self.observe(*words)
        self.assertEqual((status, errors), (0, b""))
        content = self.path.read_bytes()
        self.assertEqual(int(output), sum(content[offset] for offset in offsets))
        extents = self.extents_of(self.path)
        for offset in offsets:
            self.assertTrue(any(begin <= offset < begin + count for begin, count in extents), extents)
        self.assertLess(sum(count for _, count in extents), len(offsets) * 2 * AROUND)
        (mapped,) = [file["mapped"] for file in self.plan()["files"] if file["path"] == str(self.path)]
        self.assertEqual(mapped, [[0, SIZE]])

    def planned(self, places: list[int], count: int = 2 * AROUND) -> None:
        status = self.path.stat()
        file = PlannedFile(str(self.path), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        file.extents = [Extent(place, count, number / 1000, 0) for number, place in enumerate(places)]
        file.mapped = [(0, SIZE)]
        write_plan(Plan(["test"], [file]), self.plan_file)

    def test_it_is_read_ahead_within_the_window_which_moves_with_the_touches(self):
        # The windows have a MiB: eight of these.
        places = [number * 7 % 32 * 4 * AROUND for number in range(32)]
        self.planned(places)
        report = self.folder / "report"
        words = (sys.executable, "-c", FOLLOWED, self.path, " ".join(map(str, places)))
        environment = {"DOVETAIL_PREFETCH_WINDOW_MB": "1", "DOVETAIL_PREFETCH_GAP_KB": "0"}
        with mock.patch.dict(os.environ, environment):
            done = self.run_in(Ways(plan=self.plan_file), *words, report=report)
        self.assertEqual(done, (0, b"0\n", b""))
        self.assertIn(f"{self.path}: mapped, ", report.read_text())

    def ahead(self, places: list[int], window: int) -> tuple[mapped_ahead.MappedAhead, list[int]]:
        """A follower of that plan, and where it asks for bytes: without a program."""
        self.planned(places)
        plan = read_plan(self.plan_file)
        asked: list[int] = []
        patched = mock.patch.object(
            os, "posix_fadvise", lambda _, offset, __, advice: advice == os.POSIX_FADV_WILLNEED and asked.append(offset)
        )
        patched.start()
        self.addCleanup(patched.stop)
        with mock.patch.dict(os.environ, DOVETAIL_PREFETCH_GAP_KB="0"):
            made = mapped_ahead.MappedAhead(plan, replay.compact(plan, window), window)
            stack = contextlib.ExitStack()
            self.addCleanup(stack.close)
            made._open(stack)
        return made, asked

    def touched(self, *offsets: int) -> list[mapped_pages.Touched]:
        file = mapped_pages.MappedFile(str(self.path), self.path.stat())
        return [mapped_pages.Touched(file, 1, offset, offset + PAGE) for offset in offsets]

    def test_neighbours_that_the_kernel_gives_do_not_move_the_window(self):
        places = [number * 4 * AROUND for number in range(32)]
        ahead, asked = self.ahead(places, 16 * AROUND)
        ahead._ask()
        self.assertEqual(asked, places[:8])
        # Each touch is told with one that is needed much later.
        for number in range(4):
            ahead._move(self.touched(places[number], places[31 - number]))
        ahead._ask()
        self.assertEqual(asked, places[:12])

    def test_what_the_program_leaves_out_does_not_hold_the_window(self):
        places = [number * 4 * AROUND for number in range(32)]
        ahead, asked = self.ahead(places, 16 * AROUND)
        ahead._ask()
        ahead._move(self.touched(*places[4:8]))
        ahead._ask()
        self.assertEqual(asked, places[:16])

    def test_a_program_that_takes_another_way_gets_no_more(self):
        places = [number * 8 * AROUND for number in range(16)]
        ahead, asked = self.ahead(places, 4 * AROUND)
        ahead._ask()
        for number in range(10):
            ahead._move(self.touched(number * 8 * AROUND + 5 * AROUND))
        ahead._move(self.touched(*places[:2]))
        ahead._ask()
        self.assertEqual(asked, places[:2])
        self.assertIn("given up", " ".join(ahead.lines()))


if __name__ == "__main__":
    unittest.main()
