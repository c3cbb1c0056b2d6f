"""The commands of guided prefetching that run no program: `dovetail plan`, `dovetail advisord`, `dovetail prefetch`. Each `dovetail --help` imports this
module, so that it has no more than their options; what they do is imported by the command that is called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .command_groups import AS_THEY_ARE


def register(app: typer.Typer) -> None:
    """Adds the sub-commands."""

    plans = typer.Typer(help="Shows and joins plans of `dovetail observe`.", no_args_is_help=True)
    app.add_typer(plans, name="plan", rich_help_panel=AS_THEY_ARE)

    @plans.command("show", help="Prints a table with a line for each file.")
    def show_command(
        plan: Annotated[Path, typer.Argument(help="The plan.")],
        picture: Annotated[Path | None, typer.Option(help="Draws offset over time (.png, .svg, .pdf).")] = None,
    ) -> None:
        from . import plan_show

        sys.exit(plan_show.show(plan, picture))

    @plans.command("merge", help="Makes one plan of those of several runs.")
    def merge_command(
        plans: Annotated[list[Path], typer.Argument(help="The plans.")],
        output: Annotated[Path, typer.Option("--output", "-o", help="The plan of all.")],
    ) -> None:
        from . import plan_show

        sys.exit(plan_show.merge(plans, output))

    @app.command(
        "advisord",
        rich_help_panel=AS_THEY_ARE,
        help="Gives the advice that all programs of `dovetail run --advised` want, by one set of rules.",
    )
    def advisord_command(
        configuration: Annotated[Path, typer.Option(help="The rules (JSON).")],
        stay: Annotated[bool, typer.Option("--stay", help="Do not end with the last program.")] = False,
    ) -> None:
        from . import advisor, native_commands

        advisor.serve(configuration, stay, native_commands.find("dovetail-advisord"))

    prefetch = typer.Typer(help="Shows what is read ahead.", no_args_is_help=True)
    app.add_typer(prefetch, name="prefetch", rich_help_panel=AS_THEY_ARE)

    # With one command alone its name would be left out.
    @prefetch.callback()
    def prefetch_command() -> None:
        pass

    @prefetch.command("status", help="Prints what is read ahead for the programs that run now, and by the advisor.")
    def status_command(
        as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    ) -> None:
        from . import prefetch_status

        sys.exit(prefetch_status.status(as_json))
