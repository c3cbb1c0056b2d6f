"""What a sub-command of `dovetail` takes, described once: typer makes its command line of it, with help and completion (`full_command_line.py`).

To import typer takes longer than many a program that `dovetail run` starts. So a line that has nothing wrong in it is read here, by the same description; help, and
the sentence about what is wrong, are left to typer. This module imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Option:
    """`--name VALUE`, or `--name` alone if `kind` is bool. `kind`: makes the value of its text, and raises ValueError. Without the option the value is `default`. `others`: more
    spellings of it. `metavar`: what the help shows for the value."""

    __slots__ = ("default", "help", "kind", "metavar", "name", "spellings")

    def __init__(
        self,
        name: str,
        help: str,
        kind: type[str | float | bool] = str,
        default: str | None = None,
        others: tuple[str, ...] = (),
        metavar: str | None = None,
    ) -> None:
        self.name = name.removeprefix("--").replace("-", "_")
        self.spellings = (name, *others)
        self.help = help
        self.kind = kind
        self.default = False if kind is bool else default
        self.metavar = metavar


class Command:
    """A sub-command that runs a program: its options come before the program's name, and what comes behind that is the program's. `call`: gets these words, and the value of
    each option by its name. `group`: where `dovetail --help` shows it, with `short_help`."""

    __slots__ = ("call", "group", "help", "name", "options", "short_help")

    def __init__(
        self,
        name: str,
        call: Callable[..., None],
        options: tuple[Option, ...],
        group: str,
        help: str,
        short_help: str | None = None,
    ) -> None:
        self.name = name
        self.call = call
        self.options = options
        self.group = group
        self.help = help
        self.short_help = short_help


def parsed(command: Command, words: list[str]) -> tuple[list[str], dict[str, Any]] | None:
    """The program's words, and the values of the options. None: something is wrong in the line, or asked for help."""
    known = {spelling: option for option in command.options for spelling in option.spellings}
    values: dict[str, Any] = {option.name: option.default for option in command.options}
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word = words[at]
        at += 1
        if word == "--":
            break
        spelling, has_value, text = word.partition("=")
        option = known.get(spelling)
        if option is None or (option.kind is bool and has_value):
            return None
        if option.kind is bool:
            values[option.name] = True
            continue
        if not has_value:
            if at == len(words):
                return None
            text = words[at]
            at += 1
        try:
            values[option.name] = option.kind(text)
        except ValueError:
            return None
    return (words[at:], values) if at < len(words) else None
