"""Calls of the library fail at random under a program, which is then killed; or bits of what it has left are changed. What its calls had done is in the file when it is
opened next, or it is told that it is not. DOVETAIL_TEST_ROUNDS: how many faults of each kind."""

import os
import random
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from killed_writer import change, content_after
from support import Case, seed

WRITER = Path(__file__).with_name("killed_writer.py")
ROUNDS = int(os.environ.get("DOVETAIL_TEST_ROUNDS", "5"))
# The library writes and makes durable by these, and the program does not: it writes by others, also what it prints.
CALLS = ("pwritev", "pwritev", "pwritev", "fdatasync", "fsync", "sync_file_range")


def can_inject() -> bool:
    words = ("strace", "-qq", "-e", "trace=none", "-e", "inject=pwritev:error=EIO", "true")
    return (
        shutil.which("strace") is not None and subprocess.run(words, capture_output=True, check=False).returncode == 0
    )


class Possible:
    """What each byte of the file may be, and how long it may be: a change that has failed may have been made in part."""

    def __init__(self) -> None:
        self.bytes = [{0}] * 200_000
        self.sizes = (0, 0)

    def add(self, number: int, kind: str, offset: int, length: int, failed: bool) -> None:
        end = offset + length
        least, most = self.sizes
        value = number % 256 if kind == "write" else 0
        for at in range(offset, end if kind == "write" else len(self.bytes)):
            self.bytes[at] = self.bytes[at] | {value} if failed else {value}
        if failed:
            self.sizes = (least if kind == "write" else min(least, end), max(most, end))
        else:
            self.sizes = (max(least, end), max(most, end)) if kind == "write" else (end, end)

    def objection_to(self, content: bytes) -> str:
        if not self.sizes[0] <= len(content) <= self.sizes[1]:
            return f"{len(content)} bytes, not {self.sizes}"
        wrong = [at for at, value in enumerate(content) if value not in self.bytes[at]]
        return f"byte {wrong[0]} is {content[wrong[0]]}, not {self.bytes[wrong[0]]}" if wrong else ""


class Fault(Case):
    def run_writer(self, number: int, changes: int, *before: str) -> list[bool]:
        """It kills itself after so many changes. Which of them have failed."""
        (self.folder / "file").unlink(missing_ok=True)
        done = self.staged(*before, sys.executable, WRITER, self.folder / "file", number, changes)
        self.assertEqual(done.returncode, -9, done.stderr)
        return [line.endswith(b"failed") for line in done.stdout.splitlines()]

    @unittest.skipUnless(can_inject(), "strace is missing, or may not trace here")
    def test_calls_that_fail_lose_nothing_that_was_acknowledged(self):
        first = seed()
        injected = 0
        for number in range(first, first + ROUNDS):
            numbers = random.Random(number)
            call, error = numbers.choice(CALLS), numbers.choice(("EIO", "ENOSPC"))
            when, last = f"{numbers.randrange(1, 8)}+{numbers.randrange(1, 20)}", numbers.randrange(30, 150)
            if number == first:  # one in which a call fails, whatever the seed is
                call, when, last = "pwritev", "2+10", 60
            told = self.root / "told"
            words = ("strace", "-f", "-qq", "-o", str(told), "-e", f"trace={call}")
            failed = self.run_writer(number, last, *words, "-e", f"inject={call}:error={error}:when={when}")
            injected += told.read_text().count("INJECTED")
            possible, changes = Possible(), random.Random(number)
            for at, has_failed in enumerate(failed, 1):
                kind, offset, length = change(changes)
                if kind in ("write", "truncate"):
                    possible.add(at, kind, offset, length, has_failed)
            read = self.staged("cat", self.folder / "file")
            self.assertEqual(read.returncode, 0, read.stderr)
            self.assertEqual(possible.objection_to(read.stdout), "", f"seed {number}, {call} {error} {when}")
            self.assertEqual(self.logs(), [], f"seed {number}")
        self.assertGreater(injected, 0)

    def test_damage_is_told_or_was_never_durable(self):
        first = seed()
        for number in range(first, first + ROUNDS):
            numbers = random.Random(number)
            last = numbers.randrange(1, 150)
            self.run_writer(number, last)
            segments = [each for each in sorted(self.tier.glob("*/*.log")) if each.stat().st_size != 0]
            if not segments:
                continue  # it had just opened the file again
            segment = numbers.choice(segments)
            content = bytearray(segment.read_bytes())
            at = numbers.randrange(len(content))
            is_torn = numbers.random() < 0.5
            if not is_torn:
                content[at] ^= 1 << numbers.randrange(8)
            else:
                del content[at:]
            segment.write_bytes(content)
            read = self.staged("cat", self.folder / "file")
            if read.returncode != 0:
                self.assertIn(b"cannot be brought into it", read.stderr)
                self.assertEqual(len(self.logs()), 1, f"seed {number}")
                shutil.rmtree(segment.parent)
                continue
            changes = random.Random(number)
            kinds = [change(changes)[0] for _ in range(last)]
            # What is torn off takes with it what says that it was durable.
            durable = 0 if is_torn else max((at for at, kind in enumerate(kinds, 1) if kind == "fsync"), default=0)
            allowed = [content_after(number, changes) for changes in range(durable, last + 1)]
            self.assertTrue(read.stdout in allowed, f"seed {number}, byte {at} of {segment}: {read.stderr}")


if __name__ == "__main__":
    unittest.main()
