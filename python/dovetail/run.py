"""`dovetail run app.py`: runs a program as Python itself would, waits for its tasks, and reports on them.

The exit status is the program's own. It is 1 if an exception left the program, or if a task failed and the program did not ask for its
result; 2 for bad usage; 130 after Ctrl-C; 124 when its wall-clock limit is over. Tracebacks show the frames of the user's code only.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import re
import shutil
import sys
import tempfile
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import interruption

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_BAD_USAGE = 2
_INTERRUPTED = 130
_OUT_OF_TIME = 124
_LONGEST_SECONDS = 10**8  # some years, which a timer of the system takes


def _shown(frame: traceback.FrameSummary) -> bool:
    return not (frame.filename.startswith((_PACKAGE + os.sep, "<frozen")) or frame.filename.endswith(".so"))


def _without_our_frames(error: traceback.TracebackException | None) -> None:
    if error is None:
        return
    error.stack = traceback.StackSummary.from_list([frame for frame in error.stack if _shown(frame)])
    for inner in (error.__cause__, error.__context__, *(error.exceptions or ())):
        _without_our_frames(inner)


def print_exception(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
    """As `sys.__excepthook__`, without the frames of this package."""
    told = traceback.TracebackException(kind, error, trace)
    _without_our_frames(told)
    sys.stdout.flush()
    print("".join(told.format()), end="", file=sys.stderr, flush=True)


def _refuse(text: str) -> int:
    print(f"dovetail run: {text}", file=sys.stderr)
    return _BAD_USAGE


def _main_module(script: Path) -> tuple[types.ModuleType, types.CodeType]:
    """The module `__main__` of the program. It outlives the program's last line, since its tasks may still run then."""
    # Not with the future features of this file.
    code = compile(script.read_bytes(), str(script), "exec", dont_inherit=True)
    module = types.ModuleType("__main__")
    module.__file__ = str(script)
    module.__builtins__ = builtins  # type: ignore[attr-defined]
    return module, code


