"""`dovetail run --plan` and `dovetail run --detect`: runs a program while the system reads ahead what it will need."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from . import detect, plan_report, preload, replay
from .plan import PlanError, read

_BAD_USAGE = 2


def run(words: list[str], path: Path | None, report: Path | None = None, detection: bool = False) -> int:
    """Runs the program with the plan, or with `detection`, or with both. `report`: what was done is written there. Returns the program's
    status, negative for a signal; or 2 if nothing was started."""
    try:
        if report is not None and (report.is_dir() or not os.access(report.absolute().parent, os.W_OK)):
            raise replay.BadSetting(f"{report}: a report cannot be written there")
        window = replay.window()
        memories = {}
        lines: list[Iterator[str]] = []
        with contextlib.ExitStack() as stack:
            if path is not None:
                plan = replay.compact(read(path), window, timed=report is not None)
                for problem in plan.problems:
                    print(f"dovetail run: not read ahead: {problem}", file=sys.stderr)
                size = len(plan.content)
                planned, memory = stack.enter_context(preload.shared_memory("dovetail-plan", plan.content, size))
                memories["DOVETAIL_PREFETCH_PLAN"] = memory
                lines.append(_of_plan(plan, planned))
            if detection:
                content = detect.content(window, named=report is not None)
                watched, memory = stack.enter_context(preload.shared_memory("dovetail-detection", content, detect.SIZE))
                memories["DOVETAIL_PREFETCH_DETECTION"] = memory
                lines.append(_of_detection(watched))
            status = preload.run(words, memories)
            if report is not None:
                _write([line for part in lines for line in part], report)
            return status
    except (PlanError, replay.BadSetting, preload.Refused) as error:
        print(f"dovetail run: {error}", file=sys.stderr)
        return _BAD_USAGE


def _of_plan(plan: replay.Compact, memory: int) -> Iterator[str]:
    done = plan.done(os.pread(memory, len(plan.content), 0))
    yield from plan_report.lines(done, plan.in_sequence, plan.problems)


def _of_detection(memory: int) -> Iterator[str]:
    yield from plan_report.lines_of_detection(detect.detected(memory))


def _write(lines: list[str], path: Path) -> None:
    """What goes wrong here is not the program's fault, whose status stays."""
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        print(f"dovetail run: no report, {path}: {error.strerror}", file=sys.stderr)
