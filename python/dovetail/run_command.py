"""The command `dovetail run`: its options, and by which of them another program is run in another way. What they do is imported when it is known."""

from __future__ import annotations

import sys

from .command_groups import WITH_TASKS
from .command_line import Command, Option

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any, NoReturn

_BAD_USAGE = 2
_HELP = """Runs a program.

One in Python, with tasks: dovetail run [--report FILE] [--cluster ADDRESS] app.py ARGUMENTS...

One for PyCOMPSs: dovetail run --pycompss [--cluster ADDRESS] [--resources FILE] [--wall-clock-limit SECONDS] app.py ARGUMENTS...

Any that writes HDF5 files: dovetail run --hdf5 [--flush WHEN] [--close WHEN] program ARGUMENTS...

Any, its files by way of a fast tier: dovetail run --staged staged.json -- program ARGUMENTS...

Any, its reads fetched ahead: dovetail run [--plan plan.json] [--configuration advice.json | --advised] [--detect] [--system] \
[--report FILE] [--trace FILE] -- program ARGUMENTS..."""

_OPTIONS = (
    Option(
        "--report",
        "Writes a page (.html), and beside it a picture and a trace for Perfetto; with --plan, --configuration, --advised or --detect a text, what was read ahead.",
        metavar="PATH",
    ),
    Option("--pycompss", "The program is written for PyCOMPSs.", bool),
    Option("--hdf5", "HDF5 files are written in the background; the program may be any, not only Python.", bool),
    Option(
        "--flush",
        "When H5Fflush returns: wait, when every process sees the bytes (the default), or background, at once.",
    ),
    Option("--close", "The same of the last H5Fclose of a file: wait (the default) or background."),
    Option(
        "--resources",
        "With --pycompss: a resources file (XML), which has the addresses of web services.",
        metavar="PATH",
    ),
    Option(
        "--wall-clock-limit",
        "With --pycompss: the program ends after so many seconds, with status 124; 0 is no limit.",
        float,
        others=("--wall_clock_limit",),
    ),
    Option("--cluster", "The tasks run on a cluster of Dask, whose scheduler has this address, as tcp://host:8786."),
    Option(
        "--staged",
        "Files that this configuration (JSON) names are written by way of a fast local tier; the program may be any.",
        metavar="PATH",
    ),
    Option("--plan", "What is read ahead of the program, which may be any: see `dovetail observe`.", metavar="PATH"),
    Option(
        "--configuration",
        "The same by rules that were written by hand (JSON); the program may be any.",
        metavar="PATH",
    ),
    Option("--advised", "The same by the rules of `dovetail advisord`, which several programs share.", bool),
    Option(
        "--detect",
        "Patterns in what a program reads are recognised, and what comes next is read ahead; the program may be any.",
        bool,
    ),
    Option(
        "--system",
        "With --plan, --configuration or --detect: the program is followed by the kernel's events (eBPF), whatever it is linked with.",
        bool,
    ),
    Option(
        "--trace",
        "With --plan, --configuration or --detect: when the program has read what, and what was asked for ahead (JSON, for ui.perfetto.dev).",
        metavar="PATH",
    ),
)


def _refuse(text: str) -> NoReturn:
    print(f"dovetail run: {text}", file=sys.stderr)
    sys.exit(_BAD_USAGE)


def _call(words: list[str], **values: Any) -> NoReturn:
    given = {name for name, value in values.items() if value is not None and value is not False}
    if "staged" in given:
        if given != {"staged"}:
            _refuse("--staged: it goes with no other option")
        from . import staged_run

        sys.exit(staged_run.run(words, values["staged"]))
    own_ways = given & {"plan", "configuration", "detect"}
    if "trace" in given and (given & {"system", "advised"} or not own_ways):
        _refuse("--trace: it goes with --plan, --configuration or --detect, and not with --system or --advised")
    if "system" in given and ("advised" in given or not own_ways):
        _refuse("--system: it goes with --plan, --configuration or --detect, and not with --advised")
    if own_ways or "advised" in given:
        if given - {"plan", "configuration", "detect", "advised", "system", "report", "trace"}:
            _refuse("--plan, --configuration, --advised and --detect go with no other option but --report and --trace")
        if given >= {"configuration", "advised"}:
            _refuse("--configuration and --advised: the rules are either this program's or the advisor's")
        from . import prefetch_run, preload

        ways = prefetch_run.Ways(*(values[name] for name in ("plan", "configuration", "advised", "detect", "system")))
        preload.end_as(prefetch_run.run(words, ways, values["report"], values["trace"]))
    from pathlib import Path

    from . import run

    for name in given & {"report", "resources"}:
        values[name] = Path(values[name])
    own = ("report", "pycompss", "hdf5", "flush", "close", "cluster", "resources", "wall_clock_limit")
    sys.exit(run.run(words[0], words[1:], **{name: values[name] for name in own}))


COMMAND = Command(
    "run",
    _call,
    _OPTIONS,
    WITH_TASKS,
    _HELP,
    "Runs a program, and writes a page about it (--report out.html); or as one for PyCOMPSs, with HDF5, staged, or with reads ahead.",
)
