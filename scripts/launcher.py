"""The command that starts ranks as `dovetail launch` does, for tests and benchmarks that need no build of the Python package."""

from __future__ import annotations

import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "python" / "dovetail"
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import launch
sys.exit(launch.launch(sys.argv[4:], int(sys.argv[2]), sys.argv[3] == 'keep'))
"""


def command(count: int, *program: str, keep: bool = False) -> list[str]:
    """`keep`: the other ranks go on when one fails."""
    return [sys.executable, "-c", PROGRAM, str(PACKAGE), str(count), "keep" if keep else "end", *program]
