"""What the tests of staged programs share: a folder of files, a tier, and programs with the library and without it."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["DOVETAIL_BUILD_DIR"]).resolve()
LIBRARY = BUILD / "lib" / "libdovetail-staging.so"
COMMAND = BUILD / "bin" / "dovetail-staging"
__all__ = ["BEGINNING", "BUILD", "COMMAND", "SECONDS", "Case", "Compared", "seed"]
# Of programs that are compared.
BEGINNING = """
import ctypes, errno, fcntl, os, socket, struct, subprocess, sys, threading
library = ctypes.CDLL(None, use_errno=True)
path = sys.argv[1]
def opened(name=path, flags=0):
    return os.open(name, os.O_RDWR | os.O_CREAT | flags, 0o644)
"""
SECONDS = 60  # until a program is taken for one that hangs


def seed() -> int:
    """Another one each time, printed, or that of DOVETAIL_TEST_SEED."""
    chosen = int(os.environ.get("DOVETAIL_TEST_SEED", random.randrange(1 << 30)))
    print("DOVETAIL_TEST_SEED is", chosen, flush=True)
    return chosen


class Case(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="dovetail-staged-")).resolve()
        self.addCleanup(shutil.rmtree, self.root)
        self.tier = self.root / "tier"
        self.tier.mkdir()
        for ending in ("", ".marks"):
            (self.tier / f".dovetail-{os.geteuid()}{ending}.lock").touch(0o600)
        self.forget_staged()
        self.folder = self.root / "files"
        self.folder.mkdir()
        self.configure()

    def configure(self, **group) -> None:
        names = [str(self.folder / ("*/" * depth + "*")) for depth in range(5)]
        self.configuration = self.root / "configuration.json"
        files = [{"names": names, "tier": str(self.tier), "from_bytes": 0, **group}]
        self.configuration.write_text(json.dumps({"files": files}))

    def environment(self) -> dict:
        return dict(os.environ, DOVETAIL_STAGING_CONFIGURATION=str(self.configuration), LD_PRELOAD=str(LIBRARY))

    def plain(self, *words, **options) -> subprocess.CompletedProcess:
        return subprocess.run([*map(str, words)], capture_output=True, check=False, timeout=SECONDS, **options)

    def staged(self, *words, **options) -> subprocess.CompletedProcess:
        return self.plain(*words, env=self.environment(), **options)

    def started(self, *words, **options) -> subprocess.Popen:
        process = subprocess.Popen(
            [*map(str, words)], env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options
        )

        def end():
            process.kill()
            process.communicate()

        self.addCleanup(end)
        return process

    def say(self, process, expected: bytes) -> None:
        self.assertEqual(process.stdout.readline(), expected)

    def go_on(self, process) -> None:
        process.stdin.write(b"\n")
        process.stdin.flush()

    def wait_until_it_waits(self, process, name: str) -> None:
        """For the lock of a file or folder in the tier."""
        waits = (f" {process.pid} ", f":{(self.tier / name).stat().st_ino} ", "-> FLOCK")
        while process.poll() is None and not any(
            all(each in line for each in waits) for line in Path("/proc/locks").read_text().splitlines()
        ):
            pass
        self.assertIsNone(process.poll(), "it has not waited")

    def forget_staged(self) -> None:
        os.utime(self.tier, ns=(0, 0))

    def was_staged(self) -> bool:
        """Something was, since `forget_staged`: a folder was made in the tier."""
        return self.tier.stat().st_mtime_ns != 0

    def logs(self) -> list[str]:
        """The folders of logs that are in the tier."""
        return sorted(entry.name for entry in self.tier.iterdir() if entry.is_dir())


class Compared(Case):
    """Programs in Python, with the library and without it. `path` is the file in `self.file`."""

    def setUp(self):
        super().setUp()
        self.file = self.folder / "file"

    def run_both(self, program: str) -> bytes:
        """What it prints with the library, which is what it prints without."""
        words = (sys.executable, "-c", BEGINNING + program, self.file)
        plain = self.plain(*words)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        content = self.file.read_bytes() if self.file.exists() else None
        for each in self.folder.iterdir():
            each.unlink()
        self.forget_staged()
        done = self.staged(*words)
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
        self.assertEqual(self.file.read_bytes() if self.file.exists() else None, content, done.stderr)
        self.assertEqual(self.logs(), [])
        return done.stderr

    def run_staged(self, program: str) -> bytes:
        error = self.run_both(program)
        self.assertTrue(self.was_staged(), error)
        return error
