"""The applications under examples/ at small size: every strategy gives what the tools give by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import hangs
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NOT_INSTALLED = 77

pytest.importorskip("matplotlib")


def run(name: str, folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        EXAMPLES / name / f"{name}.py",
        "--target",
        folder / "target",
        "--output",
        folder / "out",
    ]
    command += ["--data", folder / "data", *words]
    done = hangs.run([str(word) for word in command], timeout=100)
    if done.returncode == NOT_INSTALLED:
        pytest.skip(done.stderr.strip())
    return done


def results(name: str, folder: Path, done: subprocess.CompletedProcess[str], strategies: int) -> dict[str, dict]:
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("   right") == strategies
    assert "results are those of the work by hand" in done.stdout
    assert (folder / "out" / f"{name}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    document = json.loads((folder / "out" / f"{name}.json").read_text())
    return {run["strategy"]: run for run in document["runs"]}


SMALL_KMEANS = ("--points", 16384, "--fragments", 8, "--centers", 16, "--iterations", 2)


def test_kmeans(tmp_path: Path) -> None:
    strategies = "baseline unconstrained static:100 auto auto(50,200,2) adaptive"
    done = run("kmeans", tmp_path, *SMALL_KMEANS, "--peak", 200, "--strategies", strategies)
    runs = results("kmeans", tmp_path, done, 6)
    assert runs["baseline"]["admission"]["devices"] == []
    for strategy in ("unconstrained", "static:100", "auto", "auto(50,200,2)", "adaptive"):
        (device,) = runs[strategy]["admission"]["devices"]
        assert (device["name"], device["tasks"]) == ("target", 16)
        assert device["bytes"] == pytest.approx(16 * 2048 * 16 * 4, rel=1e-3)
        assert device["types"][0]["label"] == "checkpoint_centers"
    assert runs["static:100"]["admission"]["devices"][0]["most_running"] <= 2


@pytest.mark.parametrize("word", ["bogus", "static:fast", "auto(1,2)"])
def test_a_strategy_that_is_none_is_refused(tmp_path: Path, word: str) -> None:
    done = run("kmeans", tmp_path, *SMALL_KMEANS, "--strategies", word)
    assert done.returncode == 2
    assert word in done.stderr


def test_hmmer(tmp_path: Path) -> None:
    sizes = ("--copies", 2, "--sequence-fragments", 3, "--profile-fragments", 2, "--checkpoint-mb", 0.5)
    done = run("hmmer", tmp_path, *sizes, "--strategies", "baseline adaptive")
    runs = results("hmmer", tmp_path, done, 2)
    assert runs["adaptive"]["admission"]["devices"][0]["tasks"] == 6


def test_variants(tmp_path: Path) -> None:
    sizes = ("--samples", 1, "--pairs", 600, "--checkpoint-mb", 0.5)
    done = run("variants", tmp_path, *sizes, "--strategies", "baseline adaptive")
    runs = results("variants", tmp_path, done, 2)
    types = {kind["label"]: kind["tasks"] for kind in runs["adaptive"]["admission"]["devices"][0]["types"]}
    assert types == {
        "checkpoint_fastq": 2,
        "checkpoint_mapped": 4,
        "checkpoint_merged": 1,
        "checkpoint_marked": 1,
        "checkpoint_grouped": 1,
    }
