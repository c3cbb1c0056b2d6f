"""`dovetail run` with `--plan`, `--configuration`, `--advised` or `--detect`: runs a program while the system reads ahead what it will need.

A short program must not wait for what this one imports. So each way imports its own when it is asked for, what works beside the program when that has started, and what reports on it when
that has ended.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time

from . import beside, memory_watch, preload, read_ahead_limits
from .run_description import DESCRIPTION, Description

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from . import mapped_ahead, replay, series_ahead
    from .plan import Plan

_BAD_USAGE = 2
_NOTHING_TO_FOLLOW = "no read of the program is looked at: the plan has no file to follow"
# Of files whose reads only tell where the program is. The observer has a descriptor for each.
_MOST_LEFT_TO_THE_SYSTEM = 1000


class Ways:
    """How it is known what the program will read; several may be given, and the first that knows a file counts. `advised`: by the rules of the advisor that
    runs already. `system`: advice is given from outside of the program, which is followed by the kernel's events; not with `advised`."""

    __slots__ = ("advised", "configuration", "detection", "plan", "system")

    def __init__(
        self,
        plan: str | Path | None = None,
        configuration: str | Path | None = None,
        advised: bool = False,
        detection: bool = False,
        system: bool = False,
    ) -> None:
        self.plan = plan
        self.configuration = configuration
        self.advised = advised
        self.detection = detection
        self.system = system


class _Refused(Exception):
    """Nothing was started; the message says why."""


