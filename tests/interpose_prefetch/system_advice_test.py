"""Rules and patterns with `--system`: what static programs, system calls of a program's own, io_uring and mapped memory read is seen by the kernel's events."""

import contextlib
import os
import subprocess
import sys
import unittest
from collections.abc import Callable
from pathlib import Path

from followed import STATIC, STEP, UNSEEN, System, unavailable
from support import BUILD, PAGE, Ways, hangs


class Guessed(System):
    """By rules and by patterns. What comes by itself lies outside of all that the program and the kernel's own reading ahead read."""

    DETECT = Ways(detection=True, system=True)
    RULE = {"File": {"Path": "data", "BlockSize": STEP, "CacheSize": 8, "ReadAheadSize": 3, "WillNeed": {}}}

    def setUp(self):
        super().setUp()
        self.path = self.file("data", 16 * STEP)
        self.forget(self.path)
        self.report = self.folder / "report.txt"

    def rules(self, **changes: object) -> Ways:
        rule = {"File": {**self.RULE["File"], "Path": str(self.path), **changes}}
        return Ways(configuration=self.configuration(rule), system=True)

    def line(self, path: Path | None = None) -> list[str]:
        """What the report says of the file."""
        lines = [line for line in self.report.read_text().splitlines() if str(path or self.path) in line]
        self.assertLessEqual(len(lines), 1)
        return lines[0].split() if lines else []

    def did(self) -> list[str]:
        """The same without the waiting, which the kernel's events do not show."""
        line = self.line()
        self.assertEqual(line[:4], ["-"] * 4)
        return line[4:]

    def check(self, ways: Ways, *words: object, **options):
        self.assertEqual(self.run_in(ways, *words, report=self.report, **options), (0, b"", b""))

    def strides(self, *ways_of_reading: object) -> str:
        """Reads at a constant distance, and then waits until the next one is there."""
        reads = " ".join(str(number * STEP) for number in range(8))
        way = " ".join(map(str, ways_of_reading))
        return f"{way} {self.path} {reads} && exec {STATIC} {self.path} cached {8 * STEP} cached {9 * STEP}"

    def test_a_static_program_by_its_pattern(self):
        reads = [number * STEP for number in range(8)]
        self.check(self.DETECT, STATIC, self.path, *reads, "cached", 8 * STEP, "cached", 9 * STEP)
        self.assertTrue(self.line())

    def check_each_way_of_reading(self, ways: Ways, script: Callable[[str], str]) -> None:
        """`script`: what a shell runs, for a way of reading that no library sees."""
        for way in ("bare", "ring", "worker", "mapped"):
            with self.subTest(way):
                self.forget(self.path)
                status, _, _ = self.run_as_it_is(UNSEEN, way, self.path, 0)
                if status == 77:
                    continue  # this system has no io_uring
                self.forget(self.path)
                self.check(ways, "sh", "-c", script(way))

    def test_system_calls_rings_and_mapped_memory_by_their_pattern(self):
        self.check_each_way_of_reading(self.DETECT, lambda way: self.strides(UNSEEN, way))

    def test_a_pattern_that_parent_and_child_have_together(self):
        script = (
            "import os, sys\n"
            "path, static, step = sys.argv[1], sys.argv[2], int(sys.argv[3])\n"
            "file = os.open(path, os.O_RDONLY)\n"
            "for number in range(8):\n"
            "    if os.fork() == 0:\n"
            "        os.pread(file, 10, number * step)\n"
            "        os._exit(0)\n"
            "    os.wait()\n"
            "os.execv(static, [static, path, 'cached', str(8 * step)])\n"
        )
        self.check(self.DETECT, sys.executable, "-c", script, self.path, STATIC, STEP)

    def test_a_static_program_by_a_rule(self):
        self.check(self.rules(), STATIC, self.path, 4 * STEP, "cached", 6 * STEP - PAGE, "cached", 6 * STEP)
        asked, _, _, blocks, *_ = self.did()
        self.assertEqual((float(asked) > 2, blocks), (True, "2"))
        self.assertFalse(self.cached(9 * STEP))

    def test_rings_and_mapped_memory_by_a_rule(self):
        behind = f"exec {STATIC} {self.path} cached {10 * STEP}"
        self.check_each_way_of_reading(self.rules(), lambda way: f"{UNSEEN} {way} {self.path} {8 * STEP} && {behind}")

    def test_blocks_are_released(self):
        words = [word for number in range(15) for word in ("cached", number * STEP, number * STEP)]
        self.check(self.rules(CacheSize=3), STATIC, self.path, *words)
        self.assertGreater(float(self.did()[1]), 4)

    def test_a_rule_for_a_program_is_for_that_one(self):
        words = (STATIC, self.path, 4 * STEP)
        self.check(self.rules(Processes="prefetch_stat*"), *words, "cached", 6 * STEP - PAGE)
        self.forget(self.path)
        self.check(self.rules(Processes="another"), *words)
        self.assertEqual(self.line(), [])
        self.assertFalse(self.cached(6 * STEP - PAGE))

    def test_a_part_without_blocks_is_left_alone(self):
        self.check(self.rules(WillNeed={"Offset": 8 * STEP}, Random={"Length": 8 * STEP}), STATIC, self.path, 4 * STEP)
        self.assertEqual(self.did()[0], "0.0")
        self.assertFalse(self.cached(6 * STEP))

    def test_a_file_that_is_cached_is_left_to_the_system(self):
        for _ in range(20):  # a kernel may drop a page in between
            self.path.read_bytes()
            self.check(self.rules(), STATIC, self.path, 4 * STEP, 6 * STEP, 8 * STEP)
            if self.did()[3] == "1":
                return
        self.fail("blocks are noted though all of the file is cached")

    def test_only_files_of_the_rules_are_in_the_report_and_small_ones_are_left(self):
        small = self.file("small", 64 << 10)
        both = {"Directory": {"Path": str(self.folder), "BlockSize": STEP, "WillNeed": {}}}
        ways = Ways(configuration=self.configuration(both), system=True)
        self.check(ways, "sh", "-c", f"{STATIC} {small} && exec {STATIC} {self.path}")
        self.assertEqual((self.line(small), self.did()[3]), ([], "1"))

    def test_what_leaves_the_plan_shows_its_pattern(self):
        self.assertEqual(self.observe(STATIC, self.path, 15 * STEP, 14 * STEP, system=True)[0], 0)
        self.forget(self.path)
        ways = Ways(plan=self.plan_file, detection=True, system=True)
        reads = [number * STEP // 2 for number in range(24)]
        self.check(ways, STATIC, self.path, *reads, "cached", 12 * STEP)
        # In the table of the plan, and in that of detection.
        self.assertEqual(sum(str(self.path) in line for line in self.report.read_text().splitlines()), 2)

    def test_a_plan_beside_a_rule_for_another_file(self):
        steps = [number * 7 % 16 * STEP for number in range(1, 16)]
        self.assertEqual(self.observe(STATIC, self.path, *steps, system=True)[0], 0)
        self.forget(self.path)
        rule = {"File": {"Path": str(self.folder / "other"), "WillNeed": {}}}
        ways = Ways(plan=self.plan_file, configuration=self.configuration(rule), system=True)
        self.check(ways, STATIC, self.path, *steps, "cached", steps[-1])
        self.assertEqual(self.line()[0], str(1 + len(steps)))

    def test_a_file_that_another_takes_the_place_of(self):
        other = self.file("other", 16 * STEP, seed=2)
        script = f"{STATIC} {self.path} {' '.join(str(number * STEP) for number in range(8))} && mv {other} {self.path} && exec {STATIC} {self.path} {STEP} {2 * STEP}"
        for ways in (self.DETECT, self.rules()):
            self.check(ways, "sh", "-c", script)
            self.file("other", 16 * STEP, seed=2)

    def test_files_are_closed_when_they_are_not_needed(self):
        environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"))
        words = [sys.executable, "-m", "dovetail.cli", "run", "--detect", "--system", "--", str(STATIC), str(self.path)]
        words += [*(str(number * STEP) for number in range(8)), "cached", str(8 * STEP), "wait"]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, env=environment)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.kill)
        while not self.cached(8 * STEP):
            self.assertIsNone(process.poll())
        observer = self.observer_of(process)

        def open_files() -> list[str]:
            folder = Path(f"/proc/{observer}/fd")
            found = []
            for name in folder.iterdir():
                with contextlib.suppress(OSError):
                    found.append(os.readlink(name))
            return found

        while str(self.path) in open_files():
            self.assertIsNone(process.poll())
        hangs.finish(process, input=b"\n", timeout=120)
        self.assertEqual(process.returncode, 0)


if __name__ == "__main__":
    why = unavailable()
    if why:
        print(f"skipped: {why}")
        sys.exit(77)
    unittest.main(verbosity=2)
