"""Random programs leave the same bytes and see the same answers as natively."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import support

PROGRAMS = int(os.environ.get("DOVETAIL_HDF5_PROGRAMS", "120"))
# Some of them with the least memory for pending writes.
BUFFERS = ("", "4M")


def run_programs(python: str, folder: Path, environment: dict[str, str], *options: object) -> None:
    script = support.HERE / "random_programs.py"
    ended = support.run([python, script, folder, *options], {**environment, "LD_PRELOAD": str(support.CLOCK)})
    running = [path.read_text() for path in folder.glob("*/running")]
    assert ended.status == 0, f"{running} ended with {ended.status}:\n{ended.output}{ended.errors}"


def compare(native: Path, dovetail: Path, compared: str = "*") -> None:
    # Where HDF5 itself has failed natively, there is nothing to compare with.
    given_up = {log.parent.name for log in native.glob("*/log") if '["given up"]' in log.read_text().splitlines()}
    assert len(given_up) <= 2
    files, found = (
        sorted(path.relative_to(top) for path in top.rglob("*") if path.is_file() and path.parent.name not in given_up)
        for top in (native, dovetail)
    )
    assert files == found
    # Logs first: they say which step was answered differently.
    for file in sorted(files, key=lambda path: (path.name != "log", path)):
        if not file.match(compared) or (native / file).read_bytes() == (dovetail / file).read_bytes():
            continue
        difference = f"{file} differs, see {native} and {dovetail}"
        if file.name == "log":
            shown = subprocess.run(
                ["diff", native / file, dovetail / file], capture_output=True, text=True, check=False
            )
            difference += "\n" + shown.stdout[:2000]
        elif (support.TOOLS / "h5diff").exists():
            shown = support.run([support.TOOLS / "h5diff", "-v", native / file, dovetail / file], support.clean())
            difference += "\n" + (shown.output + shown.errors)[:2000]
        raise AssertionError(difference)


def test_programs_leave_the_same_files(python: str, tmp_path: Path) -> None:
    seed = support.seed()
    options = ("--seed", seed, "--count", PROGRAMS)
    run_programs(python, tmp_path / "native", support.clean(), *options)
    for number, buffer in enumerate(BUFFERS):
        first, end = (PROGRAMS * turn // len(BUFFERS) for turn in (number, number + 1))
        share = ("--first", first, "--count", end - first)
        memory = {"DOVETAIL_HDF5_BUFFER": buffer} if buffer else {}
        run_programs(python, tmp_path / "dovetail", support.under_dovetail(**memory), "--seed", seed, *share)
    compare(tmp_path / "native", tmp_path / "dovetail")


def test_programs_leave_the_same_files_on_a_slow_device(faults, tmp_path: Path) -> None:
    """Where writes take long, what is read and flushed and closed is still pending."""
    options = ("--seed", support.seed(), "--count", max(PROGRAMS // 12, 1), "--length", 40)
    python = next(iter(support.interpreters().values()))
    run_programs(python, tmp_path / "native", support.clean(), *options)
    faults.set_rules("write delay=3")
    run_programs(python, faults.path / "dovetail", support.under_dovetail(), *options)
    faults.set_rules("")
    compare(tmp_path / "native", faults.path / "dovetail")


def test_programs_find_the_same_where_hdf5_forgets_its_metadata(tmp_path: Path) -> None:
    """HDF5 writes what it drops from its memory, and reads it again. Bytes in freed places may differ; the logs have what
    can be read."""
    options = ("--seed", support.seed(), "--count", max(PROGRAMS // 4, 1), "--forgetful")
    python = next(iter(support.interpreters().values()))
    run_programs(python, tmp_path / "native", support.clean(), *options)
    run_programs(python, tmp_path / "dovetail", support.under_dovetail(), *options)
    compare(tmp_path / "native", tmp_path / "dovetail", "log")


def test_the_comparison_sees_a_difference(tmp_path: Path) -> None:
    """Programs of two seeds differ, and are told apart."""
    python = next(iter(support.interpreters().values()))
    for name in ("first", "second"):
        run_programs(python, tmp_path / name, support.clean(), "--seed", name, "--count", 1)
    try:
        compare(tmp_path / "first", tmp_path / "second")
    except AssertionError:
        shutil.rmtree(tmp_path / "second")
        return
    raise AssertionError("two programs that have nothing in common are taken for the same")
