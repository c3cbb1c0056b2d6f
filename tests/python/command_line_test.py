"""`dovetail run` and `dovetail observe` read a line as typer does, and start a program without what takes long to import."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from dovetail import command_line, observe_command, run_command
from dovetail.full_command_line import app

SEED = int(os.environ.get("DOVETAIL_TEST_SEED", random.randrange(1 << 30)))
ROUNDS = int(os.environ.get("DOVETAIL_TEST_ROUNDS", "200"))
BY_TYPER = typer.main.get_command(app)
COMMANDS = {command.name: command for command in (run_command.COMMAND, observe_command.COMMAND)}
Line = tuple[list[str], dict[str, Any]] | None
# For the moment in which the program would start.
BEFORE = """
import os, sys
def started(*_, **__):
    print(*sorted({name for name in HEAVY if name in sys.modules}))
    sys.stdout.flush()
    os._exit(0)
os.posix_spawn = started
from dovetail.cli import main
main()
"""
HEAVY = {"ctypes", "dataclasses", "inspect", "json", "jsonschema", "pathlib", "re", "rich", "subprocess", "typer", "typing", "dovetail._core"}  # fmt: skip


def by_typer(name: str, words: list[str], monkeypatch: pytest.MonkeyPatch) -> Line:
    found: list[Line] = []
    monkeypatch.setattr(COMMANDS[name], "call", lambda program, **values: found.append((program, values)))
    try:
        BY_TYPER.main(args=[name, *words], standalone_mode=False)
    except BaseException:
        return None
    return found[0] if found else None


def some_line(dice: random.Random, command: command_line.Command) -> list[str]:
    words: list[str] = []
    for _ in range(dice.randrange(5)):
        option = dice.choice(command.options)
        spelling = dice.choice(option.spellings)
        value = dice.choice(["a", "", "-5", "--plan", "2.5", "1e3", "nan", "x y", "/a/b", "=", "--", "é\udcff"])
        words += dice.choice([[spelling], [spelling, value], [f"{spelling}={value}"], [spelling[:-1]], [spelling[1:]]])
    return words + dice.choice([[], ["--"], ["-"], ["--help"], ["program"], ["--", "-p", "--", "--plan"], ["p", "--help", ""], ["", "x"]])  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_lines_are_read_as_by_typer(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    print("DOVETAIL_TEST_SEED is", SEED, flush=True)
    taken = 0
    for number in range(ROUNDS):
        words = some_line(random.Random(SEED + number), COMMANDS[name])
        wanted = by_typer(name, words, monkeypatch)
        # Numbers that are none differ from themselves.
        assert repr(command_line.parsed(COMMANDS[name], words)) == repr(wanted), (SEED + number, words)
        taken += wanted is not None
    assert ROUNDS / 20 < taken < ROUNDS * 19 / 20


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (["run", "--detect", "--"], set()),
        (["run", "--plan", "plan.json", "--"], {"json", "re"}),
        (["run", "--configuration", "advice.json", "--"], {"json", "re"}),
        (["observe", "--"], set()),
    ],
    ids=lambda value: value[1] if isinstance(value, list) and value[0] == "run" else None,
)
def test_a_program_starts_before_what_takes_long_is_imported(
    words: list[str], needed: set[str], tmp_path: Path
) -> None:
    (tmp_path / "plan.json").write_text('{"dovetail_plan": 1, "program": ["true"], "files": []}')
    (tmp_path / "advice.json").write_text('{"File": {"Path": "/a", "WillNeed": {}}}')
    lines = BEFORE.replace("HEAVY", repr(HEAVY))
    done = subprocess.run(
        [sys.executable, "-c", lines, *words, "/bin/true"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    # Some of it, an interpreter itself may have imported for its packages.
    of_python = subprocess.run(
        [sys.executable, "-c", f"import sys; print(*({HEAVY} & set(sys.modules)))"], capture_output=True, text=True, check=True
    )  # fmt: skip
    assert set(done.stdout.split()) - set(of_python.stdout.split()) <= needed, done.stderr
