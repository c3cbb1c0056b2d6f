"""scripts/setup.sh asks before it installs packages, and before that changes those that are there; where nobody can be asked, none is removed.

The package manager of the system is a stand-in that notes what it is told to do: a test must not install anything on the machine that runs it.
"""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "scripts"))

import hangs  # noqa: E402

# Packages are installed if the file `installed` has their names. `changes` is what apt says it would do besides.
DPKG_QUERY = """#!/bin/sh
for last; do :; done
grep -qx -- "$last" "$WORLD/installed" && printf installed
"""
APT_GET = """#!/bin/sh
case "$*" in
*--simulate*) cat "$WORLD/changes" ;;
*) echo "$*" >> "$WORLD/told" ;;
esac
"""
SUDO = """#!/bin/sh
[ "$1" = -n ] && shift
exec "$@"
"""
PYTHON = """#!/bin/sh
echo "$*" >> "$WORLD/python"
"""


class SetupTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("scripts", "programs", ".venv/bin"):
            (self.folder / name).mkdir(parents=True)
        shutil.copy(SOURCE / "scripts/setup.sh", self.folder / "scripts")
        shutil.copytree(SOURCE / "packages", self.folder / "packages")
        for name, text in (("dpkg-query", DPKG_QUERY), ("apt-get", APT_GET), ("sudo", SUDO)):
            self.program(self.folder / "programs" / name, text)
        self.program(self.folder / ".venv/bin/python", PYTHON)
        self.write("installed", "")
        self.write("changes", "Inst libhwloc-dev (2.9.0-1 Debian:12.0/stable [amd64])\n")

    def program(self, path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def read(self, name: str) -> str:
        return (self.folder / name).read_text() if (self.folder / name).exists() else ""

    def environment(self, ci: bool) -> dict[str, str]:
        environment = {name: value for name, value in os.environ.items() if name != "CI"}
        environment |= {"PATH": f"{self.folder / 'programs'}:{os.environ['PATH']}", "WORLD": str(self.folder)}
        return environment | ({"CI": "true"} if ci else {})

    def setup_without_terminal(self, *words: str, ci: bool = False) -> subprocess.CompletedProcess[str]:
        return hangs.run(
            ["bash", str(self.folder / "scripts/setup.sh"), *words],
            timeout=60,
            env=self.environment(ci),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    def setup_at_terminal(self, *answers: str) -> int:
        ours, theirs = pty.openpty()
        try:
            os.write(ours, "".join(answer + "\n" for answer in answers).encode())
            return hangs.run(
                ["bash", str(self.folder / "scripts/setup.sh")],
                timeout=60,
                env=self.environment(ci=False),
                stdin=theirs,
                capture_output=True,
                text=True,
            ).returncode
        finally:
            os.close(ours)
            os.close(theirs)

    def installs(self) -> list[str]:
        return [line for line in self.read("told").splitlines() if " install " in line]

    def test_nobody_can_be_asked(self) -> None:
        for ci in (False, True):
            self.write("told", "")
            self.write("changes", "Inst libc6 [2.36-9] (2.36-10 Debian:12.1/stable [amd64])\n")
            done = self.setup_without_terminal(ci=ci)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("libc6 (new version)", done.stdout)
            # Twice, since the stand-in installs nothing.
            self.assertEqual(len(self.installs()), 2)
            self.assertIn("liburing-dev", self.installs()[0])
            self.write("told", "")
            self.write("changes", "Remv libfuse2 [2.9.9-6]\n")
            done = self.setup_without_terminal(ci=ci)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("libfuse2 (removed)", done.stdout)
            self.assertEqual(self.installs(), [])

    def test_building_does_not_need_what_tests_need(self) -> None:
        self.setup_without_terminal("--yes")
        self.assertNotIn("libgtest-dev", self.installs()[0])
        self.assertNotIn("matplotlib", self.read("python") + self.read("installed"))
        self.setup_without_terminal("--yes", "test")
        self.assertIn("libgtest-dev", self.installs()[-1])
        self.assertIn("packages/python-test.txt", self.read("python"))

    def test_only_what_is_missing(self) -> None:
        lines = (self.folder / "packages/apt-build.txt").read_text().splitlines()
        names = [line for line in lines if not line.startswith("#")]
        self.write("installed", "\n".join(name for name in names if name != "libhwloc-dev"))
        self.setup_without_terminal("--yes")
        self.assertTrue(self.installs()[0].endswith("--no-install-recommends libhwloc-dev"), self.installs())
        self.write("installed", "\n".join(names))
        self.write("told", "")
        self.assertEqual(self.setup_without_terminal().returncode, 0)
        self.assertEqual(self.read("told"), "")

    def test_at_a_terminal_no_package_is_changed_without_a_yes_to_that(self) -> None:
        for change in ("Inst libc6 [2.36-9] (2.36-10 Debian:12.1/stable [amd64])", "Remv libfuse2 [2.9.9-6]"):
            with self.subTest(change):
                self.write("changes", change + "\n")
                self.write("told", "")
                self.assertEqual(self.setup_at_terminal("y", ""), 2)
                self.assertEqual(self.installs(), [])
                self.assertEqual(self.setup_at_terminal("y", "y", "y", "y"), 0)
                self.assertEqual(len(self.installs()), 2)

    def test_at_a_terminal(self) -> None:
        self.assertEqual(self.setup_at_terminal("n"), 2)
        self.assertEqual(self.read("told"), "")
        self.assertEqual(self.setup_at_terminal("", ""), 0)
        self.assertNotEqual(self.installs(), [])

    def test_a_purpose_that_is_none(self) -> None:
        done = self.setup_without_terminal("tests")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'tests' is no purpose", done.stderr)


if __name__ == "__main__":
    unittest.main()
