#!/usr/bin/env python3
"""A device that congests: dovetail-congested-fs, mounted in a temporary folder.

    congested_fs.py [--peak 400] [--saturation 2] [--knee 4] [--penalty 0.15] -- COMMAND ...
                                     run COMMAND with CONGESTED_FS=<mount point>
    congested_fs.py --measure [--json FILE]
                                     measure its curve: MB/s of fsync with n = 1 to 64 writers, beside what the law says

Exit status: COMMAND's; 77 if this machine cannot mount one; 2 for bad usage.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time

from device_unavailable import DeviceUnavailable
from fault_fs import FaultFs, FaultFsUnavailable
from loop_file_system import run_command_on
from programs import find_program

NAME = "dovetail-congested-fs"
WRITERS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64)
MEGABYTE = 1e6


class CongestedFs(FaultFs):
    """Context manager: a folder at `path`, where each fsync drains what was written to its file by the law of README.md.

    `backing` is where the files really are; without one it is a new folder in memory, so that no disk is in the way. The mount
    does not outlive this process. Raises FaultFsUnavailable on entry where it cannot be mounted, ValueError for a bad law.
    """

    def __init__(self, peak=400.0, saturation=2.0, knee=4.0, penalty=0.15, backing=None, threads=160, executable=None):
        super().__init__(backing=backing, threads=threads, executable=executable)
        self.law = {"peak": peak, "saturation": saturation, "knee": knee, "penalty": penalty}
        self._memory: tempfile.TemporaryDirectory | None = None

    def __enter__(self):
        if self._process is None:
            if self._executable is None:
                try:
                    self._executable = find_program(NAME)
                except DeviceUnavailable as error:
                    raise FaultFsUnavailable(f"{error} (libfuse3-dev, version 3.12 or newer, was missing?)") from error
            if self._given_backing is None and os.path.isdir("/dev/shm"):
                self._memory = tempfile.TemporaryDirectory(prefix="dovetail-congested-fs-", dir="/dev/shm")
                self._given_backing = self._memory.name
        return super().__enter__()

    def _mount_command(self, executable: str) -> list[str]:
        words = [word for name, value in self.law.items() for word in (f"--{name}", str(value))]
        return [executable, "--until-stdin-closes", "--threads", str(self._threads), *words]

    def close(self) -> None:
        super().close()
        if self._memory is not None:
            self._memory.cleanup()
            self._memory = None
            self._given_backing = None

    def set_law(self, **changes: float) -> None:
        """Change the law while it is used: peak, saturation, knee, penalty."""
        self.law.update(changes)
        with open(self.path / ".law", "w") as file:
            file.write(" ".join(f"{name}={value}" for name, value in changes.items()))

    def status(self) -> dict:
        """The law, and how many fsyncs wait now and did at most."""
        return {name: float(value) for name, value in (w.split("=") for w in (self.path / ".law").read_text().split())}

    def bandwidth(self, writers: int) -> float:
        """MB/s by the law."""
        law = self.law
        hindrance = 1 + law["penalty"] * max(0, writers - law["knee"])
        return law["peak"] * min(1, writers / law["saturation"]) / hindrance


def measure(system: CongestedFs, writers: int, seconds: float = 0.5) -> float:
    """MB/s that this many threads get, each of which writes a file of its own and drains it with the others."""
    # Some 60 ms for each round, beside which what the calls themselves cost does not count.
    block = max(1, round(0.06 * system.bandwidth(writers) * MEGABYTE / writers / (1 << 20))) << 20
    rounds = max(2, round(seconds * system.bandwidth(writers) * MEGABYTE / (writers * block)))
    data = os.urandom(block)
    spent = []
    failures = []
    barrier = threading.Barrier(writers, action=lambda: spent.append(time.perf_counter()))

    def write(number: int) -> None:
        try:
            descriptor = os.open(system.path / f"writer-{number}", os.O_WRONLY | os.O_CREAT)
            try:
                for _ in range(rounds):
                    os.pwrite(descriptor, data, 0)
                    barrier.wait()
                    os.fsync(descriptor)
                    barrier.wait()
            finally:
                os.close(descriptor)
        except (OSError, threading.BrokenBarrierError) as error:
            failures.append(error)
            barrier.abort()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    drained = sum(end - begin for begin, end in zip(spent[::2], spent[1::2], strict=True))
    return writers * block * rounds / MEGABYTE / drained


def measure_all(system: CongestedFs) -> list[dict]:
    rows = []
    print("| writers | MB/s by the law | measured | ratio |\n|---:|---:|---:|---:|")
    for writers in WRITERS:
        law = system.bandwidth(writers)
        measured = measure(system, writers)
        rows.append({"writers": writers, "law_mb_per_second": law, "mb_per_second": measured})
        print(f"| {writers} | {law:.1f} | {measured:.1f} | {measured / law:.3f} |", flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peak", type=float, default=400.0, help="MB/s")
    parser.add_argument("--saturation", type=float, default=2.0)
    parser.add_argument("--knee", type=float, default=4.0)
    parser.add_argument("--penalty", type=float, default=0.15)
    parser.add_argument("--backing", help="the folder to show (default: a new one in memory)")
    parser.add_argument("--measure", action="store_true", help="print the curve that it really has")
    parser.add_argument("--json", help="write the curve to this file")
    parser.add_argument("command", nargs="*", metavar="-- COMMAND")
    arguments = parser.parse_args()
    if arguments.measure == bool(arguments.command):
        parser.error("either --measure or a command is needed")
    try:
        with CongestedFs(
            arguments.peak, arguments.saturation, arguments.knee, arguments.penalty, arguments.backing
        ) as system:
            if not arguments.measure:
                return run_command_on("CONGESTED_FS", system.path, arguments.command)
            rows = measure_all(system)
            if arguments.json:
                with open(arguments.json, "w") as file:
                    json.dump({"law": system.law, "curve": rows}, file, indent=1)
            return 0
    except ValueError as error:
        parser.error(str(error))
    except DeviceUnavailable as error:
        print(error, file=sys.stderr)
        return 77
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
