"""Where scripts/setup_foreign.sh has put other people's packages and sources. Tests leave out what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

CACHE = Path(os.environ.get("DOVETAIL_SOURCE_DIR", Path(__file__).resolve().parents[1])) / ".cache-foreign"
PYTHON = CACHE / "venv" / "bin" / "python"
SOURCES = CACHE / "sources"


@cache
def interpreters(*packages: str) -> list[str]:
    """The Pythons that have all of these packages: the one that asks, and that of .cache-foreign/venv."""
    found = []
    for python in dict.fromkeys((sys.executable, str(PYTHON))):
        words = [python, "-c", f"import {', '.join(packages)}"]
        # A preloaded library or a path of modules is for the programs under test.
        kept = {name: text for name, text in os.environ.items() if name not in ("LD_PRELOAD", "PYTHONPATH")}
        if Path(python).exists() and subprocess.run(words, env=kept, capture_output=True, check=False).returncode == 0:
            found.append(python)
    return found


def python_with(*packages: str) -> str | None:
    """The first of them, or None."""
    return next(iter(interpreters(*packages)), None)
