"""A Go program, which is linked statically and asks the kernel itself: `--system` sees and helps it, and without that Dovetail says that it cannot."""

import sys
import unittest

from followed import STEP, System, unavailable
from support import BUILD, PAGE, Ways

GO = BUILD / "bin" / "prefetch_goroutines"
READ_AT_ONCE = 16


class Go(System):
    STEPS = (5 * STEP, 2 * STEP, 7 * STEP, 4 * STEP)

    def setUp(self):
        super().setUp()
        # What one request brings in is left to the system.
        self.path = self.file("larger", 16 * STEP)
        self.forget(self.path)

    def text(self, *offsets: int) -> bytes:
        """What the program writes if it reads at the beginning, and there."""
        content = self.path.read_bytes()
        return b"".join(content[at : at + READ_AT_ONCE] for at in (0, *offsets))

    def observed(self) -> bytes:
        plain = self.run_as_it_is(GO, self.path, *self.STEPS)
        self.assertEqual(plain, (0, self.text(*self.STEPS), b""))
        self.forget(self.path)
        self.assertEqual(self.observe(GO, self.path, *self.STEPS, system=True), plain)
        self.forget(self.path)
        return plain[1]

    def test_reads_in_several_threads_are_in_the_plan_in_their_order(self):
        self.observed()
        self.assertEqual(self.extents_of(self.path), [(at, PAGE) for at in (0, *self.STEPS)])

    def test_what_io_copy_reads_is_in_the_plan(self):
        status, output, errors = self.observe(GO, self.path, "copy", system=True)
        self.assertEqual((status, output, errors), (0, self.text() + self.path.read_bytes(), b""))
        # The kernel does not tell of pages that it hands out while others of the same request are still on their way.
        extents = self.extents_of(self.path)
        self.assertGreater(sum(count for _, count in extents), self.path.stat().st_size * 9 // 10)
        self.assertEqual(sum(extents[-1]), self.path.stat().st_size)

    def test_a_plan_reads_ahead_for_it(self):
        text = self.observed()
        # Each page is there before the program reads it.
        words = [word for at in self.STEPS for word in ("cached", at, at)]
        found = self.run_with_plan(GO, self.path, *words, system=True, environment={"DOVETAIL_PREFETCH_GAP_KB": "0"})
        self.assertEqual(found, (0, text, b""))
        self.assertFalse(self.cached(6 * STEP))

    def test_its_pattern_is_recognised_across_threads(self):
        steps = [number * STEP for number in range(1, 8)]
        words = (*steps, "cached", 8 * STEP, "cached", 9 * STEP)
        found = self.run_in(Ways(detection=True, system=True), GO, self.path, *words)
        self.assertEqual(found, (0, self.text(*steps), b""))

    def test_a_rule_reads_ahead_for_it(self):
        rule = {"File": {"Path": str(self.path), "BlockSize": STEP, "WillNeed": {}}}
        ways = Ways(configuration=self.configuration(rule), system=True)
        self.assertEqual(self.run_in(ways, GO, self.path, "cached", STEP), (0, self.text(), b""))


class Unseen(System):
    """Without the kernel's events."""

    def test_it_is_said_that_it_cannot_be_seen(self):
        plain = self.run_as_it_is(GO, self.path, STEP)
        status, output, errors = self.observe(GO, self.path, STEP)
        self.assertEqual((status, output, errors.count(b"\n")), (*plain[:2], 1))
        self.assertIn(b"is linked statically", errors)
        self.assertEqual(self.plan()["files"], [])
        self.observe("cat", self.path)
        for ways in (Ways(plan=self.plan_file), Ways(detection=True)):
            status, output, errors = self.run_in(ways, GO, self.path, STEP)
            self.assertEqual((status, output, errors.count(b"\n")), (*plain[:2], 1))
            self.assertIn(b"is linked statically", errors)
            self.assertIn(b"--system", errors)


if __name__ == "__main__":
    if not GO.is_file():
        print("skipped: Go is not installed")
        sys.exit(77)
    why = unavailable()
    if why:
        print(f"only what needs no event of the kernel: {why}")
        del Go
    unittest.main(verbosity=2)
