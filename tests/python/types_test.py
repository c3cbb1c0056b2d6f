"""Types as checkers see them, and options and results as the program gives them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import dovetail as dt
import pytest

PROGRAM = Path(__file__).with_name("typed_program.py")
PACKAGE = Path(__file__).resolve().parents[2] / "python"


def wrong_lines() -> set[int]:
    return {number for number, line in enumerate(PROGRAM.read_text().splitlines(), 1) if line.endswith("# wrong")}


def error_lines(command: list[str], folder: Path) -> set[int]:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "MYPYPATH": str(PACKAGE)}, capture_output=True, text=True, check=False
    )
    found = {int(line) for line in re.findall(rf"{PROGRAM.name}:(\d+)(?::\d+)?(?: -)? ?:? error", done.stdout)}
    assert found, done.stdout + done.stderr
    return found


def test_mypy(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "mypy.ini").write_text("[mypy]\n[mypy-joblib.*]\nignore_missing_imports = True\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(PROGRAM)]
    assert error_lines(command, tmp_path) == wrong_lines()


def test_pyright(tmp_path):
    checker = shutil.which("pyright") or shutil.which("basedpyright")
    if checker is None:
        pytest.skip("pyright is not installed")
    (tmp_path / "pyrightconfig.json").write_text(
        f'{{"include": ["{PROGRAM}"], "extraPaths": ["{PACKAGE}"], "typeCheckingMode": "strict"}}'
    )
    assert error_lines([checker, "-p", str(tmp_path)], tmp_path) == wrong_lines()


def test_a_misspelt_option_is_named():
    def body(path):
        return path

    for options, hint in (
        ({"lable": "a"}, "did you mean 'label'"),
        ({"retriess": 2}, "did you mean 'retries'"),
        ({"pathh": dt.INOUT}, "did you mean 'path'"),
        ({"retry": 3}, "did you mean 'retries'"),
        ({"timeout": 3}, "did you mean 'time_limit'"),
    ):
        for decorator in (dt.task, dt.io):
            with pytest.raises(ValueError, match=f"task 'body' has no parameter and no option .*; {hint}"):
                decorator(**options)(body)
    with pytest.raises(ValueError, match="no option 'xyz'$"):
        dt.task(xyz=dt.IN)(body)
    with pytest.raises(TypeError, match="'path' must be given a direction"):
        dt.task(path="r")(body)

    def open_ended(**named):
        return named

    with pytest.raises(ValueError, match="did you mean 'label'"):
        dt.task(lable="a")(open_ended)
    assert dt.wait(dt.task(lable=dt.IN)(open_ended)(lable=1)) == {"lable": 1}


def _three():
    return 1, 2, 3


def _one():
    return 1


async def _later():
    return [1]


@pytest.mark.parametrize("options", [{}, {"process": True}])
def test_the_number_of_values_is_checked(options):
    one, two, three = dt.task(returns=3, **options)(_three)()
    assert dt.wait([one, two, three]) == [1, 2, 3]
    for future in dt.task(returns=2, **options)(_three)():
        with pytest.raises(dt.TaskFailed, match="task '_three' has returns=2, and returned 3 values"):
            future.result()
    with pytest.raises(dt.TaskFailed, match="has returns=2, and returned one value of type 'int'"):
        dt.wait(dt.task(returns=2, **options)(_one)())


def test_the_number_of_values_of_a_coroutine_is_checked():
    with pytest.raises(dt.TaskFailed, match="task '_later' has returns=2, and returned 1 values"):
        dt.wait(dt.task(returns=2)(_later)())
