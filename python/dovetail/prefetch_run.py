"""`dovetail run` with `--plan`, `--configuration`, `--advised` or `--detect`: runs a program while the system reads ahead what it will need."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from . import (
    advice_configuration,
    advice_memory,
    advisor,
    detect,
    device_requests,
    files_ahead,
    memory_watch,
    observation,
    plan_report,
    prefetch_status,
    prefetch_trace,
    preload,
    replay,
    series_ahead,
    system_observer,
)
from .plan import PlanError, read

_BAD_USAGE = 2
_NOTHING_TO_FOLLOW = "no read of the program is looked at: the plan has no file to follow"
# Of files whose reads only tell where the program is. The observer has a descriptor for each.
_MOST_LEFT_TO_THE_SYSTEM = 1000


@dataclass(frozen=True, slots=True)
class Ways:
    """How it is known what the program will read; several may be given, and the first that knows a file counts. `advised`: by the rules of the advisor that
    runs already. `system`: advice is given from outside of the program, which is followed by the kernel's events; not with `advised`."""

    plan: Path | None = None
    configuration: Path | None = None
    advised: bool = False
    detection: bool = False
    system: bool = False


def run(words: list[str], ways: Ways, report: Path | None = None, trace: Path | None = None) -> int:
    """Runs the program. `report`: what was done is written there. `trace`: when it was; not with `system` or `advised`. Returns the program's status, negative for a signal; or 2 if nothing was
    started."""
    try:
        for kind, output in (("report", report), ("trace", trace)):
            if output is not None and (output.is_dir() or not os.access(output.absolute().parent, os.W_OK)):
                raise replay.BadSetting(f"{output}: a {kind} cannot be written there")
        window = replay.window()
        memories: dict[str, str] = {}
        followed = system_observer.Memories()
        together: list[contextlib.AbstractContextManager[None]] = []
        lines: list[Iterator[str]] = []
        narrow: list[Callable[[int], None]] = []
        known: list[str] = []
        with contextlib.ExitStack() as stack:
            if ways.plan is not None:
                observed = read(ways.plan)
                plan = replay.compact(observed, window, timed=report is not None)
                for problem in plan.problems:
                    print(f"dovetail run: not read ahead: {problem}", file=sys.stderr)
                size = len(plan.content)
                planned, memory = stack.enter_context(preload.shared_memory("dovetail-plan", plan.content, size))
                memories["DOVETAIL_PREFETCH_PLAN"] = memory
                lines.append(_of_plan(plan, planned, timed=not ways.system))
                served = device_requests.so_far() if report is not None else {}
                lines.append(plan_report.lines_of_devices(observed.devices, plan.devices, served))
                paths = _paths(plan)
                followed = replace(followed, plan=planned if paths else None, paths=paths)
                ahead = files_ahead.FilesAhead(plan, planned, window)
                together.append(ahead.running())
                narrow.append(ahead.narrow)
                narrow.append(lambda now: replay.narrow(planned, now / window))
                known = [file.path for file in plan.files]
            rules = _rules(ways, stack)
            if rules is not None:
                memories["DOVETAIL_PREFETCH_ADVICE"] = rules.way
                followed = replace(followed, rules=rules.memory)
                lines.append(_of_rules(rules))
            if ways.detection:
                content = detect.content(window)
                watched, memory = stack.enter_context(preload.shared_memory("dovetail-detection", content, detect.SIZE))
                memories["DOVETAIL_PREFETCH_DETECTION"] = memory
                followed = replace(followed, detection=watched)
                lines.append(_of_detection(watched))
                narrow.append(lambda now: detect.narrow(watched, now))
                if not ways.system:  # which does not tell what is opened
                    series = series_ahead.SeriesAhead(watched, detect.OPENS_AT, window)
                    together.append(series.running())
                    lines.append(series.lines())
                    narrow.append(series.narrow)
            log = None
            if trace is not None:
                log, memories["DOVETAIL_PREFETCH_LOG"] = stack.enter_context(observation.shared_log())
            started = time.monotonic_ns()
            unseen = None if ways.system else preload.why_unseen(preload.command(words)[0])
            if unseen is not None:
                print(
                    f"dovetail run: the program runs without advice: {unseen}; --system sees such programs",
                    file=sys.stderr,
                )
            described = prefetch_status.description(words, ways.plan, known, ways.system, ways.advised)
            stack.enter_context(preload.shared_memory(prefetch_status.DESCRIPTION, described, len(described)))
            beside = _together(*together, memory_watch.watched(replay.window, narrow))
            if ways.system:
                status, followed_by = _run_followed(words, followed, beside)
            else:
                status = preload.run(words, memories, beside)
                followed_by = unseen or (
                    "the program's reads are seen by a library that is loaded into it"
                    if followed != system_observer.Memories()
                    else _NOTHING_TO_FOLLOW
                )
            if trace is not None and log is not None:
                _write_trace(log, started, trace)
            if report is not None:
                _write([followed_by, *(line for part in lines for line in part)], report)
            return status
    except (PlanError, advice_configuration.ConfigurationError, replay.BadSetting, preload.Refused) as error:
        print(f"dovetail run: {error}", file=sys.stderr)
        return _BAD_USAGE


