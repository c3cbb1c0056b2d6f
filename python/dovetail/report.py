"""`dovetail run --report out.html app.py`: one page about a run, with everything in it. `dovetail report` makes it of traces.

With the former, beside the page there are the picture of the timeline and the trace, which opens in Perfetto. The data are the runtime's trace and what admission
says of devices. The page needs no server.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn
from urllib.parse import quote

import typer

from .command_groups import WITH_TASKS
from .report_memory import Memory

_ENDINGS = (".html", ".htm")


def unusable(page: Path, is_alone: bool = False) -> str | None:
    """Why no report could be written to this path. Asked before the program runs. `is_alone`: nothing is written beside it."""
    given = page if is_alone else f"--report {page}"
    if page.suffix not in _ENDINGS:
        return f"{given}: the name must end with .html"
    folder = page.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        return f"{given}: {folder} is no folder that can be written to"
    for path in [page] if is_alone else _files(page):
        # Opening a pipe would wait for a reader after the program has run; a device would keep nothing.
        if path.is_symlink() or (path.exists() and not path.is_file()):
            return f"{given}: {path} is there and is no regular file"
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        return f"a report needs jinja2 and matplotlib ({error}): pip install jinja2 matplotlib"
    return None


def of_rank(page: Path) -> Path:
    """The page of this process: `out.3.html` of rank 3, if several processes run the program."""
    from . import _core

    rank, size = _core.rank_of_process()
    return page.with_name(f"{page.stem}.{rank}{page.suffix}") if size > 1 else page


def trace_of_rank(trace: str) -> str:
    """Where the runtime of this process writes the trace that is asked for."""
    from . import _core

    rank, size = _core.rank_of_process()
    return f"{trace}.{rank}" if size > 1 else trace


def trace_beside(page: Path) -> Path:
    """Where the trace is kept that belongs to a page."""
    return page.with_suffix(".trace.json")


def _files(page: Path) -> tuple[Path, Path, Path]:
    """The page, the picture and the trace of a report."""
    return page, page.with_suffix(".png"), trace_beside(page)


def write(trace: Path, page: Path, title: str, memory: Memory) -> list[Path]:
    """Writes page, picture and trace, and returns their paths. `trace` is what the runtime wrote, `memory` what the program had. Raises OSError."""
    from . import _core, asynchronous, processes, report_figures, report_page, report_trace, report_view
    from .plain_file import write_bytes

    page, picture, kept = _files(page)
    # The trace gets it, too, so that it has all data of the page.
    admission: dict[str, Any] = json.loads(_core.admission_report())
    elsewhere = processes.was_used() or asynchronous.was_used()
    report_trace.copy(trace, kept, {"admission": admission, "elsewhere": elsewhere}, memory.since)
    view = report_view.read(kept, title)
    write_bytes(picture, report_figures.draw_timeline(view.run, title))
    links = {"picture": quote(picture.name), "trace": quote(kept.name)}
    write_bytes(page, report_page.compose([view], title, links).encode("utf-8", "replace"))
    return [page, picture, kept]


def write_of_traces(traces: list[Path], page: Path) -> None:
    """Writes the page of one trace, or of two beside each other. Raises OSError and report_trace.UnusableTrace."""
    from . import report_page, report_view
    from .plain_file import write_bytes

    names = [trace.name for trace in traces]
    if len(set(names)) < len(names):
        names = [str(trace) for trace in traces]
    views = [report_view.read(trace, name) for trace, name in zip(traces, names, strict=True)]
    links = {"trace": quote(os.path.relpath(traces[0], page.parent))} if len(traces) == 1 else {}
    write_bytes(page, report_page.compose(views, " and ".join(names), links).encode("utf-8", "replace"))


def _refuse(text: str) -> NoReturn:
    print(f"dovetail report: {text}", file=sys.stderr)
    sys.exit(2)


def register(app: typer.Typer) -> None:
    """Adds the sub-command."""

    @app.command(
        name="report",
        rich_help_panel=WITH_TASKS,
        help="Makes a page of a trace, or of two traces to compare: one file, no server.",
    )
    def command(
        traces: Annotated[list[Path], typer.Argument(help="What DOVETAIL_TRACE named, or OUT.trace.json of a report.")],
        output: Annotated[Path, typer.Option("-o", "--output", help="The page, which must end with .html.")] = Path(
            "report.html"
        ),
    ) -> None:
        if len(traces) > 2:
            _refuse(f"{len(traces)} traces were given: a page shows one run, or two beside each other")
        refusal = unusable(output, is_alone=True)
        if refusal is not None:
            _refuse(refusal)
        from .report_trace import UnusableTrace

        try:
            write_of_traces(traces, output)
        except UnusableTrace as error:
            _refuse(str(error))
        except OSError as error:
            _refuse(f"{error.filename or output}: {error.strerror}")
        print(f"dovetail report: wrote {output}")
