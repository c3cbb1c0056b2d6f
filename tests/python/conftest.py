"""What all tests of the Python package share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "scripts")]

import hangs  # noqa: E402 (behind the path to it)

# Far above what any test takes, also on a machine that does other things.
ALARM_SECONDS = int(os.environ.get("DOVETAIL_TEST_ALARM", "240"))
CHILD_SECONDS = ALARM_SECONDS * 5 / 6
ALARM = pytest.StashKey[hangs.Alarm]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: builds the package; run apart")
    # A shell has what it starts in the background ignore Ctrl-C, and every program below inherits that. One with a handler does not.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    # Nothing is captured here yet: what is said later, in the middle of a test, would go nowhere.
    config.stash[ALARM] = hangs.Alarm(os.dup(2))


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[ALARM].stop()


@pytest.fixture(autouse=True)
def alarm(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that hangs, or what is taken down after it, ends the run and says where everybody is."""
    request.config.stash[ALARM].set(ALARM_SECONDS)
    yield
    request.config.stash[ALARM].set(ALARM_SECONDS)


@pytest.fixture(autouse=True, scope="module")
def nothing_left() -> Iterator[None]:
    """Each module begins and ends with no task and no failure that nobody took."""
    import dovetail

    yield
    dovetail.barrier()


def script(path: Path, text: str) -> Path:
    """Writes a program that can be started by its name."""
    path.write_text(text)
    path.chmod(0o755)
    return path


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_program(tmp_path: Path) -> Run:
    """Runs a text as a program of its own."""

    def run(text: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        program = tmp_path / "program.py"
        program.write_text(text)
        return hangs.run(
            [sys.executable, str(program), *arguments],
            timeout=CHILD_SECONDS,
            env={**os.environ, **environment},
        )

    return run


Lines = Callable[..., list[str]]


@pytest.fixture
def lines_of(tmp_path: Path, request: pytest.FixtureRequest) -> Lines:
    """Runs a text behind the module's HEADER as a PyCOMPSs program, and returns the lines that it printed; `errors` has what it said.

    `before` are further options of `dovetail run`.
    """

    def run(
        text: str, *arguments: object, status: int = 0, before: Sequence[object] = (), **environment: str
    ) -> list[str]:
        program = tmp_path / "program.py"
        program.write_text(request.module.HEADER + textwrap.dedent(text))
        command = [sys.executable, "-m", "dovetail.cli", "run", "--pycompss", *before, program, *arguments]
        done = hangs.run(
            [str(word) for word in command],
            timeout=CHILD_SECONDS,
            env={**os.environ, **environment},
        )
        assert done.returncode == status, done.stderr
        run.errors = done.stderr
        return done.stdout.splitlines()

    return run
