"""`dovetail trace join trace.json`: one trace out of those that the ranks of a program have written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .command_groups import WITH_TASKS

if TYPE_CHECKING:
    from .trace_join import Joined


def describe(joined: Joined, path: Path) -> list[str]:
    """What was written, as sentences."""
    arrows = "1 arrow" if joined.arrows == 1 else f"{joined.arrows} arrows"
    sentences = [f"{path} has {len(joined.ranks)} ranks and {arrows} between tasks"]
    for clock in joined.clocks[1:]:
        ranks = ", ".join(str(rank) for rank in clock["ranks"])
        error = (
            f"at most {clock['error_us']} µs wrong"
            if clock["error_us"] is not None
            else "by the clocks of the day, since no messages go both ways; how wrong is not known"
        )
        drift = f"; the clocks drift by up to {clock['drift_us']} µs" if clock["drift_us"] else ""
        sentences.append(f"the clock of the ranks {ranks} is {clock['ahead_us']} µs ahead of the first, {error}{drift}")
    return sentences + joined.missing


def register(app: typer.Typer) -> None:
    """Adds the sub-commands."""
    traces = typer.Typer(help="Works with traces (DOVETAIL_TRACE).", no_args_is_help=True)
    app.add_typer(traces, name="trace", rich_help_panel=WITH_TASKS)

    @traces.callback()
    def group() -> None:
        pass  # so that `join` stays a word of its own, with one sub-command too

    @traces.command(name="join", help="Makes one trace, with messages as arrows, of those that all ranks have written.")
    def command(
        trace: Annotated[Path, typer.Argument(help="What DOVETAIL_TRACE was: the parts are TRACE.0, TRACE.1, ...")],
        output: Annotated[Path | None, typer.Option("-o", "--output", help="Where to; else TRACE itself.")] = None,
    ) -> None:
        from .trace_join import join
        from .trace_parts import UnusableTrace

        try:
            joined = join(trace, output)
        except UnusableTrace as error:
            print(f"dovetail trace join: {error}", file=sys.stderr)
            sys.exit(2)
        for sentence in describe(joined, output or trace):
            print(f"dovetail trace join: {sentence}")
