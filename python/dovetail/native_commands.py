"""Sub-commands that are programs in C++. They are found beside the package, and get their arguments as they are."""

from __future__ import annotations

import os
import sys

from .command_groups import AS_THEY_ARE, MACHINE

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from typing import NoReturn

# The name of each, its program, where `dovetail --help` shows it, and with which sentence.
COMMANDS = {
    "tiom": (
        "dovetail-tiom",
        MACHINE,
        "Measures how much of the I/O of a program with tasks the disk lets it hide (dovetail-tiom).",
    ),
    "doctor": (
        "dovetail-doctor",
        MACHINE,
        "Shows which engines work here and how fast the disks are: `dovetail doctor PATH` (dovetail-doctor).",
    ),
    "staging": (
        "dovetail-staging",
        AS_THEY_ARE,
        "Shows and recovers what is staged on a fast local tier (dovetail-staging).",
    ),
}


def find(name: str) -> str:
    """The installed program. Ends with status 2 if it is not there."""
    from . import preload

    found = preload.program(name)
    if found is None:
        folder = os.path.dirname(os.path.abspath(__file__))
        print(
            f"dovetail: the program {name} is not installed beside {folder} and not on the path",
            file=sys.stderr,
        )
        sys.exit(2)
    return found


def become(command: str, arguments: list[str]) -> NoReturn:
    """The process becomes the program of this sub-command."""
    program = find(COMMANDS[command][0])
    sys.stdout.flush()
    os.execv(program, [program, *arguments])
