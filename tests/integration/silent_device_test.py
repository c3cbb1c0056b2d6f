"""A device that does not answer one request for half a minute: all other work is done meanwhile, and no core is kept."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

from heat_support import BUILD, SMALL, Skipped, check, main

PROGRAM = BUILD / "bin" / "copy_and_checksum"
DELAY = 8 if SMALL else 30  # seconds
BLOCK, BLOCKS = 65536, 48
ENGINES = ("uring", "aio", "threads", "auto")


def processor_seconds(pid: int) -> float:
    """Of all threads of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def copied_blocks(data: bytes, target: Path) -> int:
    copy = target.read_bytes() if target.exists() else b""
    return sum(copy[begin : begin + BLOCK] == data[begin : begin + BLOCK] for begin in range(0, BLOCK * BLOCKS, BLOCK))


class Copy:
    """A copy with one worker, out of the file system that is silent for so long."""

    def __init__(self, engine: str, source: Path, target: Path) -> None:
        self.engine, self.target, self.used = engine, target, 0.0
        command = [PROGRAM, "-b", BLOCK, "-s", BLOCKS, "-w", 1, "-d", source, target]
        self.process = subprocess.Popen(
            [str(word) for word in command],
            env={**os.environ, "DOVETAIL_ENGINE": engine},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish_others(self, data: bytes) -> None:
        """Returns when every block but the one that is not answered has been copied."""
        while copied_blocks(data, self.target) < BLOCKS - 1:
            check(self.process.poll() is None, f"{self.engine}: it ended before its last block")
            time.sleep(0.05)  # for the sake of the machine

    def listen(self, begins: bool) -> None:
        """Called when the silence begins and when it ends, which is before the copy has anything to do again."""
        check(self.process.poll() is None, f"{self.engine}: it ended before its last block")
        self.used = processor_seconds(self.process.pid) - (0 if begins else self.used)

    def finish(self, data: bytes) -> None:
        _, errors = self.process.communicate()
        print(f"{self.engine}: {self.used:.2f} s of processor time in {DELAY} s of silence", flush=True)
        check(self.process.returncode == 0, f"{self.engine}: status {self.process.returncode}: {errors}")
        check(self.target.read_bytes() == data, f"{self.engine}: the copy differs")
        check(
            self.used < DELAY / 20,
            f"{self.engine}: it computed for {self.used:.2f} s of {DELAY} s without anything to do",
        )


def engines_that_work() -> list[str]:
    works = []
    for engine in ENGINES:
        done = subprocess.run(
            [PROGRAM, "/dev/null", "/dev/null"],
            env={**os.environ, "DOVETAIL_ENGINE": engine}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if "DOVETAIL_ENGINE" in done.stderr:
            print(f"not here: {done.stderr.strip()}")
        else:
            works.append(engine)
    return works


def no_core_is_kept_by_a_silent_device(folder: Path) -> None:
    from fault_fs import FaultFs, FaultFsUnavailable

    if not PROGRAM.is_file():
        raise Skipped(f"{PROGRAM} is not built")
    try:
        device = FaultFs()
        device.__enter__()
    except FaultFsUnavailable as error:
        raise Skipped(error) from error
    with device:
        data = random.Random(1).randbytes(BLOCK * BLOCKS)
        engines = engines_that_work()
        for engine in engines:
            (device.backing / engine).write_bytes(data)
        device.set_rules("read hold offset=0..1")
        copies = [Copy(engine, device.path / engine, folder / engine) for engine in engines]
        try:
            for copy in copies:
                copy.finish_others(data)
            for copy in copies:
                copy.listen(begins=True)
            time.sleep(DELAY)  # the silence itself
            for copy in copies:
                copy.listen(begins=False)
            device.set_rules()
            for copy in copies:
                copy.finish(data)
        finally:
            for copy in copies:
                if copy.process.poll() is None:
                    copy.process.kill()
                    copy.process.wait()


if __name__ == "__main__":
    main(no_core_is_kept_by_a_silent_device)
