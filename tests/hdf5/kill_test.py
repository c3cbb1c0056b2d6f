"""kill -9: the file is as native HDF5 would have left it, had it been killed a little earlier.

The writes of native HDF5 are logged. The killed program's file must be the log up to some write of metadata. Of the raw data
that follows before the next such write, any part may be there. So a reader finds nothing that refers to missing data.
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import support

PROGRAM = """
import sys, h5py, numpy as np
data = np.random.default_rng(7)
with h5py.File("series.h5", "w", libver=sys.argv[1]) as file:
    for step in range(6):
        group = file.create_group(f"step {step}")
        for name in ("x", "y", "energy"):
            group[name] = data.bytes(70000 + 1000 * step) and data.integers(0, 2**63, 9000)
        group.attrs["time"] = step / 10
        chunked = group.create_dataset("chunked", (4, 2000), "i8", chunks=(1, 2000))
        for row in range(4):
            chunked[row] = data.integers(0, 2**63, 2000)
        if step % 2:
            file.flush()
"""


@dataclass
class Write:
    offset: int
    data: bytes | None  # None: truncated to offset

    @property
    def is_raw(self) -> bool:
        # All of it random, whereas metadata holds many zeros or ones.
        return (
            self.data is not None
            and len(self.data) >= 8000
            and np.bincount(np.frombuffer(self.data, "u1")).max() < len(self.data) // 20
        )

    def apply(self, file: bytearray) -> None:
        if self.data is None:
            del file[self.offset :]
            file.extend(bytes(self.offset - len(file)))
            return
        file.extend(bytes(max(0, self.offset + len(self.data) - len(file))))
        file[self.offset : self.offset + len(self.data)] = self.data


def native_log(folder: Path, version: str) -> list[Write]:
    environment = support.clean(
        LD_PRELOAD=f"{support.BUILD / 'lib' / 'libhdf5_write_log.so'}:{support.CLOCK}", WRITE_LOG=str(folder / "log")
    )
    support.run_python(PROGRAM, version, environment=environment, folder=folder).expect(0)
    log, writes = (folder / "log").read_bytes(), []
    position = 0
    while position < len(log):
        kind, offset, size = struct.unpack_from("qqq", log, position)
        position += 24 + (0 if kind else size)
        writes.append(Write(offset, None if kind else log[position - size : position]))
    replayed = bytearray()
    for write in writes:
        write.apply(replayed)
    assert replayed == (folder / "series.h5").read_bytes(), "the log is not what was written"
    assert sum(write.is_raw for write in writes) >= 18, "raw data is not told from metadata"
    return writes


def explains(file: bytes, before: bytearray, raw: list[Write]) -> bool:
    """Whether `file` is `before` and any part of the raw writes that follow."""
    longest = max([len(before), *(write.offset + len(write.data or b"") for write in raw)])
    if not len(before) <= len(file) <= longest:
        return False
    old = np.frombuffer(bytes(before) + bytes(len(file) - len(before)), "u1")
    now = np.frombuffer(file, "u1")
    differs = old != now
    for write in raw:
        part = slice(write.offset, min(write.offset + len(write.data or b""), len(now)))
        new = np.frombuffer(write.data or b"", "u1")[: max(0, part.stop - part.start)]
        differs[part] &= new != now[part]
    return not differs.any()


def moment(file: bytes, writes: list[Write]) -> int | None:
    """After which write of the log the file could have been left like this; None if it never was."""
    state = bytearray()
    for number in range(len(writes) + 1):
        following = []
        for write in writes[number:]:
            if not write.is_raw:
                break
            following.append(write)
        if explains(file, state, following):
            return number
        if number < len(writes):
            writes[number].apply(state)
    return None


def killed_file(faults, version: str, number: int) -> bytes | None:
    """The file of a program that was killed when its write `number` had come to the device, and others perhaps not.

    None if it wrote less often than that.
    """
    target = faults.path / f"{version}-{number}"
    target.mkdir()
    faults.set_rules(f"write nth={number} hold")
    environment = support.under_dovetail(LD_PRELOAD=str(support.CLOCK))
    with subprocess.Popen([sys.executable, "-c", PROGRAM, version], cwd=target, env=environment) as process:
        if not support.wait_until_held(faults, process):
            assert process.returncode == 0
            return None
        process.send_signal(signal.SIGKILL)
    faults.set_rules("")
    path = target / "series.h5"
    return path.read_bytes() if path.exists() else b""


@pytest.mark.parametrize("version", ["earliest", "latest"])
def test_a_killed_program_leaves_what_native_could_have_left(faults, tmp_path: Path, version: str) -> None:
    writes = native_log(tmp_path, version)
    moments = []
    # Neighbours may be merged, so that there are fewer writes than natively.
    for number in range(1, len(writes), 3):
        file = killed_file(faults, version, number)
        if file is None:
            break
        found = moment(file, writes)
        assert found is not None, f"killed at write {number}, the file is as native HDF5 never leaves it"
        moments.append(found)
    print(f"killed after the writes {moments} of {len(writes)}")
    assert len(set(moments)) > 2, f"the kills all came at the same moment: {moments}"


def test_a_file_that_native_would_not_leave_is_seen(tmp_path: Path) -> None:
    writes = native_log(tmp_path, "earliest")
    last_raw = max(number for number, write in enumerate(writes) if write.is_raw)
    without = bytearray()
    for number, write in enumerate(writes):
        if number != last_raw:
            write.apply(without)
    assert moment(bytes(without), writes) is None


def test_after_a_signal_the_file_is_whole_up_to_a_flush(folder: Path) -> None:
    """SIGTERM without a handler, at random moments: what was flushed and has come to the disk is readable."""
    program = """
import h5py, numpy as np, os, signal, sys
file = h5py.File("series.h5", "w", libver="earliest")
for step in range(int(sys.argv[1])):
    file[f"step {step}"] = np.full(20000, step)
    file.flush()
os.kill(os.getpid(), signal.SIGTERM)
signal.pause()
"""
    import h5py

    for steps in (1, 3, 20):
        ended = support.run_python(program, steps, folder=folder)
        assert ended.status == -signal.SIGTERM, ended
        # With the default action nothing of the process runs any more, so the last steps may be missing, but none may be wrong.
        try:
            with h5py.File("series.h5") as file:
                for name in file:
                    assert (file[name][()] == int(name.split()[1])).all()
        except (OSError, RuntimeError, KeyError) as error:
            # As after native HDF5 that was killed within a flush: not all of the last one has come to the disk.
            assert Path("series.h5").read_bytes() != flushed_by_native_hdf5(steps), error
        os.unlink("series.h5")


def flushed_by_native_hdf5(steps: int) -> bytes:
    import h5py

    with h5py.File("native.h5", "w", libver="earliest") as file:
        for step in range(steps):
            file[f"step {step}"] = np.full(20000, step)
            file.flush()
        return Path("native.h5").read_bytes()
