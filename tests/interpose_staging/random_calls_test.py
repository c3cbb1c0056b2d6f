"""Random calls give the same with the library as without it, results, errors, data, file positions, and leave the same files."""

import difflib
import os
import shutil
import unittest

from support import BUILD, Case, seed

PROGRAM = BUILD / "bin" / "staging_random_calls"
PROGRAMS = int(os.environ.get("DOVETAIL_TEST_RANDOM_PROGRAMS", "5"))


class RandomCalls(Case):
    def outcome(self, run, first: int, calls: int) -> tuple:
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        result = run(PROGRAM, self.folder, first, calls)
        files = {file.name: file.read_bytes() for file in sorted(self.folder.iterdir())}
        return result.returncode, result.stdout.decode().splitlines(), files

    def compare(self, calls: int, programs: int = PROGRAMS) -> None:
        first = seed()
        for number in range(first, first + programs):
            plain = self.outcome(self.plain, number, calls)
            self.assertIn(plain[0], (0, 3), plain[1][-3:])
            staged = self.outcome(self.staged, number, calls)
            differences = list(difflib.unified_diff(plain[1], staged[1], lineterm="", n=5))[:40]
            self.assertEqual(differences, [], f"seed {number}, {calls} calls")
            self.assertEqual(staged, plain, f"seed {number}, {calls} calls")
            self.assertEqual(self.logs(), [], f"seed {number}, {calls} calls")
        self.assertTrue(self.was_staged())

    def test_few_calls_in_which_most_files_stay_staged(self):
        # One in eight sets of five stages nothing: its first calls lock or map all files.
        self.compare(40, 8 * PROGRAMS)

    def test_many_calls(self):
        self.compare(400)

    def test_files_that_become_staged_when_they_are_large(self):
        self.configure(from_bytes=5000)
        self.compare(300)


if __name__ == "__main__":
    unittest.main()
