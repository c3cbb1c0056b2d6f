"""Labels are the program's words, whatever they mean to the library that draws them."""

from __future__ import annotations

import sys
from pathlib import Path

import hangs
import pytest


@pytest.mark.parametrize(
    "label", ["cost in $", "$_{", r"a $ b $ \frac{$", "<b> & ]]>", "_hidden", "ä\u0301 \U0001f600"]
)
def test_any_label_can_be_drawn(tmp_path: Path, label: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"import dovetail as dt\n@dt.task(label={label!r})\ndef body(n):\n    return n\nfor n in range(5):\n    body(n)\n"
    )
    page = tmp_path / "page.html"
    command = [sys.executable, "-m", "dovetail.cli", "run", "--report", str(page), str(program)]
    done = hangs.run(command, timeout=100)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr and page.exists(), done.stderr
