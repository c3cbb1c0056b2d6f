"""The command line of `dovetail` as typer has it: all sub-commands, with help, completion, and what is wrong in a line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import typer

from . import native_commands, observe_command, run_command
from .command_groups import MACHINE
from .command_line import Command

app = typer.Typer(
    name="dovetail",
    help="Tasks in which computation and storage I/O overlap.",
    no_args_is_help=True,
)
_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def _function(command: Command) -> Callable[..., None]:
    """What typer makes the sub-command of."""

    def call(words: list[str], **values: Any) -> None:
        command.call(words, **values)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    program = typer.Argument(metavar="PROGRAM ARGUMENTS...", help="What is run; its arguments are left as they are.")
    parameters = [inspect.Parameter("words", kind, annotation=Annotated[list[str], program])]
    for option in command.options:
        of_value = option.kind if option.kind is bool or option.default is not None else option.kind | None
        described = typer.Option(*option.spellings, help=option.help, metavar=option.metavar)
        parameters.append(
            inspect.Parameter(option.name, kind, default=option.default, annotation=Annotated[of_value, described])
        )
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _add(command: Command) -> None:
    app.command(
        command.name,
        rich_help_panel=command.group,
        short_help=command.short_help,
        help=command.help,
        context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False},
    )(_function(command))


def _add_native(name: str, group: str, text: str) -> None:
    @app.command(name, context_settings=_PASS_ON, rich_help_panel=group, help=text)
    def command(context: typer.Context) -> None:
        native_commands.become(name, context.args)


def _show_version(asked: bool) -> None:
    if asked:
        from . import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def common(
    asked: Annotated[
        bool, typer.Option("--version", help="Shows the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass  # what all sub-commands have in common


# In the order in which `--help` shows them. Each of these modules defines `register(app)`.
import_module(f"{__package__}.demonstrations").register(app)
_add(run_command.COMMAND)
for _name in ("report", "top", "trace", "launch"):
    import_module(f"{__package__}.{_name}").register(app)
_add(observe_command.COMMAND)
import_module(f"{__package__}.prefetch_commands").register(app)
for _name, (_, _group, _text) in native_commands.COMMANDS.items():
    _add_native(_name, _group, _text)


@app.command(rich_help_panel=MACHINE, help="Shows the version.")
def version() -> None:
    _show_version(True)
