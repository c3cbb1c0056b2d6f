"""`dovetail run --staged CONFIGURATION -- program`: the process becomes the program, whose files are written by way of a fast local tier."""

from __future__ import annotations

import os
import sys

from . import preload

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from pathlib import Path

LIBRARY = "libdovetail-staging.so"
CONFIGURATION = "DOVETAIL_STAGING_CONFIGURATION"


def run(words: list[str], configuration: str | Path) -> int:
    """Returns only if the program cannot be started: 2, and why was told. What is wrong in the configuration the library tells, before the program begins."""
    try:
        if not os.path.isfile(configuration):
            raise preload.Refused(f"--staged: {configuration}: {_reason(configuration)}")
        command = preload.command(words)
        library = preload.library(LIBRARY)
        others = [each for each in preload.preloaded(os.environ) if each != library]
        # Children begin in other folders, and read it as well.
        os.environ[CONFIGURATION] = os.path.abspath(configuration)
        os.environ["LD_PRELOAD"] = ":".join([library, *others])
        if preload.is_binary(command[0]) and preload.is_linked_statically(command[0]):
            print(f"dovetail: {words[0]} is linked statically: its files are not staged", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(command[0], words if len(command) == len(words) else command)
    except preload.Refused as refusal:
        print(f"dovetail run: {refusal}", file=sys.stderr)
    except OSError as error:
        print(f"dovetail run: {words[0]}: {error.strerror}", file=sys.stderr)
    return 2


def _reason(path: str | Path) -> str:
    return "is no file" if os.path.exists(path) else "there is no such file"
