"""How long a program waits in its reads: observed and with a plan in the same way, and what was saved."""

import json
import re
import sys
import unittest

from support import BUILD, Case, plan_show, read_plan

# Its reads move bytes into a pipe, which takes them as fast as a thread empties it: as long as `delay` milliseconds each. Between the reads it computes, too
# shortly to end what is joined. It prints the nanoseconds of its reads, as it sees them, and of all of it.
READER = """
import os, sys, threading, time
path, count, delay = sys.argv[1], *map(int, sys.argv[2:])
piece = 128 << 10
descriptor = os.open(path, os.O_RDONLY)
inside = 0
begun = time.monotonic_ns()
for number in range(count):
    out, into = os.pipe()
    def drain():
        time.sleep(delay / 1000)
        left = piece
        while left:
            left -= len(os.read(out, left))
    thread = threading.Thread(target=drain)
    thread.start()
    before = time.monotonic_ns()
    moved = 0
    while moved < piece:
        moved += os.sendfile(into, descriptor, None, piece - moved)
    inside += time.monotonic_ns() - before
    thread.join()
    os.close(out), os.close(into)
    until = time.monotonic_ns() + 500_000
    while time.monotonic_ns() < until:
        pass
print(inside, time.monotonic_ns() - begun)
"""
DELAY = 5  # milliseconds
COUNT = 40
STREAM = BUILD / "bin" / "prefetch_slow_stream"


class Waiting(Case):
    def setUp(self):
        super().setUp()
        self.path = self.file("data", 8 << 20)
        self.report = self.folder / "report.txt"

    def words(self, count: int, delay: int):
        return sys.executable, "-c", READER, self.path, count, delay

    def observed(self, *words: object) -> tuple[float, bytes]:
        """The seconds in the plan of the file, and what the program printed."""
        status, output, errors = self.observe(*words)
        self.assertEqual((status, errors), (0, b""))
        return self.planned_seconds(), output

    def planned_seconds(self) -> float:
        (file,) = [file for file in read_plan(self.plan_file).files if file.path == str(self.path)]
        return sum(extent.waited for extent in file.extents)

    def reported(self, *words: object, system: bool = False) -> list[str]:
        """The columns of the file with this plan, cold."""
        self.forget(self.path)
        status, _, errors = self.run_with_plan(*words, report=self.report, system=system)
        self.assertEqual(status, 0, errors)
        (line,) = [line for line in self.report.read_text().splitlines() if line.endswith(str(self.path))]
        return line.split()

    def test_what_is_computed_between_joined_reads_is_no_waiting(self):
        seconds, output = self.observed(*self.words(COUNT, DELAY))
        inside, whole = (int(word) / 1e9 for word in output.split())
        # The thread that empties the pipe may begin before the read does.
        self.assertGreaterEqual(seconds, COUNT * DELAY / 2000)
        self.assertLessEqual(seconds, inside)
        self.assertGreater(whole, inside + COUNT * 0.0005)
        self.assertLess(len(self.extents_of(self.path)), COUNT, "none were joined")

    def test_what_was_saved_is_in_the_report(self):
        seconds, _ = self.observed(*self.words(COUNT, DELAY))
        _, _, waited, now, observed, saved, *_ = self.reported(*self.words(COUNT, 0))
        self.assertEqual(observed, f"{seconds:.3f}")
        self.assertAlmostEqual(float(saved), float(observed) - float(now), delta=0.0021)
        self.assertLessEqual(int(waited), COUNT)
        self.assertLess(float(now), seconds)
        # With the modules of the interpreter.
        pattern = r"the program waited (\S+) s in reads of \d+ of these files, and (\S+) s when it was observed: (\S+) s were saved"
        now_of_all, observed_of_all, saved_of_all = map(float, *re.findall(pattern, self.report.read_text()))
        self.assertGreaterEqual(observed_of_all, float(observed))
        self.assertAlmostEqual(saved_of_all, observed_of_all - now_of_all, delta=0.0021)

    def test_of_a_part_of_the_plan_the_same_part_is_compared(self):
        seconds, _ = self.observed(*self.words(COUNT, DELAY))
        _, _, _, _, observed, *_ = self.reported(*self.words(COUNT // 8, 0))
        self.assertLess(float(observed), seconds / 2)
        self.assertGreaterEqual(float(observed), DELAY / 2000)

    def test_slower_than_observed_is_said_as_it_is(self):
        self.observed(*self.words(COUNT, 0))
        _, _, _, _, _, saved, *_ = self.reported(*self.words(COUNT, DELAY))
        self.assertLess(float(saved), 0)

    def test_a_plan_that_does_not_know_says_nothing(self):
        """Plans of before, and those of the kernel's events."""
        self.observed(*self.words(4, DELAY))
        plan = self.plan()
        for file in plan["files"]:
            for extent in file["extents"]:
                del extent["waited"]
        self.plan_file.write_text(json.dumps(plan))
        _, _, _, _, observed, saved, *_ = self.reported(*self.words(4, 0))
        self.assertEqual((observed, saved), ("-", "-"))
        self.assertNotIn("saved by", self.report.read_text())
        self.assertNotIn("were saved", self.report.read_text())

    def test_of_plans_that_are_joined_nothing_counts_twice(self):
        seconds, _ = self.observed(*self.words(4, DELAY))
        self.assertEqual(plan_show.merge([self.plan_file, self.plan_file], self.plan_file), 0)
        self.assertAlmostEqual(self.planned_seconds(), seconds, places=5)
        # A later run that came to the middle of a run of pages cuts it into three.
        middle = self.folder / "middle.json"
        plan = self.plan()
        (file,) = [file for file in plan["files"] if file["path"] == str(self.path)]
        first = file["extents"][0]
        file["extents"] = [dict(first, offset=first["offset"] + 4096, bytes=4096, at=0, waited=0)]
        middle.write_text(json.dumps(dict(plan, files=[file])))
        self.assertEqual(plan_show.merge([self.plan_file, middle], self.plan_file), 0)
        self.assertIn((first["offset"] + 4096, 4096), self.extents_of(self.path))
        self.assertAlmostEqual(self.planned_seconds(), seconds, places=5)

    def test_streams_of_the_c_library(self):
        for way in ("fread", "fgets", "fgetc", "fseek"):
            status, output, errors = self.run_as_it_is(STREAM, self.path, way, DELAY)
            if status == 77:
                self.skipTest(errors.decode())
            seconds, output = self.observed(STREAM, self.path, way, DELAY)
            inside = int(output) / 1e9
            self.assertGreaterEqual(seconds, DELAY / 1000, way)
            self.assertLessEqual(seconds, inside, way)


if __name__ == "__main__":
    unittest.main(verbosity=2)
