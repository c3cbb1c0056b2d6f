"""The programs on the pages of the documentation run, and the messages that a page explains exist."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def programs_of(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def program_under(page: str, heading: str) -> str:
    text = (DOCS / page).read_text()
    return text.split(f"## {heading}\n")[1].split("```python\n")[1].split("```")[0]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Some of the programs write into their folder."""
    monkeypatch.chdir(tmp_path)


def test_the_complete_program(run_program):
    result = run_program(programs_of("python.md")[0])
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{16 * 100_000 * 8} bytes written, the file has {16 * 100_000 * 8}\nequal\n"


def test_the_source_of_events(run_program):
    result = run_program(
        f"""
import threading

import dovetail as dt

{programs_of("python.md")[1]}

letters = []


@dt.task
def receive(number):
    return mailbox.receive(number)


with dt.Runtime(workers=1, report_after=0.05):
    mailbox = Mailbox(lambda: letters.pop(0) if letters else None)
    futures = [receive(number) for number in range(3)]
    assert dt.wait_for_any(futures, timeout=0.5) is None
    letters += [(2, "c"), (0, "a"), (1, "b")]
    print(*dt.wait(futures))
"""
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "a b c\n"
    assert "waits for letter 2 (polling service 'mailbox')" in result.stderr


def test_the_quick_start(run_program):
    (program,) = programs_of("quickstart.md")
    result = run_program(program)
    assert (result.returncode, result.stdout) == (0, "sum 28000\n"), result.stderr


def test_the_program_on_a_cluster(run_program):
    pytest.importorskip("distributed")
    (program,) = programs_of("cluster.md")
    result = run_program(program)
    assert (result.returncode, result.stdout) == (0, "328350\n"), result.stderr


@pytest.mark.parametrize("library", ["Dovetail", "`concurrent.futures`", "joblib", "Dask", "Parsl"])
def test_the_same_in_other_libraries(run_program, tmp_path, library):
    module = library.strip("`").split(".")[0].lower()
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    numbers = tmp_path / "numbers"
    numbers.mkdir()
    for number in range(1, 9):
        np.ones(number**2).tofile(numbers / f"{number}.bin")
    result = run_program(program_under("coming_from.md", f"Python: {library}"), str(numbers))
    assert (result.returncode, result.stdout) == (0, "36.000000\n"), result.stderr


def test_a_function_over_many_files(run_program, tmp_path):
    folder = tmp_path / "data" / "below"
    folder.mkdir(parents=True)
    for number in range(30):
        (folder / f"{number:02}.dat").write_bytes(b"x" * number)
    (folder / "other.txt").touch()
    result = run_program(program_under("cookbook.md", "A function over many files"), str(tmp_path / "data"))
    assert result.returncode == 0, result.stderr
    assert result.stdout == "".join(
        f"{hashlib.sha256(b'x' * number).hexdigest()} {number:02}.dat\n" for number in range(30)
    )


def test_a_pipeline_with_bounded_memory(run_program, tmp_path):
    data = np.random.default_rng(3).integers(0, 256, 20_000_001, np.uint8)
    data.tofile(tmp_path / "source")
    result = run_program(
        program_under("cookbook.md", "A pipeline with bounded memory"),
        str(tmp_path / "source"),
        str(tmp_path / "target"),
    )
    assert result.returncode == 0, result.stderr
    np.testing.assert_array_equal(np.fromfile(tmp_path / "target", np.uint8), data ^ 0x20)


def test_checkpoints(run_program):
    result = run_program(
        program_under("cookbook.md", "Checkpoints while the computation goes on")
        + "\nprint(np.load('checkpoint.npy').sum() == state.sum())\n"
    )
    assert (result.returncode, result.stdout) == (0, "last checkpoint after step 19\nTrue\n"), result.stderr


def test_sorting(run_program, tmp_path):
    numbers = np.random.default_rng(4).integers(-(1 << 40), 1 << 40, 2_500_000)
    numbers.tofile(tmp_path / "source")
    result = run_program(
        program_under("cookbook.md", "Sorting what does not fit in memory"),
        str(tmp_path / "source"),
        str(tmp_path / "target"),
    )
    assert result.returncode == 0, result.stderr
    np.testing.assert_array_equal(np.fromfile(tmp_path / "target", np.int64), np.sort(numbers))
    assert not (tmp_path / "target.runs").exists()


def test_a_parameter_sweep(run_program):
    result = run_program(program_under("cookbook.md", "A parameter sweep"))
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 9 and "temperature 250, pressure 1.0: 250.000" in lines, result.stdout


def test_messages_that_are_explained():
    messages = re.findall(r"^\| `([^`]+)` \|", (DOCS / "troubleshooting.md").read_text(), re.MULTILINE)
    assert len(messages) > 20
    folders = ("src", "bindings", "interpose", "python", "include", "tools")
    sources = "".join(
        path.read_text()
        for folder in folders
        for kind in ("*.cpp", "*.hpp", "*.py")
        for path in (ROOT / folder).rglob(kind)
    )
    # Texts that go over a line are in two pieces there.
    joined = re.sub(r'"\s*\n\s*f?"', "", sources)
    assert [message for message in messages if message not in joined] == []
