"""What the tests of examples/heat share. Run by ctest, or by hand from any folder: `python3 heat_small_test.py`."""

from __future__ import annotations

import os
import shutil
import struct
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(os.environ.get("DOVETAIL_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("DOVETAIL_BUILD_DIR", SOURCE / "build" / "release"))
HEAT = BUILD / "bin" / "heat"
SMALL = os.environ.get("DOVETAIL_TEST_SCALE") == "small"
VARIANTS = ("plain", "pausing", "bound")
PAGE = 4096

sys.path[:0] = [str(SOURCE / "bench" / "devices"), str(SOURCE / "examples" / "heat"), str(SOURCE / "scripts")]

import hangs  # noqa: E402 (behind the path to it)


class Skipped(Exception):
    """This machine cannot run the test; the message says why."""


def check(condition: object, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def main(*tests: Callable[[Path], None]) -> None:
    """Run each test in a folder of its own and exit: 0 passed, 1 failed, 77 all of them skipped.

    With names as arguments only those are run; `--list` prints them all, so that each is a test of ctest.
    """
    named = {test.__name__: test for test in tests}
    if sys.argv[1:] == ["--list"]:
        print("\n".join(named))
        sys.exit(0)
    if unknown := set(sys.argv[1:]) - set(named):
        print(f"no such test: {', '.join(unknown)}; there are {', '.join(named)}", file=sys.stderr)
        sys.exit(2)
    check(HEAT.is_file(), f"{HEAT} is missing: build it, or set DOVETAIL_BUILD_DIR")
    passed = failed = 0
    for test in [named[name] for name in sys.argv[1:]] or tests:
        folder = Path(tempfile.mkdtemp(prefix="dovetail-heat-"))
        try:
            test(folder)
            passed += 1
            print(f"passed   {test.__name__}", flush=True)
        except Skipped as reason:
            print(f"skipped  {test.__name__}: {reason}", flush=True)
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"FAILED   {test.__name__}", flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 0 if passed else 77)


@dataclass
class Result:
    """How a run ended."""

    status: int
    output: str
    errors: str

    def expect(self, status: int, *words: str) -> Result:
        """The exit status is this one, and standard error has these words in it."""
        check(self.status == status, f"exit status {self.status}, not {status}; it said:\n{self.output}{self.errors}")
        for word in words:
            check(word in self.errors, f"{word!r} is missing in what it said:\n{self.errors}")
        return self


def run(
    *arguments: object, command: tuple[str, ...] = (), limits: Callable[[], None] | None = None, **environment: str
) -> Result:
    """heat with these arguments, behind `command` if given, `limits` being called in the child before it starts."""
    done = hangs.run(
        [*command, str(HEAT), *map(str, arguments)],
        env={**os.environ, **environment},
        preexec_fn=limits,
        timeout=100,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def field_file(folder: Path) -> Path:
    """An initial field of 61 x 47 cells, the same each time."""
    path = folder / "field"
    values = [((row * 7919 + column * 104729) % 1009) / 3.0 for row in range(61) for column in range(47)]
    path.write_bytes(b"HEATFLD1" + struct.pack(f"<QQ{len(values)}d", 61, 47, *values))
    return path


@dataclass(frozen=True)
class Header:
    """The header of a checkpoint, read without the program under test."""

    state: int
    step: int
    rows: int
    columns: int
    block: int

    COMPLETE = 1


def read_header(path: Path) -> Header | None:
    """None for a file that is not there or has no header."""
    raw = path.read_bytes()[:PAGE] if path.exists() else b""
    if len(raw) < PAGE or raw[:8] != b"HEATCKPT":
        return None
    _, _, state, step, rows, columns, block = struct.unpack_from("<8sIIQQQQ", raw)
    return Header(state, step, rows, columns, block)


def complete_checkpoints(directory: Path) -> dict[int, Path]:
    """Step and file of the checkpoints whose headers say that they are complete."""
    found = {}
    for slot in range(3):
        path = directory / f"checkpoint-{slot}.heat"
        header = read_header(path)
        if header is not None and header.state == Header.COMPLETE:
            found[header.step] = path
    return found


def final_bytes(directory: Path) -> bytes:
    return (directory / "final.heat").read_bytes()