class _Run:
    """What is prepared for one run. `memories`: variables of the library, each with the path of its memory. `lines`: of the report, made when the program has ended. `narrow`: is
    told how many bytes may be read ahead."""

    def __init__(self, ways: Ways, has_report: bool, stack: contextlib.ExitStack) -> None:
        self.ways = ways
        self.has_report = has_report
        self.stack = stack
        self.window = read_ahead_limits.window()
        self.memories: dict[str, str] = {}
        self.plan: int | None = None
        self.paths: list[str] = []
        self.rules: int | None = None
        self.detection: int | None = None
        self.known: list[str] = []
        self.reported: set[int] = set()  # devices of which the report says what they served
        self.beside: list[contextlib.AbstractContextManager[None]] = []
        self.lines: list[Callable[[], Iterator[str]]] = []
        self.narrow: list[Callable[[int], None]] = []

    @property
    def timed(self) -> bool:
        """Whether programs note how long their reads take. The kernel's events do not show waits."""
        return self.has_report and not self.ways.system

    @property
    def is_followed(self) -> bool:
        return self.plan is not None or self.rules is not None or self.detection is not None

    def by_plan(self, path: str | Path) -> None:
        """Raises _Refused."""
        from . import files_ahead, replay
        from .plan import PlanError, read

        try:
            observed = read(path)
        except PlanError as error:
            raise _Refused(str(error)) from error
        plan = replay.compact(observed, self.window, timed=self.has_report)
        for problem in plan.problems:
            print(f"dovetail run: not read ahead: {problem}", file=sys.stderr)
        planned, memory = self.stack.enter_context(
            preload.shared_memory("dovetail-plan", plan.content, len(plan.content))
        )
        self.memories["DOVETAIL_PREFETCH_PLAN"] = memory
        if self.has_report:
            self._report_plan(observed, plan, planned)
        self.paths = _paths(plan)
        self.plan = planned if self.paths else None
        ahead = files_ahead.FilesAhead(plan, planned, self.window)
        self.beside.append(ahead.running())
        self.narrow.append(ahead.narrow)
        # The kernel's events tell of touched pages, too.
        if not self.ways.system and any(file.mapped for file in plan.known(followed=True)):

            def mapped(window: int) -> mapped_ahead.MappedAhead:
                from . import mapped_ahead

                return mapped_ahead.MappedAhead(observed, plan, window)

            self._later(mapped)
        whole = self.window
        self.narrow.append(lambda now: replay.narrow(planned, now / whole))
        self.known = [file.path for file in plan.files]

    def _report_plan(self, observed: Plan, plan: replay.Compact, memory: int) -> None:
        from . import device_requests, plan_report

        served = device_requests.so_far()
        self.lines.append(lambda: plan_report.lines(plan.done(memory), plan.in_sequence, plan.problems, self.timed))
        self.lines.append(lambda: plan_report.lines_of_devices(observed.devices, plan.devices, served))
        self.reported = {number for number, _ in plan.devices}

    def by_rules(self, path: str | Path) -> None:
        """Raises _Refused."""
        from . import advice_configuration, advice_memory

        try:
            content, size = advice_memory.content(advice_configuration.read(path), self.timed)
        except advice_configuration.ConfigurationError as error:
            raise _Refused(str(error)) from error
        memory, way = self.stack.enter_context(preload.shared_memory("dovetail-advice", content, size))
        advice_memory.limit(memory, read_ahead_limits.memory_of_rules())
        limits = [lambda now: advice_memory.limit(memory, now)]
        self.beside.append(memory_watch.watched(read_ahead_limits.memory_of_rules, limits))
        self._follow_rules(memory, way, size)

    def by_the_advisor(self) -> None:
        from . import advisor

        try:
            memory, size, connection = self.stack.enter_context(advisor.connected(b"r"))
        except advisor.NoAdvisor as error:
            print(f"dovetail run: the program runs without advice: {error}", file=sys.stderr)
            return
        advisor.watch(connection, memory)
        if self.timed:
            from . import advice_memory

            advice_memory.time_reads(memory)
        self._follow_rules(memory, f"/proc/{os.getpid()}/fd/{memory}", size)

    def _follow_rules(self, memory: int, path: str, size: int) -> None:
        self.rules = memory
        self.memories["DOVETAIL_PREFETCH_ADVICE"] = path
        self.lines.append(lambda: _of_rules(memory, size))
        self._report_devices(lambda: _devices_of_rules(memory, size))

    def by_detection(self) -> None:
        from . import detect

        content = detect.content(self.window, self.timed)
        memory, path = self.stack.enter_context(preload.shared_memory("dovetail-detection", content, detect.SIZE))
        self.detection = memory
        self.memories["DOVETAIL_PREFETCH_DETECTION"] = path
        self.lines.append(lambda: _of_detection(memory))
        self._report_devices(lambda: detect.devices(memory))
        self.narrow.append(lambda now: detect.narrow(memory, now))
        if not self.ways.system:  # which does not tell what is opened
            began = time.monotonic()

            def series(window: int) -> series_ahead.SeriesAhead:
                from . import series_ahead

                return series_ahead.SeriesAhead(memory, detect.OPENS_AT, window, began)

            self._later(series)

    def _report_devices(self, numbers: Callable[[], set[int]]) -> None:
        """What devices serve from now on, of those whose numbers are told at the end."""
        if not self.has_report:
            return
        from . import device_requests

        served = device_requests.so_far()

        def lines() -> Iterator[str]:
            from . import plan_report

            new = numbers() - self.reported
            self.reported |= new
            yield from plan_report.lines_of_devices({}, [(number, number) for number in sorted(new)], served)

        self.lines.append(lines)

    def _later(self, make: Callable[[int], series_ahead.SeriesAhead | mapped_ahead.MappedAhead]) -> None:
        later = _Later(make, self.window)
        self.beside.append(beside.running(later.follow, beside.SECONDS_FOR_THE_LAST_FILE, later.has_begun))
        self.lines.append(later.lines)
        self.narrow.append(later.narrow)


class _Later:
    """Reads ahead once what does it is imported. `make`: imports it, and makes it for a window. `window`: bytes."""

    def __init__(self, make: Callable[[int], series_ahead.SeriesAhead | mapped_ahead.MappedAhead], window: int) -> None:
        self.has_begun = threading.Event()
        self._make = make
        self._window = window
        self._ahead: series_ahead.SeriesAhead | mapped_ahead.MappedAhead | None = None

    def follow(self, over: threading.Event) -> None:
        self._ahead = self._make(self._window)
        self._ahead.narrow(self._window)  # which may have changed meanwhile
        self.has_begun.set()
        if not over.is_set():
            self._ahead.follow(over)

    def narrow(self, window: int) -> None:
        self._window = window
        if self._ahead is not None:
            self._ahead.narrow(window)

    def lines(self) -> Iterator[str]:
        if self._ahead is not None:
            yield from self._ahead.lines()


