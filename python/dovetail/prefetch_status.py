"""`dovetail prefetch status`: what is read ahead for the programs of this user that run now.

A `dovetail run` has memory in which its program writes where it is, and a description of it beside that. This command finds both among the open files of that process, in
/proc: there is no socket, and neither the program nor `dovetail run` has anything to do for it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import advice_memory, advisor, detect, inside_counts, replay
from .plan_report import WHY, Advised, Detected, Inside, lines_of_advice, lines_of_detection, lines_of_inside, table
from .run_description import DESCRIPTION, unpacked

_PLAN, _DETECTION, _RULES = "dovetail-plan", "dovetail-detection", "dovetail-advice"
_LINK = re.compile(r"/memfd:(dovetail-\w+) \(deleted\)")
_LONGEST_DESCRIPTION = 1 << 26
_NOTHING = 2


@dataclass(frozen=True, slots=True)
class Following:
    """Where a program is in one file of its plan. `runs`: of pages in the plan, 0 of a file that is left to the system; `at`: the next one. `hits` and `late`: reads that were as
    fast as memory, and that waited; None: they are not counted. In bytes, `asked`: that the system was asked to read, `ahead`: of these, without gaps, what the program has not come
    to. `left_the_plan`: reads. `given_up`: why the file is left to the system, or an empty text."""

    path: str
    at: int
    runs: int
    hits: int | None
    late: int | None
    asked: int
    ahead: int
    left_the_plan: int
    given_up: str


@dataclass(frozen=True, slots=True)
class Run:
    """A program with what is read ahead for it. `process`: of `dovetail run`. `not_begun`: files of the plan that it has not come to. None: there is no such way."""

    process: int
    program: list[str]
    plan: str | None
    seen_by: str
    files: list[Following] | None
    not_begun: int
    detected: list[Detected] | None
    rules: list[Advised] | None


@dataclass(frozen=True, slots=True)
class Program:
    """A program that uses Dovetail, and what it has read ahead itself: by each way by which there was anything."""

    process: int
    program: list[str]
    ways: list[Inside]


def status(as_json: bool) -> int:
    """Prints it. Returns the exit status: 2 if nothing runs that could be looked at."""
    runs = sorted(_runs(), key=lambda run: run.process)
    programs = sorted(_programs(), key=lambda program: program.process)
    by_advisor: list[Advised] | None = None
    problem = ""
    try:
        by_advisor = advisor.status()
    except advisor.NoAdvisor as error:
        problem = str(error)
    if as_json:
        inside = [asdict(program) for program in programs]
        print(
            json.dumps(
                {"runs": [asdict(run) for run in runs], "advisor": _rows(by_advisor), "inside": inside}, indent=1
            )
        )
    else:
        lines = [] if by_advisor is None else [*lines_of_advice(by_advisor)]
        lines += [_shown(line) for run in runs for line in _lines(run)]
        lines += [_shown(line) for program in programs for line in _lines_of_program(program)]
        # Paths may have bytes that are no text.
        sys.stdout.buffer.write(os.fsencode("".join(f"{line}\n" for line in lines)))
        sys.stdout.flush()
    if runs or programs or by_advisor is not None:
        return 0
    print(
        "dovetail prefetch status: no program runs with a plan, rules or --detect, none has read ahead what its tasks declare or it asks for, "
        f"and there is no advisor: {problem}",
        file=sys.stderr,
    )
    return _NOTHING


def _rows(files: list[Advised] | None) -> list[dict[str, Any]] | None:
    return None if files is None else [asdict(file) for file in files]


def _runs() -> Iterator[Run]:
    """Of this user. What ends meanwhile, or cannot be looked at, is left out."""
    for process, memories in _processes(DESCRIPTION):
        # A process can make memory of these names, with anything in it. It must not keep the others from being shown.
        with contextlib.suppress(Exception):
            yield _run(process, memories)


def _programs() -> Iterator[Program]:
    """The same of programs that use Dovetail, and have read ahead anything. A child that was forked counts in the memory of its parent."""
    seen = set()
    for process, memories in sorted(_processes(inside_counts.NAME)):
        with contextlib.suppress(Exception), _opened(memories[inside_counts.NAME]) as memory:
            number = os.fstat(memory).st_ino
            if number in seen:
                continue
            seen.add(number)
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[:-1]
            if ways := list(inside_counts.counted(memory)):
                yield Program(process, [os.fsdecode(word) for word in words], ways)


def _processes(memory: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Those that have memory of this name, with all memories of Dovetail that they have."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(Exception):
            if folder.stat().st_uid == os.getuid():
                memories = _memories(folder / "fd")
                if memory in memories:
                    yield int(folder.name), memories


def _memories(folder: Path) -> dict[str, str]:
    """The path of each memory of Dovetail that a process has open, by its name."""
    found = {}
    for entry in os.scandir(folder):
        # Of a descriptor that was closed meanwhile there is nothing to be read.
        with contextlib.suppress(OSError):
            match = _LINK.fullmatch(os.readlink(entry.path))
            if match is not None:
                found[match[1]] = entry.path
    return found


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    """Memory that this user has made, and that cannot be shortened. Raises OSError, and ValueError if it is something else by now."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        status = os.fstat(descriptor)
        # A process may have got it from another user before it became this user's.
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
            raise ValueError("it is no memory of this user")
        if _LINK.fullmatch(os.readlink(f"/proc/self/fd/{descriptor}")) is None:
            raise ValueError("it is no memory of Dovetail")
        if not fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
            raise ValueError("it can be shortened")
        yield descriptor
    finally:
        os.close(descriptor)


