"""What all tests of the Python package share."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# Far above what any test takes, also on a machine that does other things.
ALARM_SECONDS = int(os.environ.get("DOVETAIL_TEST_ALARM", "120"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: builds the package; run apart")
    # A shell has what it starts in the background ignore Ctrl-C, and every program below inherits that. One with a handler does not.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure() -> None:
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """A test that hangs, or what is taken down after it, ends the run and says where everybody is."""
    faulthandler.dump_traceback_later(ALARM_SECONDS, exit=True)
    yield
    faulthandler.dump_traceback_later(ALARM_SECONDS, exit=True)


@pytest.fixture(autouse=True, scope="module")
def nothing_left() -> Iterator[None]:
    """Each module begins and ends with no task and no failure that nobody took."""
    import dovetail

    yield
    dovetail.barrier()


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_program(tmp_path: Path) -> Run:
    """Runs a text as a program of its own."""

    def run(text: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        program = tmp_path / "program.py"
        program.write_text(text)
        return subprocess.run(
            [sys.executable, str(program), *arguments],
            capture_output=True,
            text=True,
            timeout=ALARM_SECONDS,
            env={**os.environ, **environment},
            check=False,
        )

    return run


Lines = Callable[..., list[str]]


@pytest.fixture
def lines_of(tmp_path: Path, request: pytest.FixtureRequest) -> Lines:
    """Runs a text behind the module's HEADER as a PyCOMPSs program, and returns the lines that it printed; `errors` has what it said."""

    def run(text: str, *arguments: object, status: int = 0, **environment: str) -> list[str]:
        program = tmp_path / "program.py"
        program.write_text(request.module.HEADER + textwrap.dedent(text))
        command = [sys.executable, "-m", "dovetail.cli", "run", "--pycompss", program, *arguments]
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            timeout=ALARM_SECONDS,
            env={**os.environ, **environment},
            check=False,
        )
        assert done.returncode == status, done.stderr
        run.errors = done.stderr
        return done.stdout.splitlines()

    return run
