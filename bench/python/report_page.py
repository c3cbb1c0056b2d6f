"""How long the page of a run of many tasks takes until it is drawn in a headless Chromium, and how large it is.

The run is a real one. Reading the page from disk, unpacking and drawing all tasks count.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts")]

import browser  # noqa: E402 (in scripts)
from harness.script import report, report_wrong  # noqa: E402 (beside this folder)

# Of three tasks, one makes use of the results of two, as far as a chain goes; and each thousandth ends a chain.
PROGRAM = """
import sys
import dovetail as dt

@dt.task
def make(n):
    return n

@dt.task
def fold(a, b):
    return a + b

last = make(0)
for n in range(1, int(sys.argv[1]) // 2):
    last = fold(make(n), make(n) if n % 500 == 0 else last)
print(last.result())
"""
_EVENTS_OF_TASK = 9  # at most, in the trace of one thread


def made(tasks: int, folder: Path) -> Path:
    """The page of a run."""
    program, trace, page = folder / "app.py", folder / "trace.json", folder / "page.html"
    program.write_text(PROGRAM)
    environment = {
        **os.environ, "DOVETAIL_TRACE": str(trace), "DOVETAIL_TRACE_ACCESSES": "1",
        "DOVETAIL_TRACE_EVENTS": str(_EVENTS_OF_TASK * tasks),
    }  # fmt: skip
    subprocess.run([sys.executable, str(program), str(tasks)], check=True, env=environment, stdout=subprocess.DEVNULL)
    command = [sys.executable, "-m", "dovetail.cli", "report", str(trace), "-o", str(page)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return page


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--picture", type=Path, help="Where the last page is kept as PNG.")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if browser.executable() is None:
        return report_wrong("the page is opened with Chromium, which is not installed", arguments.json)
    with tempfile.TemporaryDirectory(prefix="dovetail-report-page-") as name:
        begin = time.perf_counter()
        page = made(arguments.tasks, Path(name))
        making = time.perf_counter() - begin
        seconds = []
        for _ in range(arguments.repeat):
            with browser.opened() as window:
                begin = time.perf_counter()
                window.open(page)
                drawn = window.value("report.ready.then(made => [made.runs[0].tasks, made.drawn])")
                seconds.append(time.perf_counter() - begin)
                if arguments.picture is not None:
                    window.picture(arguments.picture)
                if window.complaints or drawn[0] < arguments.tasks - 2 or drawn[1] < drawn[0]:
                    return report_wrong(
                        f"of {arguments.tasks} tasks {drawn} are drawn: {window.complaints}", arguments.json
                    )
        return report({"s": seconds, "mb": [page.stat().st_size / 1e6], "making_s": [making]}, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
