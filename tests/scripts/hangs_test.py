"""A program that hangs under a test is shown with the stacks of all its processes, and none of them outlives it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

import hangs  # noqa: E402

# The child waits where only its stack can tell, and the parent for the child; so it hangs, however busy the machine is.
HANGS = """
import subprocess, sys, threading
def waits_for_its_child():
    child = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
    print(child.pid, flush=True)
    print("to standard error", file=sys.stderr, flush=True)
    child.wait()
waits_for_its_child()
"""
COMMAND = [sys.executable, "-X", "faulthandler", "-c", HANGS]
# What is to run out: most programs have printed by then. One that has not is tried again for longer.
LIMITS = (2, 8, 32, 128)


def is_alive(process: int) -> bool:
    try:
        return hangs.status_fields(process)[0] != "Z"
    except OSError:
        return False


class HangsTest(unittest.TestCase):
    def assert_shown(self, call) -> None:
        for limit in LIMITS:
            with self.assertRaises(hangs.Hung) as raised:
                call(limit)
            said = str(raised.exception)
            printed = said.partition("It printed:\n")[2].splitlines()
            if "to standard error" in printed and printed[0].isdigit():
                break
        self.assertIn(f"no end after {limit} s", said)
        self.assertGreaterEqual(said.count("\nThread 1 "), 2, said)
        self.assertIn("\n#0 ", said)
        self.assertIn(f"process {printed[0]}: ", said)
        self.assertIn("in waits_for_its_child", said.partition("It printed:")[2], said)
        self.assertFalse(is_alive(int(printed[0])), said)

    def test_a_program_that_is_run(self):
        self.assert_shown(lambda limit: hangs.run(COMMAND, timeout=limit))

    def test_a_program_that_was_started(self):
        def call(limit: float) -> None:
            with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                hangs.finish(process, limit)

        self.assert_shown(call)

    def test_a_program_that_is_only_waited_for(self):
        def call(limit: float) -> None:
            with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                hangs.wait(process, limit)

        self.assert_shown(call)

    def test_a_child_that_was_forked(self):
        def call(limit: float) -> None:
            with tempfile.TemporaryFile() as output:
                child = os.fork()
                if child == 0:
                    os.dup2(output.fileno(), 1)
                    os.dup2(output.fileno(), 2)
                    os.execv(COMMAND[0], COMMAND)
                stuck = hangs.stacks_unless_ended(child, limit)
                os.waitpid(child, 0)
                output.seek(0)
                raise hangs.Hung(f"{stuck}\nIt printed:\n{hangs.text_of(output.read())}")

        self.assert_shown(call)
        child = os.fork()
        if child == 0:
            os._exit(3)
        self.assertEqual(hangs.stacks_unless_ended(child, 200), "")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 3)

    def test_one_that_ends_is_as_subprocess_has_it(self):
        command = [sys.executable, "-c", "import sys; print(input()); print('no', file=sys.stderr); sys.exit(3)"]
        done = hangs.run(command, timeout=200, input="yes\n")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "yes\n", "no\n"))
        done = hangs.run(command, timeout=200, input=b"yes\n", text=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, b"yes\n", b"no\n"))
        with self.assertRaises(subprocess.CalledProcessError):
            hangs.run(command, timeout=200, input="yes\n", check=True)

    def test_a_test_that_hangs_itself(self):
        """As the tests of Python and their conftest.py: pytest has taken standard error away, and yet it is said."""
        with tempfile.TemporaryDirectory(prefix="dovetail-hangs-") as folder:
            for limit in LIMITS:
                text = (
                    f"import os, sys\nsys.path.insert(0, {str(SCRIPTS)!r})\nimport hangs\n"
                    f"alarm = hangs.Alarm(os.dup(2))\nalarm.set({limit})\n"
                    f"os.dup2(os.open('taken away', os.O_CREAT | os.O_WRONLY), 2)\n" + HANGS
                )
                done = subprocess.run(
                    [sys.executable, "-c", text], capture_output=True, text=True, cwd=folder, check=False
                )
                if done.stdout:
                    break
            said = done.stderr
            self.assertEqual(done.returncode, 1, said)
            self.assertIn("a test does not end; its 2 processes", said)
            self.assertGreaterEqual(said.count("\nThread 1 "), 2, said)
            self.assertIn("in waits_for_its_child", said)
            self.assertFalse(is_alive(int(done.stdout)), said)

    def test_an_alarm_that_is_set_again_or_stopped_ends_nothing(self):
        text = (
            f"import os, sys, threading\nsys.path.insert(0, {str(SCRIPTS)!r})\nimport hangs\nalarm = hangs.Alarm(2)\n"
            "for _ in range(1000):\n    alarm.set(1000)\nalarm.set(0.000001) if len(sys.argv) > 1 else alarm.stop()\n"
            "print('stopped', flush=True)\nthreading.Event().wait() if len(sys.argv) > 1 else None\n"
        )
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "stopped\n", ""))
        ended = subprocess.run([sys.executable, "-c", text, "set"], capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 1, ended.stderr)


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    unittest.main(verbosity=2)
