"""The package is typed, and `pip install .` gives the module and the command."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_types(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(
        "import dovetail as dt\n"
        "@dt.task\n"
        "def f(x: int) -> str:\n    return str(x)\n"
        "a: str = dt.wait(f(1))\n"
        "b: list[str] = dt.wait([f(1), f(2)])\n"
        "c: int = dt.wait(f(1))\n"
    )
    environment = {**os.environ, "MYPYPATH": str(SOURCE / "python")}
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(program)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    errors = [line for line in result.stdout.splitlines() if "program.py" in line and "error" in line]
    assert len(errors) == 1 and "program.py:7" in errors[0], result.stdout


@pytest.mark.slow
def test_pip_install(tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(SOURCE)], check=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    code = "import dovetail as dt; f = dt.task(lambda x: x + 1); print(dt.wait(f(f(1))))"
    result = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path, check=True
    )
    assert result.stdout == "3\n"
    for program in ("tiom", "doctor", "staging"):
        command = [tmp_path / "venv" / "bin" / "dovetail", program, "--help"]
        subprocess.run(command, capture_output=True, env=environment, check=True)
    command = [python, "-m", "dovetail", "version"]
    assert subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout == "0.1.0\n"
    # A wheel has no links: each library is there once.
    (installed,) = (tmp_path / "venv" / "lib").glob("python*/site-packages/dovetail")
    libraries = [path.name for path in (installed / "lib").iterdir() if ".so" in path.name]
    assert "libdovetail.so" in libraries and not [name for name in libraries if ".so." in name], libraries
