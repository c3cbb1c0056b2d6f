"""What every demonstration has around its own work: a command line, a folder for what it leaves, an end by a signal, an exit status.

Exit status: 1 if a run failed or a result is wrong, 2 for bad input, 128 and the signal's number if it is interrupted.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path


class BadInput(Exception):
    """Something that the demonstration needs is not there, or not what it should be. The message says what to do."""


class RunFailed(RuntimeError):
    """A run ended otherwise than asked for, or gave another result. The message has what it said."""


class Interrupted(BaseException):
    """Asked to end by a signal: its number and 128."""


def _end_once(number: int, _: object) -> None:
    # Only the clean-up is left, and a second Ctrl-C must not stop it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Interrupted(128 + number)


def say_if_busy(say: Callable[[str], None]) -> None:
    """A warning where other programs run: what is measured beside them says little."""
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    if load > 0.5 * cores:
        say(f"note         this machine is busy (load {load:.1f} on {cores} cores): the times below say little")


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lines of columns as wide as they need to be, so many of them flush left and the others flush right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) if i < left else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]  # fmt: skip


def use_package(build: Path | None) -> None:
    """Programs in Python that are started from here find the package of this build, or, without one, that of this interpreter."""
    if build is None:
        return
    package = build / "python"
    sys.path.insert(0, str(package))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH")]))
    os.environ["DOVETAIL_BUILD_DIR"] = str(build)


def main(
    description: str | None,
    demonstrate: Callable[[argparse.Namespace, Path, Path], int],
    words: Sequence[str] | None = None,
    options: Callable[[argparse.ArgumentParser], object] = lambda parser: None,
    *,
    installed: bool = False,
) -> int:
    """`demonstrate` gets the arguments, the output folder and a temporary folder in it, and returns the exit status. `installed`: it needs nothing that
    only a build has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=Path, required=not installed, help="where Dovetail was built" + (" (default: the installed one)" if installed else ""))  # fmt: skip
    parser.add_argument("--output", type=Path, help="for pages, pictures and numbers (default: demo in the build folder" + (", or ./dovetail-demo)" if installed else ")"))  # fmt: skip
    parser.add_argument("--small", action="store_true", help="small and quick: a test, the numbers say nothing")
    options(parser)
    arguments = parser.parse_args(words)
    if arguments.build_dir is not None:
        arguments.build_dir = arguments.build_dir.resolve()
    by_default = Path("dovetail-demo") if arguments.build_dir is None else arguments.build_dir / "demo"
    output = (arguments.output or by_default).resolve()
    signal.signal(signal.SIGINT, _end_once)
    signal.signal(signal.SIGTERM, _end_once)
    try:
        output.mkdir(parents=True, exist_ok=True)
        # Beside the output: the temporary folder of the system may lie in memory.
        with tempfile.TemporaryDirectory(prefix="scratch-", dir=output) as scratch:
            return demonstrate(arguments, output, Path(scratch))
    except Interrupted as interrupted:
        print("demo: interrupted", file=sys.stderr)
        return interrupted.args[0]
    except BadInput as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"demo: {error.filename or output}: {error.strerror}", file=sys.stderr)
        return 2
    except RuntimeError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
