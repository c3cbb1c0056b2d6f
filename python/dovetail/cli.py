"""The command `dovetail`. What runs another program begins at once; all else by way of typer, which takes longer to import than that."""

from __future__ import annotations

import os
import sys

from . import native_commands


def _begin(words: list[str]) -> None:
    """Runs the program that a line without faults asks for, and does not return. Returns where typer has something to say, or all to do."""
    if not words or "_DOVETAIL_COMPLETE" in os.environ:
        return
    name, *rest = words
    if name in native_commands.COMMANDS:
        native_commands.become(name, rest)
    if name in ("run", "observe"):
        from . import command_line, observe_command, run_command

        command = run_command.COMMAND if name == "run" else observe_command.COMMAND
        line = command_line.parsed(command, rest)
        if line is not None:
            program, values = line
            command.call(program, **values)


def main() -> None:
    _begin(sys.argv[1:])
    from .full_command_line import app

    app()


if __name__ == "__main__":
    main()
