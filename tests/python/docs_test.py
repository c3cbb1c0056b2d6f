"""The programs in docs/python.md run."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


def programs_of_the_page() -> list[str]:
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(programs) == 2
    return programs


def test_the_complete_program(run_program):
    result = run_program(programs_of_the_page()[0])
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{16 * 100_000 * 8} bytes written, the file has {16 * 100_000 * 8}\nequal\n"


def test_the_source_of_events(run_program):
    result = run_program(
        f"""
import threading

import dovetail as dt

{programs_of_the_page()[1]}

letters = []


@dt.task
def receive(number):
    return mailbox.receive(number)


with dt.Runtime(workers=1, report_after=0.05):
    mailbox = Mailbox(lambda: letters.pop(0) if letters else None)
    futures = [receive(number) for number in range(3)]
    assert dt.wait_for_any(futures, timeout=0.5) is None
    letters += [(2, "c"), (0, "a"), (1, "b")]
    print(*dt.wait(futures))
"""
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "a b c\n"
    assert "waits for letter 2 (polling service 'mailbox')" in result.stderr
