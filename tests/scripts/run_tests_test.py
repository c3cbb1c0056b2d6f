"""A test that fails is run again, alone, and named where it passes then; many that fail, and those under a sanitizer, are not."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "run_tests.py"
# Fails unless its folder has a file of its name, which it makes.
FIRST = "import os, sys; seen = os.path.exists(sys.argv[1]); open(sys.argv[1], 'w'); print('seen', seen); sys.exit(not seen)"


class RunTests(unittest.TestCase):
    def run_tests(
        self, tests: dict[str, list[str]], cache: str = "", options: tuple[str, ...] = ()
    ) -> tuple[int, str, list[str]]:
        """Exit status, all output, and the names of the tests in the order in which they were started."""
        with tempfile.TemporaryDirectory(prefix="dovetail-run-tests-") as name:
            folder = Path(name)
            (folder / "CMakeCache.txt").write_text(cache)
            lines = []
            for test, command in tests.items():
                words = " ".join(f"[==[{word}]==]" for word in command)
                lines += [f"add_test({test} {words})", f"set_tests_properties({test} PROPERTIES SKIP_RETURN_CODE 77)"]
            (folder / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
            command = [sys.executable, SCRIPT, folder, *options]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        return (
            done.returncode,
            done.stdout,
            [line.split(": ")[1] for line in done.stdout.splitlines() if line.lstrip().startswith("Start ")],
        )

    def once(self, name: str) -> list[str]:
        folder = tempfile.TemporaryDirectory(prefix="dovetail-run-tests-")
        self.addCleanup(folder.cleanup)
        return [sys.executable, "-c", FIRST, f"{folder.name}/{name}"]

    def seldom(self, name: str, every: int) -> list[str]:
        """Each so many-th run passes."""
        folder = tempfile.TemporaryDirectory(prefix="dovetail-run-tests-")
        self.addCleanup(folder.cleanup)
        counts = f"echo >>{folder.name}/{name}; test $(($(wc -l <{folder.name}/{name}) % {every})) -eq 0"
        return ["sh", "-c", counts]

    def last_line(self, output: str) -> str:
        return output.rstrip().splitlines()[-1]

    def test_all_pass_or_are_skipped(self):
        status, output, started = self.run_tests({"passes": ["true"], "skipped": ["sh", "-c", "exit 77"]})
        self.assertEqual((status, self.last_line(output)), (0, "1 passed, 0 failed, 1 skipped"))
        self.assertEqual(sorted(started), ["passes", "skipped"])

    def test_one_that_passes_alone_is_named_with_its_first_output(self):
        status, output, started = self.run_tests({"passes": ["true"], "chance": self.once("chance")})
        self.assertEqual((status, self.last_line(output)), (0, "2 passed, 0 failed; only alone passed chance"), output)
        self.assertIn("--- chance failed after 0 s; its last lines:\nseen False\n", output)
        self.assertEqual(sorted(started), ["chance", "chance", "passes"])

    def test_one_that_fails_twice_fails(self):
        status, output, started = self.run_tests({"fails": ["false"], "chance": self.once("chance")})
        self.assertEqual((status, self.last_line(output)), (1, "1 passed, 1 failed; only alone passed chance"), output)
        self.assertEqual(sorted(started), ["chance", "chance", "fails", "fails"])

    def test_many_are_not_run_again(self):
        status, output, started = self.run_tests({f"chance{number}": self.once(str(number)) for number in range(4)})
        self.assertEqual((status, self.last_line(output)), (1, "0 passed, 4 failed"), output)
        self.assertEqual(len(started), 4)

    def test_nothing_is_run_again_under_a_sanitizer_or_where_once_is_asked_for(self):
        for cache, options in (("DOVETAIL_SANITIZE:STRING=thread\n", ()), ("", ("--once",))):
            tests = {"passes": ["true"], "chance": self.once("chance")}
            status, output, started = self.run_tests(tests, cache, options)
            self.assertEqual((status, self.last_line(output)), (1, "1 passed, 1 failed"), output)
            self.assertEqual(len(started), 2)

    def test_one_that_looks_for_rare_faults_is_not_run_again(self):
        status, output, started = self.run_tests({"store_kill_test": self.once("kill"), "chance": self.once("chance")})
        self.assertEqual((status, self.last_line(output)), (1, "0 passed, 2 failed"), output)
        self.assertEqual(len(started), 2)

    def test_the_options_of_ctest_hold_for_the_second_run(self):
        options = ("--repeat", "until-fail:3", "-R", "chance")
        status, output, _ = self.run_tests({"passes": ["true"], "chance": self.seldom("seldom", 2)}, options=options)
        self.assertEqual((status, self.last_line(output)), (1, "0 passed, 1 failed"), output)

    def test_one_whose_program_is_missing_fails(self):
        status, output, _ = self.run_tests({"passes": ["true"], "missing": ["/nonexistent/program"]})
        self.assertEqual(status, 1, output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
