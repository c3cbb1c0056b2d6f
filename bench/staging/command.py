"""What the benchmarks of staging take as arguments, how they end where no slow disk can be made, and how they empty the page cache."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from device_unavailable import DeviceUnavailable
from harness.script import report_wrong


def parser_of(documentation: str | None) -> argparse.ArgumentParser:
    """Of the text of a module, with the arguments that all of them have."""
    parser = argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bandwidth", type=float, default=100, help="MB/s of the disk; 0: no limit")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder", help="where the disk is made (default: a temporary folder)")
    parser.add_argument("--tier", help="a folder on the tier (default: a temporary folder)")
    parser.add_argument("--json", action="store_true")
    return parser


def exit_status_of(measure: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    """Measures. 77 if this machine cannot make such a disk. An error or a failed assertion says that what was measured is wrong."""
    try:
        return measure(arguments)
    except DeviceUnavailable as reason:
        print(reason, file=sys.stderr)
        return 77
    except (RuntimeError, AssertionError) as reason:
        return report_wrong(str(reason), arguments.json)


def forget(folder: Path) -> None:
    """The page cache has nothing of the files in it afterwards."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
