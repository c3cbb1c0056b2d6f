"""Runs the example refinement and compares the bytes that it leaves with those of plain NumPy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from reference import Case, compute

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import hangs  # noqa: E402

VARIANTS = ("messages-only", "threads", "multiple", "two-sided", "one-sided")
# More ranks than cores, and as root where the tests run so.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


def check(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


class Program:
    """The example, as it is started with so many ranks."""

    def __init__(self, path: str, starter: str, ranks: int) -> None:
        self.ranks = ranks
        self._command = [starter, "-n", str(ranks)]
        self._path = path

    def can_start(self) -> bool:
        return self._run("true").returncode == 0

    def run(self, *arguments: object) -> subprocess.CompletedProcess:
        return self._run(self._path, *arguments)

    def _run(self, *words: object) -> subprocess.CompletedProcess:
        return hangs.run([*self._command, *map(str, words)], env={**os.environ, **ENVIRONMENT}, timeout=200)

    def must_agree(self, case: Case, workers: int, runs: int, folder: Path) -> int:
        """All variants write what NumPy computes, at the end of so many runs in one process. Returns how many pieces of blocks go from rank to rank."""
        expected, updates = compute(case)
        checksums = set()
        moved = set()
        for variant in VARIANTS:
            output = folder / "output"
            output.write_bytes(b"left over" * len(expected))
            words = ("--variant", variant, "--workers", workers, "--repeat", runs, "--json", "--output", output)
            done = self.run(*words, *case.arguments())
            what = f"{self.ranks} ranks, {variant}, {workers} workers, {case}"
            check(done.returncode == 0, f"{what}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
            check(output.read_bytes() == expected, f"{what}: other bytes than NumPy")
            told = json.loads(done.stdout)
            check(told["correct"] and told["contender"] == variant, f"{what}: {told}")
            check(told["updates"] == updates, f"{what}: {told['updates']} updates, not {updates}")
            check(len(told["metrics"]["seconds"]) == runs and min(told["metrics"]["ns"]) > 0, f"{what}: {told}")
            checksums.add(told["checksum"])
            moved.add(told["moved"])
        check(len(checksums) == 1, f"{self.ranks} ranks, {case}: the variants say {checksums}")
        check(len(moved) == 1, f"{self.ranks} ranks, {case}: the variants moved {moved} pieces")
        return moved.pop()
