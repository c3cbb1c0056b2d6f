"""The command `dovetail`. Sub-commands that are programs in C++ (`tiom`, `doctor`, `staging`) are found beside the package and get their arguments as
they are."""

from __future__ import annotations

import os
import sys
from importlib import import_module, util
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from .command_groups import AS_THEY_ARE, MACHINE

app = typer.Typer(
    name="dovetail",
    help="Tasks in which computation and storage I/O overlap.",
    no_args_is_help=True,
)

# Sub-commands with modules of their own: each defines `register(app)`. `--help` shows them in this order.
for _name in ("demonstrations", "run", "report", "top", "trace", "launch", "prefetch_commands"):
    if util.find_spec(f"{__package__}.{_name}") is not None:
        import_module(f"{__package__}.{_name}").register(app)

_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def find_program(name: str) -> str:
    """The installed program. Ends with status 2 if it is not there."""
    from . import preload

    found = preload.program(name)
    if found is None:
        print(
            f"dovetail: the program {name} is not installed beside {Path(__file__).parent} and not on the path",
            file=sys.stderr,
        )
        sys.exit(2)
    return found


def _become(name: str, arguments: list[str]) -> NoReturn:
    program = find_program(name)
    sys.stdout.flush()
    os.execv(program, [program, *arguments])


@app.command(
    context_settings=_PASS_ON,
    rich_help_panel=MACHINE,
    help="Measures how much of the I/O of a program with tasks the disk lets it hide (dovetail-tiom).",
)
def tiom(context: typer.Context) -> None:
    _become("dovetail-tiom", context.args)


@app.command(
    context_settings=_PASS_ON,
    rich_help_panel=MACHINE,
    help="Shows which engines work here and how fast the disks are: `dovetail doctor PATH` (dovetail-doctor).",
)
def doctor(context: typer.Context) -> None:
    _become("dovetail-doctor", context.args)


@app.command(
    context_settings=_PASS_ON,
    rich_help_panel=AS_THEY_ARE,
    help="Shows and recovers what is staged on a fast local tier (dovetail-staging).",
)
def staging(context: typer.Context) -> None:
    _become("dovetail-staging", context.args)


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


@app.command(rich_help_panel=MACHINE, help="Shows the version.")
def version() -> None:
    _show_version(True)


def main() -> None:
    app()


if __name__ == "__main__":
    main()
