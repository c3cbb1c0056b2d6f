"""The sources of the package say in one sentence that they cannot be compiled; where they can, scikit-build-core is called as it would be."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
# A stand-in for scikit-build-core, which is not installed where nothing is packed: it says with what it was called.
BACKEND = """
def build_wheel(*arguments, **options):
    return f"wheel {arguments} {options}"


def build_editable(*arguments, **options):
    return f"editable {arguments} {options}"


def get_requires_for_build_wheel(*arguments):
    return ["cmake"]
"""


class BuildBackendTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        package = self.folder / "modules" / "scikit_build_core"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "build.py").write_text(BACKEND)
        self.programs = self.folder / "programs"
        self.programs.mkdir()

    def has(self, *programs: str) -> None:
        for name in programs:
            (self.programs / name).symlink_to("/bin/sh")

    def call(self, hook: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX")}
        environment |= {
            "PATH": str(self.programs),
            "PYTHONPATH": os.pathsep.join([str(self.folder / "modules"), str(SOURCE / "scripts")]),
        }
        return subprocess.run(
            [sys.executable, "-c", f"import build_backend; print(build_backend.{hook})"],
            env=environment | variables,
            capture_output=True,
            text=True,
            check=False,
        )

    def assert_one_sentence(self, said: subprocess.CompletedProcess[str], *parts: str) -> None:
        self.assertEqual(said.returncode, 1, said)
        self.assertEqual(len(said.stderr.splitlines()), 1, said.stderr)
        for part in (*parts, "apt-get install g++"):
            self.assertIn(part, said.stderr)

    def test_without_a_compiler_wheels_are_refused_in_one_sentence(self) -> None:
        for hook in ("build_wheel('.')", "build_editable('.')"):
            self.assert_one_sentence(self.call(hook), "no compiler for C (looked for cc, gcc, clang, icx, CC)")
        self.has("cc")
        self.assert_one_sentence(
            self.call("build_wheel('.')"), "no compiler for C++ (looked for c++, g++, clang++, icpx, CC)"
        )

    def test_a_compiler_that_the_environment_names_counts_alone(self) -> None:
        self.has("cc", "c++", "other")
        self.assert_one_sentence(self.call("build_wheel('.')", CXX="far++ -m64"), "CXX names the compiler far++")
        self.assertEqual(self.call("build_wheel('.')", CC="other -m64").returncode, 0)

    def test_what_may_name_a_compiler_otherwise_is_left_to_cmake(self) -> None:
        self.assertEqual(self.call("build_wheel('.', {'cmake.define.CMAKE_CXX_COMPILER': 'g++-13'})").returncode, 0)
        self.assertEqual(self.call("build_wheel('.')", CMAKE_ARGS="-DCMAKE_CXX_COMPILER=g++-13").returncode, 0)
        self.has("far-cc")
        self.assertEqual(self.call("build_wheel('.')", CC="far-cc").returncode, 0)

    def test_with_compilers_and_for_all_else_scikit_build_core_is_called(self) -> None:
        self.assertEqual(self.call("get_requires_for_build_wheel()").stdout, "['cmake']\n")
        self.has("gcc", "clang++")
        said = self.call("build_wheel('to', {'a': 'b'}, metadata_directory='c')").stdout
        self.assertEqual(said, "wheel ('to', {'a': 'b'}, 'c') {}\n")
        self.assertEqual(self.call("build_editable('to')").stdout, "editable ('to', None, None) {}\n")


if __name__ == "__main__":
    unittest.main()