def _shown(text: str) -> str:
    """Without what a terminal obeys. Bytes that are no text stay."""
    return "".join(
        letter if letter.isprintable() or "\udc80" <= letter <= "\udcff" else ascii(letter)[1:-1] for letter in text
    )


def _run(process: int, memories: dict[str, str]) -> Run:
    """Raises OSError if it ends meanwhile, and any other error if what is there is none of ours."""
    with _opened(memories[DESCRIPTION]) as memory:
        size = os.fstat(memory).st_size
        known = unpacked(os.pread(memory, min(size, _LONGEST_DESCRIPTION), 0))
    files: list[Following] | None = None
    detected: list[Detected] | None = None
    rules: list[Advised] | None = None
    not_begun = 0
    if _PLAN in memories:
        with _opened(memories[_PLAN]) as memory:
            states = replay.states(memory)
        begun = [(path, one) for path, one in zip(known.files, states, strict=True) if one.is_begun or one.asked]
        files = [_following(path, state, known.system) for path, state in begun]
        not_begun = len(states) - len(begun)
    if _DETECTION in memories:
        with _opened(memories[_DETECTION]) as memory:
            detected = list(detect.detected(memory))
    if _RULES in memories and not known.advised:
        with _opened(memories[_RULES]) as memory:
            rules = list(advice_memory.advised(memory, os.fstat(memory).st_size))
    seen_by = "the kernel's events" if known.system else "a library that is loaded into it"
    return Run(process, known.words, known.plan, seen_by, files, not_begun, detected, rules)


def _lines_of_program(program: Program) -> Iterator[str]:
    yield f"{program.process}: {' '.join(program.program)}"
    yield from lines_of_inside(program.ways)


def _following(path: str, state: replay.State, system: bool) -> Following:
    # The kernel's events do not show waits.
    is_counted = state.is_timed and state.runs > 0 and not system
    return Following(
        path,
        state.next if state.runs else 0,
        state.runs,
        max(0, state.reads - state.waited) if is_counted else None,
        state.waited if is_counted else None,
        state.asked,
        state.ahead,
        state.unforeseen,
        WHY.get(state.given_up, "").strip(" ()"),
    )


def _lines(run: Run) -> Iterator[str]:
    yield f"{run.process}: {' '.join(run.program)}"
    yield f"its reads are seen by {run.seen_by}"
    if run.files is not None:
        yield f"plan {run.plan}"
        rows: list[tuple[str, ...]] = [
            ("at run", "of", "hit", "late", "left the plan", "MB asked for", "MB ahead", "file")
        ]
        for file in run.files:
            hits, late = ("-" if number is None else str(number) for number in (file.hits, file.late))
            bytes_of = (f"{file.asked / 1e6:.1f}", f"{file.ahead / 1e6:.1f}")
            note = f" ({file.given_up})" if file.given_up else "" if file.runs else " (left to the system)"
            numbers = (str(file.at), str(file.runs), hits, late, str(file.left_the_plan))
            rows.append((*numbers, *bytes_of, file.path + note))
        if len(rows) > 1:
            yield from table(rows)
        if run.not_begun:
            yield f"{run.not_begun} more files of the plan were not read yet"
    if run.rules is not None:
        yield from lines_of_advice(run.rules)
    if run.detected is not None:
        yield from lines_of_detection(run.detected, live=True)
