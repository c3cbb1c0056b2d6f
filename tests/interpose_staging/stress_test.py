"""Threads make all kinds of calls on the same files at once: what each has written it reads again, and what is left is whole.

Under ThreadSanitizer the program is linked with what libdovetail-staging.so is made of, since a library with it cannot be preloaded.
"""

import os
import subprocess
import unittest

from support import BUILD, SECONDS, Case, seed

PROGRAM = BUILD / "bin" / "staging_stress"
IS_SANITIZED = bool(os.environ.get("DOVETAIL_SANITIZE"))
ROUNDS = int(os.environ.get("DOVETAIL_TEST_ROUNDS", "60" if IS_SANITIZED else "120"))
PROGRAMS = int(os.environ.get("DOVETAIL_TEST_RANDOM_PROGRAMS", "1"))


class Stress(Case):
    def environment(self) -> dict:
        environment = super().environment()
        if IS_SANITIZED:
            del environment["LD_PRELOAD"]
            # What translates addresses would make calls of the library's before it can.
            environment["TSAN_OPTIONS"] = "symbolize=0:" + environment.get("TSAN_OPTIONS", "")
        return environment

    def check(self, number: int) -> None:
        words = [str(PROGRAM), str(self.folder), str(number), str(ROUNDS)]
        with (self.root / "told").open("w+b") as told:
            done = subprocess.run(words, env=self.environment(), stderr=told, check=False, timeout=SECONDS)
            told.seek(0)
            lines = [line for line in told.read().decode().splitlines() if not line.startswith("dovetail: ")]
        self.assertEqual((done.returncode, lines), (0, []), f"seed {number}")
        self.assertEqual(self.logs(), [], f"seed {number}")

    def test_threads_use_the_same_files(self):
        first = seed()
        for number in range(first, first + PROGRAMS):
            self.check(number)
        self.assertTrue(self.was_staged())


if __name__ == "__main__":
    unittest.main()
