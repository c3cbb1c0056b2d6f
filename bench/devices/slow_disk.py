#!/usr/bin/env python3
"""A slow disk: an ext4 file system on a loop device whose bandwidth the kernel limits.

    slow_disk.py --read 60 --write 60 --size 512 -- COMMAND ...   run COMMAND with SLOW_DISK=<mount point>
    slow_disk.py --check                                          does it work here, and how exactly?

Exit status: COMMAND's; 77 if this machine cannot make such a disk; 2 for bad usage.
"""

from __future__ import annotations

import argparse
import sys
import time

from bandwidth import measure
from device_unavailable import DeviceUnavailable
from loop_file_system import LoopFileSystem, remove_leftovers, run_command_on
from throttle import find_throttle


class SlowDiskUnavailable(DeviceUnavailable):
    """No slow disk can be made here; the message says why."""


class SlowDisk(LoopFileSystem):
    """Context manager: a disk of `size_mb` MiB that reads and writes at most so many MB/s (10^6 bytes; 0: no limit).

    The limit holds for direct and for buffered I/O of this process and of the processes that it starts. Raises
    SlowDiskUnavailable on entry. See LoopFileSystem for the attributes and for what happens on signals.
    """

    def __init__(self, read_mb_per_s: float, write_mb_per_s: float, size_mb: int, directory=None) -> None:
        super().__init__(size_mb, directory)
        self._limits = self._checked(read_mb_per_s, write_mb_per_s)
        self._throttle = None

    def __enter__(self):
        try:
            return super().__enter__()
        except SlowDiskUnavailable:
            raise
        except DeviceUnavailable as error:
            raise SlowDiskUnavailable(f"no slow disk: {error}") from error

    @staticmethod
    def _checked(read_mb_per_s: float, write_mb_per_s: float) -> tuple[int, int]:
        for name, value in (("read", read_mb_per_s), ("write", write_mb_per_s)):
            if value < 0 or 0 < value < 0.01:
                raise ValueError(f"{name} bandwidth is {value} MB/s: it must be at least 0.01, or 0 for no limit")
        return round(read_mb_per_s * 1e6), round(write_mb_per_s * 1e6)

    def prepare(self) -> None:
        self._throttle = find_throttle(self.device_number)
        self._record.update(throttled=self._throttle.record())
        self._throttle.set(*self._limits)

    def set_bandwidth(self, read_mb_per_s: float, write_mb_per_s: float, reads_per_s: int = 0) -> None:
        """Change the limits of the mounted disk, at once also for requests that wait. `reads_per_s`: requests, 0 for no limit."""
        self._throttle.set(*self._checked(read_mb_per_s, write_mb_per_s), reads_per_s)


def check(arguments: argparse.Namespace) -> int:
    start = time.perf_counter()
    disk = SlowDisk(arguments.read, arguments.write, arguments.size, arguments.directory)
    with disk:
        made = time.perf_counter()
        measured = measure(disk.path, min(arguments.size // 2, 128))
        finished = time.perf_counter()
    end = time.perf_counter()
    print(f"{disk.device} ({disk.device_number}), loop {'direct' if disk.direct_io else 'buffered'}")
    print(f"created in {made - start:.2f} s, removed in {end - finished:.2f} s")
    for name, value in measured.items():
        configured = arguments.write if name.endswith("write") else arguments.read
        ratio = f"{value / configured:6.2f} of {configured:g}" if configured else "no limit"
        print(f"{name:15} {value:8.1f} MB/s  {ratio}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--read", type=float, default=60, help="MB/s, 0: no limit (default 60)")
    parser.add_argument("--write", type=float, default=60, help="MB/s, 0: no limit (default 60)")
    parser.add_argument("--size", type=int, default=512, help="MiB (default 512)")
    parser.add_argument("--directory", help="where the backing file is made (default: the temporary folder)")
    parser.add_argument("--check", action="store_true", help="make one, measure it, remove it")
    parser.add_argument("--remove-leftovers", action="store_true", help="take down what killed runs have left behind")
    parser.add_argument("command", nargs="*", metavar="-- COMMAND")
    arguments = parser.parse_args()
    try:
        if arguments.remove_leftovers:
            print("\n".join(remove_leftovers()) or "nothing left behind")
            return 0
        if arguments.check:
            return check(arguments)
        if not arguments.command:
            parser.error("a COMMAND after --, or --check, is needed")
        with SlowDisk(arguments.read, arguments.write, arguments.size, arguments.directory) as disk:
            return run_command_on("SLOW_DISK", disk.path, arguments.command)
    except ValueError as error:
        parser.error(str(error))
    except DeviceUnavailable as error:
        print(error, file=sys.stderr)
        return 77
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
