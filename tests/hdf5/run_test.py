"""`dovetail run --hdf5`: which program it runs, and its report."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import support

PACKAGE = support.BUILD / "python"
pytestmark = pytest.mark.skipif(not (PACKAGE / "dovetail").exists(), reason="the Python package is not built")

WRITER = """
import h5py, numpy as np
with h5py.File("out.h5", "w") as file:
    for part in range(8):
        # Not by file[...] = ...: h5py writes such a dataset before it gives it a name, and the write may have begun by then.
        file.create_dataset(f"energy $_{{ {part}", data=np.zeros(2**17))
"""


def run(folder: Path, *words: object, **more: str) -> support.Ended:
    environment = support.clean(PYTHONPATH=str(PACKAGE), DOVETAIL_HDF5_REPORT="1", **more)
    return support.run([sys.executable, "-m", "dovetail.cli", "run", "--hdf5", *words], environment, folder)


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_path_names_a_file_and_no_program_of_that_name(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    executable(folder / "elsewhere" / "program", "#!/bin/sh\necho another one\n")
    executable(folder / "program", "#!/bin/sh\necho this one $0 $1\n")
    path = f"{folder / 'elsewhere'}:{os.environ['PATH']}"
    ended = run(folder, "./program", "-x", PATH=path).expect(0)
    assert ended.output == "this one ./program -x\n", ended


def test_a_name_without_a_slash_is_looked_up(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    executable(folder / "elsewhere" / "program", "#!/bin/sh\necho found\nexit 7\n")
    ended = run(folder, "program", PATH=f"{folder / 'elsewhere'}:{os.environ['PATH']}").expect(7)
    assert ended.output == "found\n", ended


def test_a_script_runs_under_its_interpreter_with_the_connector(folder: Path) -> None:
    (folder / "writer.py").write_text(WRITER)
    executable(folder / "job", f"#!/bin/sh -e\n{sys.executable} writer.py\necho written\n")
    assert run(folder, "./job").expect(0, "copied").output == "written\n"
    executable(folder / "tool", f"#!{sys.executable}\nimport sys\nprint(sys.argv[0], sys.orig_argv[0])\n{WRITER}")
    assert run(folder, "./tool").expect(0, "copied").output.split() == ["./tool", sys.executable]


def test_a_binary_runs(folder: Path) -> None:
    """The interpreter itself, as a program."""
    binary = folder / "interpreter"
    binary.symlink_to(Path(sys.executable).resolve())
    environment = {"PYTHONHOME": sys.base_prefix}
    ended = run(folder, "./interpreter", "-c", "print(6 * 7)", **environment).expect(0)
    assert ended.output == "42\n", ended


@pytest.mark.parametrize(
    ("text", "mode", "word"),
    [
        ("#!/no/such/interpreter\n", 0o755, "the interpreter that it names is not there"),
        ("#!/bin/sh\n", 0o644, "Permission denied"),
        ("\x7fELF and no more", 0o755, "Exec format error"),
    ],
)
def test_what_the_system_refuses_to_run_is_status_2(folder: Path, text: str, mode: int, word: str) -> None:
    executable(folder / "program", text).chmod(mode)
    ended = run(folder, "./program").expect(2, "dovetail run:", "program", word)
    assert "Traceback" not in ended.errors


def test_a_missing_program_is_status_2(folder: Path) -> None:
    run(folder, "./sh").expect(2, "./sh", "there is no such file")
    run(folder, ".").expect(2, "is a folder")
    run(folder, "").expect(2, "the name of the program is empty")


def test_other_options_are_for_python_only(folder: Path) -> None:
    executable(folder / "program", "#!/bin/sh\n")
    run(folder, "--report", "page.html", "./program").expect(2, "no Python program")
    environment = support.clean(PYTHONPATH=str(PACKAGE))
    command = [sys.executable, "-m", "dovetail.cli", "run", sys.executable]
    support.run(command, environment, folder).expect(2, "no Python program", "--hdf5")


@pytest.mark.parametrize("open_at_the_end", [False, True])
def test_the_report_shows_transfers_of_hdf5(folder: Path, open_at_the_end: bool) -> None:
    """A program without a task of its own, in whose names mathematics would be found."""
    text = WRITER + ("\nfile = h5py.File('open.h5', 'w')\nfile['x'] = np.zeros(2**17)" if open_at_the_end else "")
    (folder / "program.py").write_text(text)
    # In the background, so that all of it is in transfers of the connector.
    options = ("--flush", "background", "--report", "page.html")
    ended = run(folder, *options, "program.py").expect(0, "wrote page.html", "copied")
    assert "Traceback" not in ended.errors and "trace was not written" not in ended.errors, ended
    assert "H5Dwrite /energy $_{" in (folder / "page.trace.json").read_text()
    assert (folder / "page.png").read_bytes().startswith(b"\x89PNG")
    if open_at_the_end:
        check = "import h5py; assert h5py.File('open.h5')['x'].shape == (2**17,)"
        support.run_python(check, environment=support.clean(), folder=folder).expect(0)


def test_a_report_without_any_file_says_so(folder: Path) -> None:
    (folder / "page.trace.json").write_text("{}")  # of an earlier run
    (folder / "program.py").write_text("print('nothing')")
    run(folder, "--report", "page.html", "program.py").expect(0, "made no task")
    assert not (folder / "page.html").exists()
