#!/usr/bin/env python3
"""A disk that is soon full, to meet ENOSPC on a real file system: an ext4 of a few MiB on a loop device.

    small_disk.py --size 4 -- COMMAND ...    run COMMAND with SMALL_DISK=<mount point>

Exit status: COMMAND's; 77 if this machine cannot make such a disk; 2 for bad usage.
"""

from __future__ import annotations

import argparse
import sys

from device_unavailable import DeviceUnavailable
from loop_file_system import LoopFileSystem, run_command_on


class SmallDiskUnavailable(DeviceUnavailable):
    """No small disk can be made here; the message says why."""


class SmallDisk(LoopFileSystem):
    """Context manager: a file system of `size_mb` MiB (at least 1), nothing of it reserved for root.

    Raises SmallDiskUnavailable on entry. See LoopFileSystem for the attributes and for what happens on signals.
    """

    # Without a journal nearly all of the little there is can be filled, and the file system exists in milliseconds.
    mkfs_options = ("-O", "^has_journal", "-b", "1024", "-I", "256")

    def __init__(self, size_mb: int, directory=None) -> None:
        super().__init__(size_mb, directory)

    def __enter__(self):
        try:
            return super().__enter__()
        except DeviceUnavailable as error:
            raise SmallDiskUnavailable(f"no small disk: {error}") from error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=4, help="MiB (default 4)")
    parser.add_argument("--directory", help="where the backing file is made (default: the temporary folder)")
    parser.add_argument("command", nargs="+", metavar="-- COMMAND")
    arguments = parser.parse_args()
    try:
        with SmallDisk(arguments.size, arguments.directory) as disk:
            return run_command_on("SMALL_DISK", disk.path, arguments.command)
    except ValueError as error:
        parser.error(str(error))
    except DeviceUnavailable as error:
        print(error, file=sys.stderr)
        return 77
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
