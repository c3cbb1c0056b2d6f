"""Random calls give the same as they are, observed, with a plan, by rules and with detection, from within and from outside: results, errors, errno, data, file positions."""

import functools
import os
import random
import subprocess
import unittest
from pathlib import Path

from followed import unavailable
from support import BUILD, Case, Ways, need

PROGRAM = BUILD / "bin" / "prefetch_random_calls"
CHECKED = BUILD / "bin" / "prefetch_random_calls_checked"
CALLS = 1500


class RandomCalls(Case):
    def setUp(self):
        super().setUp()
        self.files = [self.file(name, 1_100_000 + 300_000 * number, number) for number, name in enumerate("abc")]

    def seed(self) -> int:
        seed = int(os.environ.get("DOVETAIL_TEST_SEED", random.randrange(1 << 30)))
        print("DOVETAIL_TEST_SEED is", seed, flush=True)
        return seed

    def rules(self) -> dict:
        """A part for each kind of advice, small blocks, and few of them."""
        kinds = ("WillNeed", "Random", "Sequential", "DontNeed", "Normal", "WillNeed")
        parts: dict[str, list[dict]] = {}
        for number, kind in enumerate(kinds):
            last = number == len(kinds) - 1
            part = {"Offset": number * 100_000} if last else {"Offset": number * 100_000, "Length": 100_000}
            parts.setdefault(kind, []).append(part)
        sizes = {"BlockSize": 16384, "CacheSize": 3, "ReadAheadSize": 2}
        return {"Directory": {"Path": str(self.folder), **sizes, **parts}}

    def ways(self) -> list:
        """What each way is, and how the program runs by it. The first one writes the plan."""
        return [
            ("observed", self.observe),
            ("with its plan", self.run_with_plan),
            ("with detection", self.run_with_detection),
            ("with both", functools.partial(self.run_with_detection, plan=True)),
            ("by rules", functools.partial(self.run_with_rules, self.rules())),
            (
                "traced",
                functools.partial(self.run_in, Ways(self.plan_file, detection=True), trace=self.folder / "trace"),
            ),
        ]

    def compare(self, seed: int, program: Path = PROGRAM, ways: list | None = None) -> None:
        words = (program, self.folder, seed, CALLS)
        plain = self.run_as_it_is(*words)
        written = (self.folder / "out").read_bytes()
        self.assertEqual(plain[0], 3, f"seed {seed}: {plain}")
        self.assertEqual(plain[1].count(b"\n") > CALLS * 0.6, True, plain)
        for what, run in ways or self.ways():
            self.forget(*self.files)
            found = run(*words)
            for one, other in zip(plain[1].splitlines(), found[1].splitlines(), strict=False):
                self.assertEqual(other, one, f"seed {seed}, {what}")
            self.assertEqual(found[:2], plain[:2], f"seed {seed}, {what}")
            self.assertEqual((self.folder / "out").read_bytes(), written, f"seed {seed}, {what}")

    def test_with_the_plan_of_the_same_calls(self):
        seed = self.seed()
        for number in range(int(os.environ.get("DOVETAIL_TEST_ROUNDS", "4"))):
            self.compare(seed + number)

    def test_by_the_events_of_the_kernel(self):
        why = unavailable()
        if why:
            self.skipTest(why)
        both = Ways(plan=self.plan_file, detection=True, system=True)
        ways = [
            ("observed", functools.partial(self.observe, system=True)),
            ("with its plan", functools.partial(self.run_with_plan, system=True)),
            ("with both", functools.partial(self.run_in, both)),
        ]
        seed = self.seed()
        for number in range(2):
            self.compare(seed + number, ways=ways)

    def test_calls_that_check_sizes(self):
        names = subprocess.run([need(self, "nm"), "-D", CHECKED], capture_output=True, text=True, check=True).stdout
        for name in ("__read_chk", "__pread_chk", "__fread_chk", "__fgets_chk"):
            self.assertIn(name, names, "the program has been built without them")
        self.compare(self.seed(), CHECKED)

    def test_by_the_rules_of_an_advisor(self):
        self.advisor_socket()
        self.start_advisor(self.configuration(self.rules()), "--stay")
        self.compare(self.seed(), ways=[("advised", functools.partial(self.run_in, Ways(advised=True)))])

    def test_with_the_plan_of_other_calls(self):
        self.assertEqual(self.observe(PROGRAM, self.folder, 5, CALLS)[0], 3)
        for seed in (6, 7):
            words = (PROGRAM, self.folder, seed, CALLS)
            self.forget(*self.files)
            self.assertEqual(self.run_with_plan(*words)[:2], self.run_as_it_is(*words)[:2])


if __name__ == "__main__":
    unittest.main(verbosity=2)