def _exit_status(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code
    print(leaving.code, file=sys.stderr)
    return 1


def _show(error: BaseException) -> None:
    sys.excepthook(type(error), error, error.__traceback__)


def _run_program(module: types.ModuleType, code: types.CodeType) -> tuple[int, bool]:
    """The exit status, and whether the program chose it."""
    from . import interruption

    try:
        exec(code, module.__dict__)
    except SystemExit as leaving:
        return _exit_status(leaving), True
    except interruption.OutOfTime:
        return _OUT_OF_TIME, False
    except KeyboardInterrupt:
        return _INTERRUPTED, False
    except BaseException as error:
        _show(error)
        return 1, False
    return 0, False


def _finish(status: int, chosen: bool, settle: Any) -> int:
    """Waits for what the program left behind."""
    from . import interruption, runtime

    try:
        if status == _INTERRUPTED:
            raise KeyboardInterrupt
        if status == _OUT_OF_TIME and not chosen:
            raise interruption.OutOfTime
        settle()
    except KeyboardInterrupt as error:
        _interrupt(type(error))
        status = interruption.status_of(type(error))
    except BaseException as error:
        _show(error)
        status = status if chosen else status or 1
    runtime._stop_all()
    return status


def _interrupt(kind: type[BaseException]) -> None:
    """Cancels tasks that wait, tells those that run, ends the processes that tasks started, names incomplete files."""
    from . import runtime

    if _limit is not None:
        _limit.stop()  # first: ending takes its time, and must itself not be interrupted
    for active in reversed(runtime._active):
        active._give_up(kind)


_limit: interruption.Limit | None = None


@contextlib.contextmanager
def _time_for(seconds: float | None) -> Iterator[None]:
    """The time that the program has; None and 0 are no limit."""
    global _limit
    if not seconds:
        yield
        return
    from . import interruption

    _limit = interruption.Limit(seconds)
    try:
        try:
            _limit.start()
            yield
        finally:
            _limit.stop()
    except interruption.OutOfTime as error:
        # It came before the program began, or behind where it is waited for.
        _interrupt(type(error))


def _become(file: str, words: list[str]) -> int:
    """The process becomes the program. Returns only if the system refuses."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execv(file, words)
    except FileNotFoundError:
        return _refuse(f"{file}: the interpreter that it names is not there")
    except OSError as error:
        return _refuse(f"{file}: {error.strerror}")


def _is_python(file: Path, interpreter: str | None, wanted: bool) -> bool:
    """Whether a file that is no binary runs in this interpreter. One that asks for a Python of its own gets it, unless it is named as a
    module is, or an option needs this one."""
    if interpreter is None:
        return True
    name = re.search(r"([^/\s]+)(?:\s|$)", re.sub(r"^\S*/env\s+(-\S+\s+)*", "", interpreter))
    return name is not None and name[1].startswith("python") and (wanted or file.suffix == ".py")


def _under_hdf5(
    given: str, file: Path, arguments: list[str], only_python: bool, flush: str | None, close: str | None
) -> int | None:
    """Starts the program with the connector. Returns a status if that cannot be, and None if the program is one in Python, which runs in
    this process."""
    from . import hdf5 as connector
    from . import preload

    binary = preload.is_binary(file)
    other = binary or not _is_python(file, preload.interpreter_of(file), only_python)
    if other and only_python:
        return _refuse(f"{given} is no Python program: of the options only --hdf5 goes with it")
    if connector.is_used() and not other:
        return None
    refusal = connector.use(os.environ, flush, close)
    if refusal is not None:
        return _refuse(refusal)
    if binary and preload.is_linked_statically(file):
        print(
            f"dovetail: HDF5 runs natively, its files are not written in the background: {given} is linked statically",
            file=sys.stderr,
        )
    if other:
        # As it was given: a script sees it.
        return _become(given if "/" in given else str(file), [given, *arguments])
    # Once more, because what is loaded before a program can be loaded only at its start.
    return _become(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def run(
    script: str | Path,
    arguments: list[str],
    report: Path | None = None,
    pycompss: bool = False,
    hdf5: bool = False,
    flush: str | None = None,
    close: str | None = None,
    cluster: str | None = None,
    resources: Path | None = None,
    wall_clock_limit: float | None = None,
) -> int:
    """Runs a program and returns its exit status. The process is the program's from here on."""
    for option, given_with in (("--resources", resources), ("--wall-clock-limit", wall_clock_limit)):
        if given_with is not None and not pycompss:
            return _refuse(f"{option}: it is about programs of PyCOMPSs; give --pycompss as well")
    if wall_clock_limit is not None and not 0 <= wall_clock_limit <= _LONGEST_SECONDS:
        return _refuse(f"--wall-clock-limit: seconds from 0 (no limit) to {_LONGEST_SECONDS}, not {wall_clock_limit:g}")
    for option, when in (("--flush", flush), ("--close", close)):
        if when is not None and not hdf5:
            return _refuse(f"{option}: it is about HDF5 files; give --hdf5 as well")
    given = str(script)
    if not given:
        return _refuse("the name of the program is empty")
    script = Path(given)
    # As a shell does: a name with a slash is a file, and nothing else.
    if hdf5 and "/" not in given and not script.is_file():
        script = Path(shutil.which(given) or given)
    if script.is_dir() or not script.exists():
        return _refuse(f"{given}: {'is a folder' if script.is_dir() else 'there is no such file'}")
    try:
        if hdf5:
            status = _under_hdf5(given, script.absolute(), arguments, report is not None or pycompss, flush, close)
            if status is not None:
                return status
        with script.open("rb") as file:
            if file.read(4) == b"\x7fELF":
                return _refuse(f"{given} is no Python program; with --hdf5 it may be any")
    except OSError as error:
        return _refuse(f"{given}: {error.strerror}")
    folder = tempfile.TemporaryDirectory(prefix="dovetail-run-")
    watched: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    trace = os.environ.get("DOVETAIL_TRACE") or os.path.join(folder.name, "trace.json")
    if report is not None:
        from . import beside
        from . import report as reporting
        from .report_memory import Memory
        from .report_trace import UnusableTrace

        report = reporting.of_rank(report)
        refusal = reporting.unusable(report)
        if refusal is not None:
            return _refuse(refusal)
        if hdf5:
            # HDF5 ends after the report is written, and the connector writes the trace once more then.
            trace = str(reporting.trace_beside(report))
            Path(trace).unlink(missing_ok=True)  # of an earlier run
        os.environ["DOVETAIL_TRACE"] = trace
        memory = Memory()
        watched = beside.running(memory.follow)
        # From these follows which tasks depend on which.
        os.environ.setdefault("DOVETAIL_TRACE_ACCESSES", "1")
    from . import barrier

    if cluster is not None:
        from .cluster.connection import use

        try:
            use(cluster)
        except (ImportError, OSError, RuntimeError, ValueError) as error:
            return _refuse(f"--cluster {cluster}: {error}")
    settle: Any = barrier
    if pycompss:
        from .pycompss import http, install

        try:
            if resources is not None:
                http.read_services(resources)
        except OSError as error:
            return _refuse(f"--resources {resources}: {error.strerror}")
        except ValueError as error:
            return _refuse(f"--resources: {error}")
        settle = install()
    sys.argv = [str(script), *arguments]
    sys.path[0] = str(script.resolve().parent)
    sys.excepthook = print_exception
    try:
        module, code = _main_module(script)
    except OSError as error:
        return _refuse(f"{script}: {error.strerror}")
    except (SyntaxError, ValueError) as error:
        _show(error)
        return 1
    if pycompss:
        # PyCOMPSs' launcher runs the program among its own names. Programs rely on this one of them without importing it.
        module.sys = sys  # type: ignore[attr-defined]
    sys.modules["__main__"] = module
    status = _OUT_OF_TIME  # where its time is over in the very moment in which it ends
    with watched, _time_for(wall_clock_limit):
        status = _finish(*_run_program(module, code), settle)
    if report is not None and hdf5:
        from . import hdf5 as connector

        connector.write_trace(Path(trace))
        os.environ.pop("DOVETAIL_TRACE", None)
    elif report is not None:
        trace = reporting.trace_of_rank(trace)
    if report is not None and os.path.exists(trace) and os.path.getsize(trace) > 0:
        try:
            for written in reporting.write(Path(trace), report, str(script), memory):
                print(f"dovetail run: wrote {written}", file=sys.stderr)
        except OSError as error:
            print(f"dovetail run: no report, {report}: {error.strerror}", file=sys.stderr)
            status = status or 1
        except UnusableTrace as error:
            print(f"dovetail run: no report, {error}", file=sys.stderr)
            status = status or 1
    elif report is not None:
        print(f"dovetail run: {script} made no task, so there is nothing to report", file=sys.stderr)
    folder.cleanup()
    return status
