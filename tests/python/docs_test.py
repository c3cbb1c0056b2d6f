"""The program in docs/python.md runs."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


def test_the_program_of_the_page(run_program):
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(programs) == 1
    result = run_program(programs[0])
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{16 * 100_000 * 8} bytes written, the file has {16 * 100_000 * 8}\nequal\n"
