"""Changes one line of a room at random, builds, runs the room's tests, and counts how many changes they notice.

The changes are made in a copy of the tree, `build/mutants/tree`. A change that does not compile, or changes no instruction, is not counted.
The others are listed with the test that notices them: it fails again with the change when it runs alone, and passes without the change.
Where there is none, a test is missing, or the line makes no difference that a test may assert (time and memory orders make none).

All changes first meet the short form of the tests, and those that it does not notice meet the long form then. `build/mutants/<seed>.jsonl`
keeps what is known of each: the same command with the same `--seed` goes on where it was interrupted.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from arrows import read_rooms
from mutated_copy import FORMS, SOURCE, Change, MutatedCopy

# What a line may become: each place where the pattern occurs is one change.
CHANGES: tuple[tuple[str, str], ...] = (
    (r" < ", " <= "),
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r" \+= ", " -= "),
    (r" -= ", " += "),
    (r"\+\+", "--"),
    (r"--", "++"),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\bif \((?!constexpr)(.*)\) \{$", r"if (!(\1)) {"),
    (r"\breturn (?!nullptr)(\w+(?:\(\))?);$", r"return {};"),
    (r"\bcontinue;$", "break;"),
    (r"(?<= )0(?=[;,)])", "1"),
    (r"(?<= )1(?=[;,)])", "0"),
    # A statement that is a call or an assignment, on a line of its own.
    (
        r"^(\s+)(?!return|delete|throw|co_|using|auto|const|static|case|default|break|friend|else)[\w:.\->()*]+(\(.*\)| = .*);$",
        r"\1;",
    ),
)


def changes(text: str) -> Iterator[tuple[int, str]]:
    """Every change of the text of a source: the number of a line, and what it becomes."""
    for number, line in enumerate(text.splitlines()):
        code = line.split("//")[0].rstrip()
        if not code.strip() or code.lstrip().startswith(("#", "*", '"')) or '"' in code or "operator" in code:
            continue
        for pattern, replacement in CHANGES:
            for found in re.finditer(pattern, code):
                yield number, code[: found.start()] + found.expand(replacement) + code[found.end() :]


class Journal:
    """What is known of a sample, one JSON object a line: the sample, then changes as they begin, and what was seen of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.lines: list[dict[str, Any]] = []
        if path.exists():
            self.lines = [json.loads(line) for line in path.read_text().splitlines()]

    def append(self, **line: Any) -> None:
        self.lines.append(line)
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def seen(self, form: str) -> dict[Change, str | None]:
        """The changes that have met this form of the tests, and the test that noticed them."""
        return {
            Change(**line["change"]): line["noticed_by"]
            for line in self.lines
            if "noticed_by" in line and line["form"] == form
        }


def changes_of(rooms: list[str], tree: Path) -> list[Change]:
    """All that can be changed in the rooms."""
    return [
        Change(room, str(file.relative_to(tree)), number, file.read_text().splitlines()[number], line)
        for room in rooms
        for file in sorted((tree / read_rooms()[room][0]).glob("*.[ch]pp"))
        for number, line in changes(file.read_text())
    ]


def begin(copy: MutatedCopy, journal: Journal, arguments: argparse.Namespace) -> None:
    """The copy is ready. It is the one that the sample was begun with, if it was begun before."""
    if not journal.lines:
        copy.copy()
        copy.build_as_it_is()
        journal.append(rooms=arguments.rooms, digest=copy.digest())
        return
    begun = journal.lines[0]
    if "change" in (last := journal.lines[-1]):
        copy.undo(Change(**last["change"]))
    if begun["rooms"] != arguments.rooms or begun["digest"] != copy.digest():
        sys.exit(f"mutants: seed {arguments.seed} was begun with other rooms or sources. Take another seed.")
    copy.build_as_it_is()
    copy.usual = {line["form"]: line["usual"] for line in journal.lines if "usual" in line}


def try_one(copy: MutatedCopy, journal: Journal, change: Change, form: str) -> str | None:
    began = time.monotonic()
    journal.append(change=asdict(change))
    noticed_by = copy.notices(change, form)
    seconds = round(time.monotonic() - began)
    journal.append(change=asdict(change), form=form, noticed_by=noticed_by, seconds=seconds)
    if noticed_by is not None:
        said = f"noticed by {noticed_by}" if noticed_by else f"not noticed by the {form} form"
        print(f"mutants: {seconds} s, {said}: {change}", flush=True)
    return noticed_by


def sample(copy: MutatedCopy, journal: Journal, arguments: argparse.Namespace) -> None:
    """Tries changes until there are enough that count, or time is over."""
    end = time.monotonic() + arguments.seconds
    possible = list(dict.fromkeys(changes_of(arguments.rooms, copy.tree)))
    random.Random(arguments.seed).shuffle(possible)
    counted: list[Change] = []
    for form in FORMS:
        if form not in copy.usual:
            copy.measure(form)
            journal.append(form=form, usual=copy.usual[form])
        left = possible if form == "short" else [change for change in counted if not journal.seen("short")[change]]
        wanted = arguments.number if form == "short" else len(left)
        while left and wanted > 0:
            # Those of headers come last: each builds much again. Changes that do not count are replaced.
            batch, left = left[:wanted], left[wanted:]
            for change in sorted(batch, key=lambda change: change.file.endswith(".hpp")):
                seen = journal.seen(form)
                if change not in seen and time.monotonic() >= end:
                    return
                noticed_by = seen[change] if change in seen else try_one(copy, journal, change, form)
                wanted -= noticed_by is not None
                if noticed_by is not None and form == "short":
                    counted.append(change)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="+", help="rooms of src")
    parser.add_argument("--number", type=int, default=100, help="of changes, shared by the rooms by their size")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no change after that")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    arguments = parser.parse_args()
    # What is under way is undone then, and its tests end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"mutants: seed {arguments.seed}", flush=True)
    folder = SOURCE / "build" / "mutants"
    folder.mkdir(parents=True, exist_ok=True)
    copy = MutatedCopy(folder, arguments.rooms)
    journal = Journal(folder / f"{arguments.seed}.jsonl")
    begin(copy, journal, arguments)
    sample(copy, journal, arguments)
    short, long = (journal.seen(form) for form in FORMS)
    counted = [change for change, noticed_by in short.items() if noticed_by is not None]
    noticed = [change for change in counted if short[change] or long.get(change)]
    print(f"mutants: {len(counted)} counted, {len(noticed)} noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
