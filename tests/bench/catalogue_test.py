"""The catalogue of benchmarks: names are unique, and every program of it comes from a source; the rows that users were promised are there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("DOVETAIL_SOURCE_DIR", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "bench"))

from catalogue import BENCHMARKS  # noqa: E402
from harness.entry import Benchmark, Contender, Target  # noqa: E402
from harness.runner import Result  # noqa: E402
from harness.table import rows_of  # noqa: E402


def sources_of(program: str) -> list[Path]:
    """Files that a program may be built from: <problem>/<runtime>.cpp, or what a CMakeLists.txt names."""
    found = [path for path in (SOURCE / "bench").rglob("*.cpp") if f"{path.parent.name}_{path.stem}" == program]
    lists = [
        path for path in (SOURCE / "bench").rglob("CMakeLists.txt") if re.search(rf"\b{program}\b", path.read_text())
    ]
    return found + lists


class Catalogue(unittest.TestCase):
    def test_names_are_unique(self) -> None:
        names = [benchmark.name for benchmark in BENCHMARKS]
        self.assertEqual(len(names), len(set(names)))

    def test_targets_name_contenders(self) -> None:
        for benchmark in BENCHMARKS:
            contenders = {contender.name for contender in benchmark.contenders}
            for target in benchmark.targets:
                self.assertLessEqual({target.contender, *target.peers}, contenders, benchmark.name)

    def test_programs_of_storage_and_tiom_have_sources(self) -> None:
        prefixes = ("direct_", "cached_", "small_files", "logs", "nop", "tiom_")
        chosen = [benchmark for benchmark in BENCHMARKS if benchmark.name.startswith(prefixes)]
        promised = {"small_files_warm", "small_files_cold", "logs", "tiom_mix_rr_128k"}
        promised |= {
            f"cached_{way}_{size}{how}"
            for way in ("read", "write")
            for size in ("4k", "128k")
            for how in ("", "_tasks")
        }
        self.assertLessEqual(promised, {benchmark.name for benchmark in chosen})
        for benchmark in chosen:
            self.assertGreaterEqual(benchmark.rounds, 5, benchmark.name)
            self.assertTrue(benchmark.targets, f"{benchmark.name} has no target")
            for contender in benchmark.contenders:
                self.assertTrue(sources_of(contender.program), f"{benchmark.name}: {contender.program}")

    def test_the_best_peer_judges(self) -> None:
        target = Target("no slower", contender="tasks", at_most=1.0, peers=("pool_2", "pool_4"))
        names = ("tasks", "pool_2", "pool_4")
        benchmark = Benchmark("files", "files", tuple(Contender(name, "program") for name in names), (target,))
        result = Result(benchmark, {"tasks": [{"ns": 10.0}], "pool_2": [{"ns": 12.0}], "pool_4": [{"ns": 9.0}]})
        judged = rows_of(result)[-1]
        self.assertEqual((judged.contender, judged.verdict, judged.ratio), ("tasks / pool_4", "missed", "1.11"))

    def test_the_list_is_printed_and_an_unknown_name_refused(self) -> None:
        runner = [sys.executable, "-B", SOURCE / "bench" / "run.py"]
        listed = subprocess.run([*runner, "--list"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(len(listed.splitlines()), len(BENCHMARKS))
        unknown = subprocess.run([*runner, "--list", "--only", "no such"], capture_output=True, text=True, check=False)
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("no such", unknown.stderr)


if __name__ == "__main__":
    unittest.main()
