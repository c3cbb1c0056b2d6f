"""`dovetail demo`: the demonstrations that need no compiler run from the package, the others say what they need; their page says no more than was measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import hangs
import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DOVETAIL_BUILD_DIR", SOURCE / "build" / "release"))
sys.path.insert(0, str(SOURCE / "examples" / "demonstration"))

import page  # noqa: E402
from dovetail import demonstrations  # noqa: E402


def demo(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return hangs.run([sys.executable, "-m", "dovetail", "demo", *words], timeout=200, cwd=folder)


def test_the_main_one_runs_on_the_own_disk_and_writes_its_page(tmp_path: Path) -> None:
    done = demo(tmp_path, "--small")
    assert done.returncode == 0, done.stdout + done.stderr
    output = tmp_path / "dovetail-demo"
    assert f"device     folder {output}" in done.stdout
    assert "results    all 3 are those of plain NumPy" in done.stdout
    assert f"page       {output}/kmeans.html" in done.stdout
    text = (output / "kmeans.html").read_text()
    runs = json.loads((output / "kmeans.json").read_text())["runs"]
    for run in runs:
        assert run["strategy"] in text
        assert f"{run['total_s']:.2f}" in text


def test_hdf5(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    done = demo(tmp_path, "hdf5", "--small", "--output", tmp_path / "here")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all 2 files hold the same numbers" in done.stdout
    assert "gzip" in (tmp_path / "here" / "hdf5.html").read_text()


def test_the_list_names_all_with_what_they_need(tmp_path: Path) -> None:
    done = demo(tmp_path, "--list")
    assert done.returncode == 0
    for name in demonstrations.DEMONSTRATIONS:
        assert f"{name} " in done.stdout
    assert not list(tmp_path.iterdir())


def test_an_unknown_one_is_refused(tmp_path: Path) -> None:
    done = demo(tmp_path, "kmean")
    assert done.returncode == 2
    assert "there is no 'kmean'; there are kmeans, " in done.stderr


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    prefetch, mpi = demonstrations.DEMONSTRATIONS["prefetch"], demonstrations.DEMONSTRATIONS["mpi"]
    assert (
        demonstrations.missing(prefetch, lambda name: None)
        == "it needs h5py and matplotlib: pip install h5py matplotlib"
    )
    monkeypatch.setattr(demonstrations, "_homes", lambda: [tmp_path])
    said = demonstrations.missing(mpi, lambda name: name)
    assert said is not None and "make demo-mpi" in said and "MPI library" in said
    main = demonstrations.missing(demonstrations.DEMONSTRATIONS["kmeans"])
    assert main is not None and "examples/kmeans/demo.py is not installed" in main


def test_every_one_is_a_target_of_make_and_a_script() -> None:
    makefile = (SOURCE / "Makefile").read_text()
    for demonstration in demonstrations.DEMONSTRATIONS.values():
        assert f"\n{demonstration.target}: " in makefile
        assert (SOURCE / "examples" / demonstration.script).is_file()


def test_a_gain_within_the_spread_is_none() -> None:
    base = page.Row("plain", "", [1.0, 1.2, 1.4])
    assert "nothing was gained" in page.conclusion([base, page.Row("other", "", [0.9, 1.0, 1.1])], base)
    assert "nothing was gained" in page.conclusion([base, page.Row("other", "", [2.0, 2.0, 2.0])], base)
    assert page.conclusion([base, page.Row("other", "", [0.6, 0.6, 0.7])], base) == (
        "'other' took 50% of the time of 'plain': 0.60 s in place of 1.20 s, in 3 runs of each."
    )
    assert "Each ran once" in page.conclusion(
        [page.Row("plain", "", [2.0]), page.Row("other", "", [1.0])], page.Row("plain", "", [2.0])
    )


def test_a_page_shows_what_it_is_told_as_text(tmp_path: Path) -> None:
    page.write(
        tmp_path / "page.html", "<b>", [("fact", "a < b")], [page.Row("one", "&", [1.0]), page.Row("two", "", [0.5])]
    )
    text = (tmp_path / "page.html").read_text()
    assert "<h1>&lt;b&gt;</h1>" in text and "a &lt; b" in text and "&amp;" in text
