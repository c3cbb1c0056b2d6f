"""Ten thousand open files, and two thousand processes, in every way to run a program: the results are equal, nothing is left behind, and what runs beside the
program has an end to its memory. Less of both unless DOVETAIL_TEST_LONG is set."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

from followed import unavailable
from support import BUILD, Case, Ways, system_observer

CROWD = BUILD / "bin" / "prefetch_crowd"
LONG = bool(os.environ.get("DOVETAIL_TEST_LONG"))
FILES = 10_000 if LONG else 1_000
ROUNDS = 10 if LONG else 1
BYTES = 2 << 20
# Shared memory and code are counted, too: what was touched of 120 MiB for patterns and 8 for rules, and 16 of what the kernel tells.
MOST_MEBIBYTES = 192

# In the place of the observer: starts it, and writes how much memory it had at most.
MEASURED = """
import resource, subprocess, sys
status = subprocess.run([{program!r}, *sys.argv[1:]], close_fds=False).returncode
with open({file!r}, "w") as file:
    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(status)
"""


class Crowd(Case):
    def setUp(self):
        super().setUp()
        self.memory = self.folder / "memory"
        self.socket = self.folder / "advisord.sock"
        self.mark = f"DOVETAIL_TEST_MARK={self.folder}"
        environment = {"DOVETAIL_ADVISORD_SOCKET": str(self.socket), "DOVETAIL_TEST_MARK": str(self.folder)}
        for patch in (mock.patch.dict(os.environ, environment), self.measured_observer()):
            patch.start()
            self.addCleanup(patch.stop)
        self.data = self.folder / "data"
        self.data.mkdir()

    def measured_observer(self):
        path = self.folder / "observer"
        if unavailable():
            return mock.patch.object(system_observer, "PROGRAM", "dovetail-no-such-program")
        content = MEASURED.format(program=system_observer._program(), file=str(self.memory))
        path.write_text(f"#!{sys.executable}\n{content}")
        path.chmod(0o755)
        return mock.patch.object(system_observer, "_program", return_value=str(path))

    def left_behind(self) -> list[str]:
        """Processes that were started here, but for this one. Shared memory has no name, and ends with them."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in (process / "environ").read_bytes().split(b"\0"):
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        return found

    def check_memory(self, who: str, kibibytes: int) -> None:
        print(f"{who}: {kibibytes / 1024:.1f} MiB at most", flush=True)
        self.assertLess(kibibytes, MOST_MEBIBYTES << 10)

    @contextlib.contextmanager
    def advisor(self, configuration: Path):
        words = [sys.executable, "-m", "dovetail.cli", "advisord", "--configuration", str(configuration), "--stay"]
        environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"))
        with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment) as process:
            try:
                self.assertTrue(process.stdout.readline())
                yield
                status = Path(f"/proc/{process.pid}/status").read_text()
                peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
                self.check_memory("advisor", int(peak.split()[1]))
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait()
        self.assertFalse(self.socket.exists())

    def check(self, *words: object) -> None:
        given = [str(word) for word in (CROWD, *words)]
        plain = self.run_as_it_is(*given)
        self.assertEqual((plain[0], plain[2]), (0, b""))
        rule = {"Path": str(self.data), "BlockSize": 64 << 10, "ReadAheadSize": 4, "WillNeed": {}}
        configuration = self.configuration({"Directory": rule})
        followed = not unavailable()
        ways = {
            "plan": Ways(plan=self.plan_file),
            "rules": Ways(configuration=configuration),
            "detect": Ways(detection=True),
        }
        self.assertEqual(self.observe(*given), plain)
        for name, way in ways.items():
            with self.subTest(name):
                self.cold()
                self.assertEqual(self.run_in(way, *given), plain)
        with self.subTest("advised"), self.advisor(configuration):
            self.cold()
            self.assertEqual(self.run_in(Ways(advised=True), *given), plain)
        if followed:
            self.assertEqual(self.observe(*given, system=True), plain)
            self.check_memory("observer, log", int(self.memory.read_text()))
            for name in ways:
                with self.subTest(name, system=True):
                    self.cold()
                    way = Ways(
                        plan=ways[name].plan,
                        configuration=ways[name].configuration,
                        detection=ways[name].detection,
                        system=True,
                    )
                    self.assertEqual(self.run_in(way, *given), plain)
                    self.check_memory(f"observer, {name}", int(self.memory.read_text()))
        os.environ.pop("DOVETAIL_TEST_MARK")
        self.assertEqual(self.left_behind(), [])

    def cold(self) -> None:
        self.forget(*(path for path in self.data.iterdir() if int(path.name) % 100 == 0))

    def test_very_many_open_files(self):
        dice = random.Random(1)
        for number in range(FILES):
            with (self.data / str(number)).open("wb") as file:
                file.truncate(BYTES)
                if number % 100 == 0:
                    file.write(dice.randbytes(BYTES))
                else:
                    file.write(str(number).encode())
        self.check("files", self.data, FILES)

    def test_very_many_processes(self):
        path = self.data / "0"
        path.write_bytes(random.Random(2).randbytes(8 << 20))
        self.check("processes", path, ROUNDS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
