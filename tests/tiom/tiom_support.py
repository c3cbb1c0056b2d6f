"""What the tests of dovetail-tiom share: how it is started, and how tests are run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

SOURCE = Path(os.environ.get("DOVETAIL_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("DOVETAIL_BUILD_DIR", SOURCE / "build" / "release"))
sys.path[:0] = [str(SOURCE / "scripts")]

import hangs  # noqa: E402 (behind the path to it)

TIOM = BUILD / "bin" / "dovetail-tiom"
SMALL = os.environ.get("DOVETAIL_TEST_SCALE") == "small"
MODES = ("mix", "1to1", "fjio", "fjc")
PATTERNS = ("sr", "sw", "rr", "rw")
PLAIN = ["standalone", "threads"]
VARIANTS = [*PLAIN, "blocking", "nonblocking"]
BLOCK, BLOCKS, SERIES = 8192, 22, 3
PAGE = 4096
# A small number of turns: the tests are about what is done, not about how long it takes.
COMMON = ("--calibration", "1000", "--no-model", "--workers", "2")


def check(condition: object, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def tiom(*arguments: object, status: int = 0, **environment: str) -> subprocess.CompletedProcess:
    done = hangs.run(
        [TIOM, *map(str, arguments)],
        timeout=200,
        env={**os.environ, "DOVETAIL_PYTHON": sys.executable, **environment},
    )
    check(
        done.returncode == status,
        f"{' '.join(map(str, arguments))}: status {done.returncode}, not {status}:\n{done.stdout}{done.stderr}",
    )
    return done


def result_of(*arguments: object) -> dict:
    return json.loads(tiom("--json", *arguments).stdout)


def file_options(folder: Path, *more: object) -> tuple:
    return ("--file", folder / "data", "--size", BLOCK * BLOCKS, "--block", BLOCK, "--series", SERIES, *COMMON, *more)


def sweep_options(folder: Path) -> tuple:
    return ("--sweep", "--output", folder / "sweep", "--file", folder / "data", "--size", "1M", "--block", "4K-16K",
            "--compute", "1,2", "--series", "2,4", "--rounds", 2, *COMMON)  # fmt: skip


def lines_of(folder: Path) -> list[str]:
    path = folder / "sweep" / "points.jsonl"
    return path.read_text().split("\n")[:-1] if path.exists() else []


def main(tests: list[Callable[[Path], None]]) -> None:
    """Run each in a folder of its own, or those whose names hold an argument."""
    check(TIOM.is_file(), f"{TIOM} is missing: build it, or set DOVETAIL_BUILD_DIR")
    failed = 0
    for test in tests:
        if len(sys.argv) > 1 and not any(word in test.__name__ for word in sys.argv[1:]):
            continue
        folder = Path(tempfile.mkdtemp(prefix="dovetail-tiom-"))
        try:
            test(folder)
            print(f"passed   {test.__name__}", flush=True)
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"FAILED   {test.__name__}", flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 0)


def tests_in(names: dict) -> list[Callable[[Path], None]]:
    return [test for name, test in names.items() if name.startswith("test_")]
