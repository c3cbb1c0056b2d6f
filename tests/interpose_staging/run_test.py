"""`dovetail run --staged`: a program whose files are staged."""

import os
import sys
import unittest

from support import BUILD, Case

PACKAGE = BUILD / "python"


@unittest.skipUnless((PACKAGE / "dovetail").exists(), "the Python package is not built")
class Run(Case):
    def run_staged(self, *words, **options):
        environment = dict(os.environ, PYTHONPATH=str(PACKAGE))
        return self.plain(sys.executable, "-m", "dovetail.cli", "run", *words, env=environment, **options)

    def test_a_program_has_its_files_staged(self):
        source = self.root / "source"
        source.write_bytes(bytes(range(256)) * 1000)
        path = os.path.relpath(self.configuration, self.root)
        done = self.run_staged("--staged", path, "--", "cp", source, self.folder / "file", cwd=self.root)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.assertEqual((self.folder / "file").read_bytes(), source.read_bytes())
        self.assertTrue(self.was_staged())
        self.assertEqual(self.logs(), [])

    def test_children_in_other_folders(self):
        command = f"cd / && cp /usr/bin/env {self.folder}/file; exit 7"
        done = self.run_staged("--staged", self.configuration.name, "--", "bash", "-c", command, cwd=self.root)
        self.assertEqual((done.returncode, done.stderr, self.was_staged()), (7, b"", True))

    def test_a_program_in_python(self):
        program = self.root / "program.py"
        program.write_text(
            "import os, sys\nos.write(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), b'x')\nprint(sys.argv[2:])"
        )
        done = self.run_staged("--staged", self.configuration, program, self.folder / "file", "--staged")
        self.assertEqual((done.returncode, done.stdout, self.was_staged()), (0, b"['--staged']\n", True), done.stderr)

    def test_what_cannot_be_run(self):
        for words, reason in (
            (("--staged", self.root / "none.json", "--", "true"), "none.json: there is no such file"),
            (("--staged", self.root, "--", "true"), "is no file"),
            (("--staged", self.configuration, "--", "no-such-program"), "no-such-program: there is no such program"),
            (("--staged", self.configuration, "--detect", "--", "true"), "--staged: it goes with no other option"),
        ):
            done = self.run_staged(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(reason, done.stderr.decode())
        self.configuration.write_text("{")
        done = self.run_staged("--staged", self.configuration, "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("it is no JSON", done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
