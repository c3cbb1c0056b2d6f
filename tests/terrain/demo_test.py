"""`make demo-prefetch` at small size: right, with a program that prints something else, with one that fails, and its program's own mistakes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["DOVETAIL_SOURCE_DIR"])
BUILD = Path(os.environ["DOVETAIL_BUILD_DIR"]).resolve()
sys.path[:0] = [str(SOURCE / "scripts"), str(SOURCE / "examples" / "terrain")]

import hangs  # noqa: E402

try:
    import h5py  # noqa: F401
    import matplotlib  # noqa: F401
except ImportError as error:
    print(f"the demo needs {error.name}")
    sys.exit(77)

import demo  # noqa: E402

TERRAIN = SOURCE / "examples" / "terrain" / "terrain.py"


class Demo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="terrain-test-", dir=BUILD)
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_everything_is_run_and_drawn(self):
        words = [sys.executable, str(SOURCE / "examples" / "terrain" / "demo.py"), "--small"]
        done = hangs.run([*words, "--build-dir", str(BUILD), "--output", str(self.folder)], timeout=200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        runs = json.loads((self.folder / "prefetch.json").read_text())["runs"]
        self.assertEqual([run["way"] for run in runs], list(demo.MEANING))
        self.assertIn("all 4 runs have printed the same", done.stdout)
        self.assertIn("[ 19 %] observe", done.stderr)
        picture = (self.folder / "reads.png").read_bytes()
        self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith("scratch-")], [])

    def with_program(self, body: str):
        """The demo with another program, which has the number of its run as $run."""
        program = self.folder / "program.py"
        program.write_text(
            "import os, pathlib, sys\n"
            "if sys.argv[1] == 'make':\n    pathlib.Path(sys.argv[2]).write_bytes(os.urandom(1 << 20)); sys.exit(0)\n"
            f"count = pathlib.Path({str(self.folder)!r}) / 'count'\n"
            "run = int(count.read_text()) if count.exists() else 0\ncount.write_text(str(run + 1))\n"
            "pathlib.Path(sys.argv[2]).read_bytes()\n" + body
        )
        words = f"import demo, pathlib, sys; demo.PROGRAM = pathlib.Path({str(program)!r}); sys.exit(demo.main())"
        environment = dict(os.environ, PYTHONPATH=str(SOURCE / "examples" / "terrain"))
        command = [sys.executable, "-c", words, "--small", "--build-dir", str(BUILD), "--output", str(self.folder)]
        return hangs.run(command, timeout=200, env=environment)

    def test_another_result_is_told(self):
        done = self.with_program("print(7 if run < 2 else 8)\n")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("the program printed '8\\n' in place of '7\\n'", done.stderr)

    def test_a_run_that_fails_is_told(self):
        done = self.with_program("sys.exit(0 if run < 2 else 'no space left')\n")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("no space left", done.stderr)

    def test_the_program_tells_its_mistakes(self):
        for words in ([], ["analyse", "there-is-none.h5", "4"], ["analyse", str(TERRAIN), "4"], ["make", "x.h5", "-1"]):
            done = subprocess.run([sys.executable, str(TERRAIN), *words], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