def run(words: list[str], ways: Ways, report: str | Path | None = None, trace: str | Path | None = None) -> int:
    """Runs the program. `report`: what was done is written there. `trace`: when it was; not with `system` or `advised`. Returns the program's status, negative for a signal; or 2 if nothing was
    started."""
    try:
        for kind, output in (("report", report), ("trace", trace)):
            if output is not None and (os.path.isdir(output) or not _can_be_written(output)):
                raise _Refused(f"{output}: a {kind} cannot be written there")
        with contextlib.ExitStack() as stack:
            prepared = _Run(ways, report is not None, stack)
            if ways.plan is not None:
                prepared.by_plan(ways.plan)
            if ways.configuration is not None:
                prepared.by_rules(ways.configuration)
            elif ways.advised:
                prepared.by_the_advisor()
            if ways.detection:
                prepared.by_detection()
            log = None
            if trace is not None:
                from . import observation

                log, prepared.memories["DOVETAIL_PREFETCH_LOG"] = stack.enter_context(observation.shared_log())
            started = time.monotonic_ns()
            status, followed_by = _run(words, prepared)
            if trace is not None and log is not None:
                _write_trace(log, started, trace)
            if report is not None:
                _write([followed_by, *(line for lines in prepared.lines for line in lines())], report)
            return status
    except (_Refused, read_ahead_limits.BadSetting, preload.Refused) as error:
        print(f"dovetail run: {error}", file=sys.stderr)
        return _BAD_USAGE


def _can_be_written(output: str | Path) -> bool:
    return os.access(os.path.dirname(os.path.abspath(output)), os.W_OK)


def _run(words: list[str], prepared: _Run) -> tuple[int, str]:
    """Its status, and what sees its reads. Raises preload.Refused."""
    ways = prepared.ways
    unseen = None if ways.system else preload.why_unseen(preload.command(words)[0])
    if unseen is not None:
        print(f"dovetail run: the program runs without advice: {unseen}; --system sees such programs", file=sys.stderr)
    described = Description(words, ways.plan, prepared.known, ways.system, ways.advised).packed()
    prepared.stack.enter_context(preload.shared_memory(DESCRIPTION, described, len(described)))
    watched = memory_watch.watched(read_ahead_limits.window, prepared.narrow)
    together = _together(*prepared.beside, watched)
    if ways.system:
        return _run_followed(words, prepared, together)
    status = preload.run(words, prepared.memories, together)
    seen = "the program's reads are seen by a library that is loaded into it"
    return status, unseen or (seen if prepared.is_followed else _NOTHING_TO_FOLLOW)


@contextlib.contextmanager
def _together(*managers: contextlib.AbstractContextManager[None]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for manager in managers:
            stack.enter_context(manager)
        yield


def _run_followed(words: list[str], prepared: _Run, beside: contextlib.AbstractContextManager[None]) -> tuple[int, str]:
    """Runs the program, with advice from outside where that can be. Returns its status, and what sees its reads. Raises preload.Refused."""
    from . import system_observer

    with contextlib.ExitStack() as stack:
        observer = None
        unseen = _NOTHING_TO_FOLLOW
        # With a plan none of whose files is to be read ahead there is nothing to follow.
        if prepared.is_followed:
            memories = system_observer.Memories(prepared.plan, prepared.paths, prepared.rules, prepared.detection)
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


def _of_rules(memory: int, size: int) -> Iterator[str]:
    from . import advice_memory, plan_report

    yield from plan_report.lines_of_advice(advice_memory.advised(memory, size))


def _devices_of_rules(memory: int, size: int) -> set[int]:
    from . import advice_memory

    return advice_memory.devices(memory, size)


def _of_detection(memory: int) -> Iterator[str]:
    from . import detect, plan_report

    yield from plan_report.lines_of_detection(detect.detected(memory))


def _write(lines: list[str], path: str | Path) -> None:
    """What goes wrong here is not the program's fault, whose status stays."""
    try:
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("\n".join(lines) + "\n")
    except OSError as error:
        print(f"dovetail run: no report, {path}: {error.strerror}", file=sys.stderr)


def _write_trace(log: int, started: int, path: str | Path) -> None:
    from . import observation, prefetch_trace

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
