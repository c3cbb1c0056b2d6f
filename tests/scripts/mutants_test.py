"""scripts/mutants.py counts a change as noticed only where a test fails by it, and goes on where it was interrupted."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

SOURCE = Path(os.environ.get("DOVETAIL_SOURCE_DIR", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "scripts"))

import mutants  # noqa: E402
from ctest_listing import Test  # noqa: E402
from first_failure import FirstFailure  # noqa: E402
from mutated_copy import FORMS, Change, MutatedCopy  # noqa: E402

LIMIT = 300.0  # seconds, which no test here comes near
SOURCE_FILE = "src/base/sum.cpp"
LINES = ["int sum(int a, int b) {", "  return a + b;", "}", "bool never() {", "  return false;", "}"]


def shell(name: str, script: str) -> Test:
    properties = {"ENVIRONMENT": ["SET_BY_CTEST=yes"], "WORKING_DIRECTORY": "/", "SKIP_RETURN_CODE": 77}
    return Test(name, ("sh", "-c", script), properties)


class CopyWithoutCompiler(MutatedCopy):
    """Its library is the text of its source, and a change that contains no semicolon does not compile."""

    def __init__(self, folder: Path, *tests: Test) -> None:
        super().__init__(folder, ["base"])
        self.file = self.tree / SOURCE_FILE
        self.file.parent.mkdir(parents=True)
        self.file.write_text("\n".join(LINES) + "\n")
        self._tests = {"base": list(tests)}
        self._library_as_it_is = self._library()
        self.usual = {form: {test.name: LIMIT for test in tests} for form in FORMS}

    def _compiles(self) -> bool:
        return ";" in self.file.read_text()

    def _library(self) -> str:
        return self.file.read_text().replace("{}", "false")


class Mutants(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="dovetail-mutants-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_first_failure(self, *tests: Test, limit: float = LIMIT, beside: int = 2) -> tuple[str, str, set[str]]:
        run = FirstFailure({"ADDED": "too"})
        failure = run.run(tests, {test.name: limit for test in tests}, beside)
        return (failure.test.name, failure.how, set(run.passed)) if failure else ("", "", set(run.passed))

    def test_the_first_failure_ends_what_runs_and_begins_nothing(self) -> None:
        begun = self.folder / "begun"
        waits = shell("waits", "sleep infinity")
        ended = self.run_first_failure(waits, shell("fails", "exit 1"), shell("behind", f"touch {begun}"))
        self.assertEqual(ended, ("fails", "Failed", set()))
        self.assertFalse(begun.exists())

    def test_a_test_without_an_end_runs_out_of_time(self) -> None:
        self.assertEqual(
            self.run_first_failure(shell("waits", "sleep infinity"), limit=0.1), ("waits", "Timeout", set())
        )

    def test_a_skipped_test_has_passed_and_sees_its_environment(self) -> None:
        sees = shell("sees", '[ "$SET_BY_CTEST$ADDED" = yestoo ]')
        self.assertEqual(self.run_first_failure(sees, shell("skips", "exit 77")), ("", "", {"sees", "skips"}))

    def notices(self, script: str, line: str = "  return a - b;") -> str | None:
        copy = CopyWithoutCompiler(self.folder / "copy", shell("passes", "true"), shell("judges", script))
        before = copy.file.read_text()
        noticed = copy.notices(Change("base", SOURCE_FILE, 1, LINES[1], line), "short")
        self.assertEqual(copy.file.read_text(), before)
        return noticed

    def test_a_test_that_fails_by_the_change_notices_it(self) -> None:
        script = f"grep -q 'a + b' {self.folder}/copy/tree/{SOURCE_FILE}"
        self.assertEqual(self.notices(script), "judges (Failed)")

    def test_a_failure_that_comes_without_the_change_does_not_count(self) -> None:
        self.assertEqual(self.notices("exit 1"), "")

    def test_a_failure_that_does_not_come_again_does_not_count(self) -> None:
        self.assertEqual(self.notices(f"mkdir {self.folder}/was_here && exit 1; exit 0"), "")

    def test_a_test_that_was_late_for_a_while_does_not_count(self) -> None:
        """Until the change has been taken back and made again, as on a machine that was busy."""
        late = f"mkdir {self.folder}/once || mkdir {self.folder}/twice && sleep infinity; exit 0"
        with mock.patch("mutated_copy.TIMES_USUAL", 0), mock.patch("mutated_copy.LEAST_SECONDS", 0.5):
            self.assertEqual(self.notices(late), "")

    def test_a_change_of_no_instruction_is_none(self) -> None:
        copy = CopyWithoutCompiler(self.folder / "copy", shell("fails", "exit 1"))
        self.assertIsNone(copy.notices(Change("base", SOURCE_FILE, 4, LINES[4], "  return {};"), "short"))

    def test_an_interrupted_sample_goes_on(self) -> None:
        class Interrupted(Exception):
            pass

        class Interruptible(CopyWithoutCompiler):
            def __init__(self, folder: Path, interrupted_at: int) -> None:
                super().__init__(folder)
                self.tried: list[Change] = []
                self.interrupted_at = interrupted_at

            def notices(self, change: Change, form: str) -> str | None:
                self.tried.append(change)
                if len(self.tried) == self.interrupted_at:
                    self._write(change, change.line)  # as a process that is killed leaves it
                    raise Interrupted
                return "a test (Failed)" if len(change.line) % 2 else ""

        arguments = argparse.Namespace(rooms=["base"], number=3, seconds=LIMIT, seed=7)

        def go_on(copy: MutatedCopy, journal: mutants.Journal) -> None:
            with contextlib.redirect_stdout(io.StringIO()):
                mutants.sample(copy, journal, arguments)

        whole, whole_journal = Interruptible(self.folder / "whole", 0), mutants.Journal(self.folder / "whole.jsonl")
        go_on(whole, whole_journal)
        for at in range(1, len(whole.tried) + 1):
            copy, path = Interruptible(self.folder / f"at{at}", at), self.folder / f"at{at}.jsonl"
            journal = mutants.Journal(path)
            journal.append(rooms=["base"], digest=copy.digest())
            self.assertRaises(Interrupted, go_on, copy, journal)
            copy.interrupted_at = 0
            copy.build_as_it_is = lambda: None  # type: ignore[method-assign]
            again = mutants.Journal(path)
            usual = copy.usual
            mutants.begin(copy, again, arguments)
            copy.usual = usual
            go_on(copy, again)
            self.assertEqual(copy.tried, whole.tried[:at] + whole.tried[at - 1 :])
            self.assertEqual([again.seen(form) for form in FORMS], [whole_journal.seen(form) for form in FORMS])


if __name__ == "__main__":
    unittest.main()
