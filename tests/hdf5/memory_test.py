"""How much memory the connector takes: what it may, what it needs, and no more once it is idle."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import support

LIMIT = 256 << 20
# In mebibytes, and a wait until it is that low.
RESIDENT = """
import h5py, numpy as np, sys, time
def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) // 1024

def wait_for_resident(most):
    limit = time.monotonic() + 60
    while resident() > most and time.monotonic() < limit:
        time.sleep(0.01)
"""


@contextmanager
def cgroup(limit: int) -> Iterator[Path]:
    """A control group of this test that allows so many bytes; its folder."""
    for root, file in (
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        ("/sys/fs/cgroup", "memory.max"),
    ):
        folder = Path(root) / f"dovetail-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            if (folder / file).exists():
                (folder / file).write_text(str(limit))
                yield folder
                return
        except OSError:
            pass
        finally:
            folder.rmdir()
    pytest.skip("no control group can be made here")


def test_a_program_in_a_control_group_is_not_killed(faults) -> None:
    """It writes more than it may use, to a device that is slower than it."""
    text = """
import h5py, numpy as np, os, sys
open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
import subprocess
status = subprocess.run([sys.executable, "-c", '''
import h5py, numpy as np, sys
values = np.ones(4 << 20)
with h5py.File(sys.argv[1], "w") as file:
    for part in range(12):
        file[str(part)] = values
''', sys.argv[2]]).returncode
open(sys.argv[1] + "/../cgroup.procs", "w").write(str(os.getpid()))
import resource
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
assert most < 190, f"it took {most} MiB where it may have 256"
sys.exit(0 if status == 0 else 9 if status == -9 else 1)
"""
    faults.set_rules("write delay=60")
    with cgroup(LIMIT) as folder:
        support.run_python(text, folder, faults.path / "x.h5", timeout=200).expect(0)


def test_buffers_are_given_back_when_idle(faults) -> None:
    text = f"""
{RESIDENT}
values = np.ones(1 << 17)
file = h5py.File(sys.argv[1], "w")
before = resident()
open({str(faults.path / ".faults")!r}, "w").write("write hold")
for part in range(300):
    file[str(part)] = values
most = resident()
open({str(faults.path / ".faults")!r}, "w").write("# nothing is held any more")
file.flush()
wait_for_resident(before + 40)
print(before, most, resident())
assert most > before + 280, "nothing was kept in memory"
assert resident() <= before + 40
"""
    environment = support.under_dovetail(DOVETAIL_HDF5_BUFFER="512M")
    support.run_python(text, faults.path / "x.h5", environment=environment, timeout=200).expect(0)


@pytest.mark.parametrize("chunk", [1 << 14, 1 << 20])
def test_what_chunks_were_compressed_in_is_given_back_when_idle(tmp_path: Path, chunk: int) -> None:
    text = f"""
{RESIDENT}
rows = (4 << 20) // {chunk}
step = np.tile(np.random.default_rng(1).integers(0, 255, {chunk}, np.uint8), (rows, 1))
file = h5py.File(sys.argv[1], "w")
data = file.create_dataset("x", (40 * rows, {chunk}), "u1", chunks=(1, {chunk}), compression="gzip", compression_opts=1)
before = resident()
for i in range(0, 40 * rows, rows):
    data[i : i + rows] = step
file.close()
most = resident()
wait_for_resident(before + 30)
print(before, most, resident())
assert most > before + 60, "nothing was compressed by tasks"
assert resident() <= before + 30
"""
    support.run_python(text, tmp_path / "x.h5", environment=support.under_dovetail(), timeout=200).expect(0)


@pytest.mark.parametrize(("size", "count"), [(1 << 20, 60), (1_200_000, 48), (300_000, 190), (100_000, 460)])
def test_a_write_takes_about_as_much_memory_as_it_has_bytes(faults, size: int, count: int) -> None:
    """So many fit into 64 MiB; the device takes none of them meanwhile, so one that did not fit would wait for ever."""
    text = f"""
import h5py, numpy as np, sys
values = np.zeros({size}, "u1")
file = h5py.File(sys.argv[1], "w")
open({str(faults.path / ".faults")!r}, "w").write("write hold")
for part in range({count}):
    file[str(part)] = values
open({str(faults.path / ".faults")!r}, "w").write("# nothing is held any more")
file.close()
"""
    environment = support.under_dovetail(DOVETAIL_HDF5_BUFFER="64M")
    support.run_python(text, faults.path / "x.h5", environment=environment, timeout=60).expect(0)