@contextlib.contextmanager
def _together(*managers: contextlib.AbstractContextManager[None]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for manager in managers:
            stack.enter_context(manager)
        yield


def _run_followed(
    words: list[str], memories: system_observer.Memories, beside: contextlib.AbstractContextManager[None]
) -> tuple[int, str]:
    """Runs the program, with advice from outside where that can be. Returns its status, and what sees its reads. Raises preload.Refused."""
    with contextlib.ExitStack() as stack:
        observer = None
        unseen = _NOTHING_TO_FOLLOW
        # With a plan none of whose files is to be read ahead there is nothing to follow.
        if memories.paths or memories.rules is not None or memories.detection is not None:
            try:
                observer = stack.enter_context(system_observer.started(memories))
            except system_observer.Unavailable as error:
                unseen = f"the program runs without advice: {error}"
                print(f"dovetail run: {unseen}", file=sys.stderr)
        if observer is None:
            return preload.wait_for(words, dict(os.environ), beside=beside), unseen
        status = observer.run(words, beside)
        lost = observer.finish()
        if lost is None:
            print(
                "dovetail run: the observer has ended before the program, which had no advice from then on",
                file=sys.stderr,
            )
        elif lost > 0:
            print(
                f"dovetail run: {lost} events of the kernel were lost, so that advice may be missing", file=sys.stderr
            )
        seen_by = "the program's reads are seen by the kernel's events"
        return status, seen_by if lost is not None else f"{seen_by}, until the observer ended"


def _paths(plan: replay.Compact) -> list[str]:
    """Of the files that the observer opens. First those that are read ahead."""
    files = plan.known(followed=True) + plan.known(followed=False)[:_MOST_LEFT_TO_THE_SYSTEM]
    return [file.path for file in files]


@dataclass(frozen=True, slots=True)
class _Rules:
    """Memory with rules: `way`: its path for programs of this user."""

    memory: int
    size: int
    way: str


def _rules(ways: Ways, stack: contextlib.ExitStack) -> _Rules | None:
    if ways.configuration is not None:
        content, size = advice_memory.content(advice_configuration.read(ways.configuration))
        memory, way = stack.enter_context(preload.shared_memory("dovetail-advice", content, size))
        return _Rules(memory, size, way)
    if not ways.advised:
        return None
    try:
        memory, size, connection = stack.enter_context(advisor.connected(b"r"))
    except advisor.NoAdvisor as error:
        print(f"dovetail run: the program runs without advice: {error}", file=sys.stderr)
        return None
    advisor.watch(connection, memory)
    return _Rules(memory, size, f"/proc/{os.getpid()}/fd/{memory}")


def _of_rules(rules: _Rules) -> Iterator[str]:
    yield from plan_report.lines_of_advice(advice_memory.advised(rules.memory, rules.size))


def _of_plan(plan: replay.Compact, memory: int, timed: bool) -> Iterator[str]:
    yield from plan_report.lines(plan.done(memory), plan.in_sequence, plan.problems, timed)


def _of_detection(memory: int) -> Iterator[str]:
    yield from plan_report.lines_of_detection(detect.detected(memory))


def _write(lines: list[str], path: Path) -> None:
    """What goes wrong here is not the program's fault, whose status stays."""
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        print(f"dovetail run: no report, {path}: {error.strerror}", file=sys.stderr)


def _write_trace(log: int, started: int, path: Path) -> None:
    noted = observation.read(log)
    try:
        prefetch_trace.write(noted.slots, started, path)
    except OSError as error:
        print(f"dovetail run: no trace, {path}: {error.strerror}", file=sys.stderr)
    if noted.lost:
        print(
            f"dovetail run: {noted.lost} reads came when the log was full, and are missing in the trace",
            file=sys.stderr,
        )
