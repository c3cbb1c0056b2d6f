"""`dovetail run --report out.html app.py`: one page about a run, with everything in it.

Beside the page there are the picture of the timeline and the trace, which opens in Perfetto. The data are the runtime's trace and what admission
says of devices. The page needs no server.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

_ENDINGS = (".html", ".htm")


def unusable(page: Path) -> str | None:
    """Why no report could be written to this path. Asked before the program runs."""
    if page.suffix not in _ENDINGS:
        return f"--report {page}: the name must end with .html"
    folder = page.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        return f"--report {page}: {folder} is no folder that can be written to"
    for path in _files(page):
        # Opening a pipe would wait for a reader after the program has run; a device would keep nothing.
        if path.is_symlink() or (path.exists() and not path.is_file()):
            return f"--report {page}: {path} is there and is no regular file"
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        return f"--report needs jinja2 and matplotlib ({error}): pip install jinja2 matplotlib"
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


def write(trace: Path, page: Path, title: str) -> list[Path]:
    """Writes page, picture and trace, and returns their paths. `trace` is what the runtime wrote. Raises OSError."""
    from . import _core, report_figures, report_page
    from .plain_file import open_to_write, write_bytes
    from .report_data import read

    page, picture, kept = _files(page)
    admission: dict[str, Any] = json.loads(_core.admission_report())
    # The trace gets it, too, so that it has all data of the page.
    with open(trace, encoding="utf-8") as file:
        document = json.load(file)
    document.setdefault("otherData", {})["admission"] = admission
    with open_to_write(kept) as file:
        json.dump(document, file)
    data = read(document, admission)
    drawn = report_figures.draw_all(data, title)
    write_bytes(picture, drawn.timeline)
    write_bytes(page, report_page.compose(data, drawn, title, kept.name, picture.name).encode())
    return [page, picture, kept]
