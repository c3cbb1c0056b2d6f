"""`make demo` at small size: right, wrong, interrupted, and where no device can be mounted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import hangs
import pytest

SOURCE = Path(__file__).resolve().parents[2]
DEMO = SOURCE / "examples" / "kmeans" / "demo.py"
BUILD = Path(os.environ.get("DOVETAIL_BUILD_DIR", SOURCE / "build" / "release"))

pytest.importorskip("matplotlib")
if not list((BUILD / "python" / "dovetail").glob(f"_core.cpython-{sys.version_info[0]}{sys.version_info[1]}-*.so")):
    pytest.skip(f"{BUILD} has no package for this Python", allow_module_level=True)

# Runs the demo after a change to it.
CHANGED = """
import sys
sys.path[:0] = [{folder!r}, {devices!r}]
import demo
{change}
sys.exit(demo.main(sys.argv[1:]))
"""


def begin(folder: Path, *words: object, change: str | None = None, build: Path = BUILD) -> subprocess.Popen[str]:
    # Mounts and temporary folders are made below it, where the tests look for what is left.
    temporary = folder / "temporary"
    temporary.mkdir()
    start: list[object] = [DEMO]
    if change is not None:
        devices = SOURCE / "bench" / "devices"
        start = ["-c", CHANGED.format(folder=str(DEMO.parent), devices=str(devices), change=change)]
    command = [sys.executable, *start, "--build-dir", build, "--output", folder / "out", *words]
    return subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    output, errors = hangs.finish(process, 200)
    return process.returncode, output, errors


def assert_nothing_left(folder: Path) -> None:
    assert str(folder) not in Path("/proc/mounts").read_text()
    assert not list((folder / "temporary").iterdir())
    assert not list((folder / "out").glob("scratch-*"))
    # The demonstration has ended; what it started names its folders in its arguments.
    running = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue  # ended meanwhile
        if str(folder).encode() in words and int(process.name) != os.getpid():
            running.append(words.replace(b"\0", b" ").decode(errors="replace"))
    assert not running


def test_it_shows_a_table_and_pages_of_checked_runs(tmp_path: Path) -> None:
    status, output, errors = end(begin(tmp_path, "--small"))
    assert status == 0, output + errors
    assert "results    all 3 are those of plain NumPy" in output
    rows = {run["strategy"]: run for run in json.loads((tmp_path / "out" / "kmeans.json").read_text())["runs"]}
    assert list(rows) == ["baseline", "unconstrained", "adaptive"]
    assert rows["adaptive"]["admission"]["devices"][0]["tasks"] == 16
    for name in rows:
        assert f"{name} " in output
        assert "partial_sum" in (tmp_path / "out" / f"report-{name}.html").read_text()
    assert (tmp_path / "out" / "kmeans.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "[" in errors
    assert "adaptive" in errors, "no progress was shown"
    assert_nothing_left(tmp_path)


def test_a_wrong_result_is_named_and_ends_it_with_1(tmp_path: Path) -> None:
    change = """
import kmeans
right = kmeans.KMeans.reference
def wrong(*words):
    result = right(*words)
    result["centers"][0][0] += 0.5
    return result
kmeans.KMeans.reference = wrong
"""
    status, output, errors = end(begin(tmp_path, "--small", change=change))
    assert status == 1
    assert "demo: the run with strategy 'baseline' gave a wrong result: other centres" in errors
    assert "are those of plain NumPy" not in output
    assert_nothing_left(tmp_path)


def test_a_run_that_fails_ends_it_with_1_and_shows_why(tmp_path: Path) -> None:
    status, _, errors = end(begin(tmp_path, "--small", "--executors", "0"))
    assert status == 1, errors
    assert "the run with strategy 'baseline' ended with status" in errors
    assert "io_executors" in errors
    assert_nothing_left(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    process = begin(tmp_path, "--small", change='demo.STRATEGIES = ("baseline",) * 10_000')
    assert process.stderr is not None
    runs = 0
    for line in process.stderr:
        runs += "] baseline" in line
        if runs == 2:  # the first has ended, so that there is a mount, and one that runs
            break
    process.send_signal(number)
    status, output, errors = end(process)
    assert status == 128 + number, output + errors
    assert "Traceback" not in errors
    assert "interrupted" in errors
    assert_nothing_left(tmp_path)


def test_without_fuse_it_says_so_and_takes_the_real_disk(tmp_path: Path) -> None:
    change = """
import congested_fs
def refuse(self):
    raise congested_fs.FaultFsUnavailable("not allowed here")
congested_fs.CongestedFs.__enter__ = refuse
"""
    status, output, errors = end(begin(tmp_path, "--small", change=change))
    assert status == 0, output + errors
    assert "no device that congests (not allowed here)" in output
    assert f"device     the real disk, in {tmp_path / 'out'}" in output
    assert "all 3 are those of plain NumPy" in output
    assert_nothing_left(tmp_path)


def test_what_was_not_built_is_named(tmp_path: Path) -> None:
    status, _, errors = end(begin(tmp_path, "--small", build=tmp_path))
    assert status == 2
    assert "has no extension module" in errors
