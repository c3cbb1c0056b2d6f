"""While writes are held by the device: what returns at once, what waits, and what reads see.

A call that waited here would wait for ever, since nothing is let go before it has returned; such a test is shown and ended.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import support


def let_go(folder: Path) -> str:
    """In a program: let the device go on, from within."""
    return f"open({str(folder / '.faults')!r}, 'w').write('# nothing is held any more')"


@contextmanager
def program(text: str, *arguments: object, **environment: str) -> Iterator[subprocess.Popen]:
    """A program that runs beside the test, which is ended with it."""
    with subprocess.Popen(
        [sys.executable, "-c", text, *map(str, arguments)],
        env=support.under_dovetail(DOVETAIL_HDF5_REPORT="1", **environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sleepers(process: subprocess.Popen) -> dict[str, list[str]] | None:
    """How often each thread of a program has gone to sleep; None if one of them is awake."""
    found = {}
    for thread in Path(f"/proc/{process.pid}/task").iterdir():
        try:
            status = (thread / "status").read_text()
        except OSError:
            return None  # it has ended meanwhile
        if re.search(r"^State:\s+S", status, re.MULTILINE) is None:
            return None
        found[thread.name] = re.findall(r"^\w*voluntary_ctxt_switches:\s+(\d+)", status, re.MULTILINE)
    return found


def wait_until_all_threads_sleep(process: subprocess.Popen) -> None:
    """Until nothing of the program goes on before the device answers. Bounded by its end and by how much it computes.

    One thread alone may also sleep for a moment, in a lock. A thread that was asleep in two looks, and has not been
    awake between them, was asleep together with all others.
    """
    before = None
    while process.poll() is None:
        now = sleepers(process)
        if now is not None and now == before:
            return
        before = now
        assert processor_seconds(process.pid) < 60, "it computes while nothing can go on"
        time.sleep(0.01)  # for the sake of the machine
    raise AssertionError(f"it ended with {process.returncode}: {process.stderr.read()}")


def test_all_but_the_last_close_returns_while_every_write_is_held(faults, python: str) -> None:
    """With flushes in the background."""
    faults.set_rules("write hold")
    text = f"""
import h5py, numpy as np
file = h5py.File({str(faults.path / "held.h5")!r}, "w")
rows = file.create_dataset("rows", (4, 1000), "i8", maxshape=(None, 1000), chunks=(1, 1000))
file["plain"] = np.arange(100000)
for step in range(20):
    rows.resize(step + 1, 0)
    rows[step] = step
    rows.attrs["last"] = step
    file.flush()
again = h5py.File({str(faults.path / "held.h5")!r}, "r+")
again.create_group("made by the other handle")
again.close()
print("held: ", open({str(faults.path / ".faults")!r}).read())
assert (file["plain"][()] == np.arange(100000)).all() and (rows[7] == 7).all() and rows.attrs["last"] == 19
{let_go(faults.path)}
file.close()
"""
    environment = support.under_dovetail(DOVETAIL_HDF5_FLUSH="background")
    ended = support.run_python(text, python=python, environment=environment, timeout=100).expect(0)
    assert "waiting" in ended.output or "hold" in ended.output
    check = f"""
import h5py, numpy as np
file = h5py.File({str(faults.path / "held.h5")!r})
assert (file["plain"][()] == np.arange(100000)).all()
assert (file["rows"][()] == np.arange(20)[:, None]).all() and "made by the other handle" in file
"""
    support.run_python(check, python=python, environment=support.clean()).expect(0)


def test_every_selection_of_pending_bytes_reads_as_written(faults) -> None:
    """Newest over older, written over in parts, beside what was never written, and partly in the file already."""
    text = f"""
import h5py, numpy as np, random, sys
chance = random.Random(sys.argv[1])
name = {str(faults.path / "pending.h5")!r}
expected = np.arange(40000, dtype="i4")
with h5py.File(name, "w") as file:
    file["x"] = expected
    file.create_dataset("never written", (1000,), "f8", fillvalue=3.5)
open({str(faults.path / ".faults")!r}, "w").write("write hold")
access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
access.set_sieve_buf_size(0)  # each write is one of the driver
file = h5py.File(h5py.h5f.open(name.encode(), h5py.h5f.ACC_RDWR, fapl=access))
for turn in range(300):
    first = chance.randrange(40000)
    last = min(40000, first + chance.choice((1, 10, 5000)))
    step = chance.choice((1, 1, 1, 7))
    if chance.random() < 0.5:
        expected[first:last:step] = file["x"][first:last:step] = turn * 100003 + np.arange(len(range(first, last, step)))
    else:
        assert (file["x"][first:last:step] == expected[first:last:step]).all(), (turn, first, last, step)
assert (file["x"][()] == expected).all() and (file["never written"][()] == 3.5).all()
{let_go(faults.path)}
file.close()
assert (h5py.File(name)["x"][()] == expected).all()
"""
    environment = support.under_dovetail(DOVETAIL_HDF5_FLUSH="background")
    support.run_python(text, support.seed(), environment=environment, timeout=100).expect(0)


def test_a_full_buffer_waits_for_space_and_says_so(faults, tmp_path: Path) -> None:
    faults.set_rules("write hold")
    text = """
import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "w") as file:
    for part in range(32):
        file[f"part {part}"] = np.full(2**16, part)  # half a MiB
        print(part, flush=True)
"""
    path = faults.path / "full.h5"
    # A flush that waits (h5py makes one with a new file) would be the first to be held.
    with program(text, path, DOVETAIL_HDF5_BUFFER="4M", DOVETAIL_HDF5_FLUSH="background") as process:
        assert support.wait_until_held(faults, process)
        wait_until_all_threads_sleep(process)
        faults.set_rules("")
        output, errors = support.hangs.finish(process, 100)
        said = output.splitlines()
        assert process.returncode == 0, errors
        assert len(said) == 32, said
        assert "waited" in errors and "DOVETAIL_HDF5_BUFFER" in errors, errors
    check = (
        "import h5py, sys; f = h5py.File(sys.argv[1]); assert all((f[f'part {n}'][()] == n).all() for n in range(32))"
    )
    support.run_python(check, path, environment=support.clean()).expect(0)


def test_a_fork_waits_for_all_writes_and_says_so(faults) -> None:
    faults.set_rules("write hold")
    text = """
import h5py, numpy as np, os, sys
with h5py.File(sys.argv[1], "w") as file:
    file["x"] = np.arange(2**17)
    child = os.fork()
    if child == 0:
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    with program(text, faults.path / "forks.h5", DOVETAIL_HDF5_FLUSH="background") as process:
        assert support.wait_until_held(faults, process)
        wait_until_all_threads_sleep(process)
        faults.set_rules("")
        _, errors = support.hangs.finish(process, 100)
        assert process.returncode == 0, errors
        assert re.search(r"waited \d+\.\d+ s for fork$", errors, re.MULTILINE), errors


def test_a_write_larger_than_the_buffer_is_written(tmp_path: Path) -> None:
    text = """
import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "w") as file:
    file["large"] = np.arange(2**21)
assert (h5py.File(sys.argv[1])["large"][()] == np.arange(2**21)).all()
"""
    ended = support.run_python(
        text,
        tmp_path / "large.h5",
        environment=support.under_dovetail(DOVETAIL_HDF5_BUFFER="4M"),
        timeout=100,
    )
    ended.expect(0)


@pytest.mark.parametrize("buffer", ["", "4M"])
def test_a_program_that_waits_is_idle(faults, buffer: str) -> None:
    """For the last close, and for space in the buffer."""
    faults.set_rules("write hold")
    text = """
import h5py, numpy as np, sys
file = h5py.File(sys.argv[1], "w")
file["x"] = np.arange(2**20)
file["y"] = np.arange(2**20)
file.close()
"""
    with program(text, faults.path / "idle.h5", **({"DOVETAIL_HDF5_BUFFER": buffer} if buffer else {})) as process:
        assert support.wait_until_held(faults, process)
        wait_until_all_threads_sleep(process)
        before, since = processor_seconds(process.pid), time.monotonic()
        time.sleep(2)  # the silence that is looked at
        used, silence = processor_seconds(process.pid) - before, time.monotonic() - since
        faults.set_rules("")
        _, errors = support.hangs.finish(process, 100)
        assert process.returncode == 0, errors
        assert used < silence / 10, f"{used} s of processor time in {silence} s without anything to do"


def test_reads_are_fetched_ahead_where_a_series_shows(faults, python: str) -> None:
    path = faults.path / "series.h5"
    make = """
import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "w") as file:
    for step in range(12):
        for name in "xyz":
            file[f"{step:02}/{name}"] = np.full(40000, step)
"""
    support.run_python(make, path, environment=support.clean()).expect(0)
    read = """
import h5py, numpy as np, sys
with h5py.File(sys.argv[1]) as file:
    for step in range(12):
        for name in "xyz":
            assert (file[f"{step:02}/{name}"][()] == step).all()
"""
    # Where reading costs nothing, there is nothing to gain.
    faults.set_rules("read delay=5")
    environment = support.under_dovetail(DOVETAIL_HDF5_REPORT="1")
    ended = support.run_python(read, path, python=python, environment=environment).expect(0, "fetched before")
    assert " 0.0 MiB fetched" not in ended.errors, ended.errors
    off = support.run_python(read, path, python=python, environment={**environment, "DOVETAIL_HDF5_READ_AHEAD": "0"})
    assert " 0.0 MiB fetched" in off.expect(0).errors, off.errors


def test_what_was_fetched_ahead_and_written_since_is_read_as_written(faults) -> None:
    text = """
import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "w") as file:
    file["x"] = np.arange(40 * 20000).reshape(40, 20000)
with h5py.File(sys.argv[1], "r+") as file:
    for row in range(39):
        assert (file["x"][row] == (np.arange(20000) + 20000 * row if row % 5 else -row if row else np.arange(20000))).all(), row
        if (row + 1) % 5 == 0:
            file["x"][row + 1] = -(row + 1)
"""
    support.run_python(text, faults.path / "series.h5").expect(0)


def test_what_is_read_ahead_leaves_space_for_writes(faults) -> None:
    """Readers of several series that stop in the middle, and a writer, in the smallest buffer."""
    path = faults.path
    make = """
import h5py, numpy as np, sys
for series in range(4):
    with h5py.File(f"{sys.argv[1]}/{series}.h5", "w") as file:
        for step in range(12):
            file[str(step)] = np.full(2**17, step)
"""
    support.run_python(make, path, environment=support.clean()).expect(0)
    faults.set_rules("read delay=5")
    text = """
import h5py, numpy as np, sys
series = [h5py.File(f"{sys.argv[1]}/{number}.h5") for number in range(4)]
for file in series:
    for step in range(8):
        assert (file[str(step)][()] == step).all()
with h5py.File(f"{sys.argv[1]}/written.h5", "w") as file:
    for part in range(16):
        file[str(part)] = np.full(2**17, part)
for file in series:
    for step in range(8, 12):
        assert (file[str(step)][()] == step).all()
with h5py.File(f"{sys.argv[1]}/written.h5") as file:
    assert all((file[str(part)][()] == part).all() for part in range(16))
"""
    environment = support.under_dovetail(DOVETAIL_HDF5_BUFFER="4M", DOVETAIL_HDF5_REPORT="1")
    ended = support.run_python(text, path, environment=environment, timeout=100).expect(0, "fetched before")
    assert " 0.0 MiB fetched" not in ended.errors, ended.errors


def test_readers_beside_a_single_writer_see_what_it_has_flushed(faults, python: str) -> None:
    """Also where the file became theirs after it had been opened."""
    faults.set_rules("write delay=50")
    text = """
import h5py, numpy as np, os, subprocess, sys
path, python = sys.argv[1:]
clean = {name: value for name, value in os.environ.items() if not name.startswith("HDF5_")}
def seen():
    read = "import h5py, sys; print(h5py.File(sys.argv[1], swmr=True)['x'][:].tolist())"
    return subprocess.run([python, "-c", read, path], env=clean, capture_output=True, text=True)
file = h5py.File(path, "w", libver="latest")
x = file.create_dataset("x", (2,), "i4", maxshape=(None,), chunks=(2000,))
file.swmr_mode = True
with open(path, "rb") as raw:
    assert raw.read(12)[11] & 4, "the file does not say that it has a single writer"
for step in range(1, 4):
    x.resize((step,))
    x[:] = step
    x.flush()
    found = seen()
    assert found.stdout.strip() == str([step] * step), found
file.close()
"""
    support.run_python(text, faults.path / "readers.h5", python, python=python, timeout=100).expect(0)


def test_short_and_interrupted_transfers_are_continued(faults) -> None:
    faults.set_rules("write short=5000", "write error=EINTR every=7", "read short=3000", "read error=EINTR every=5")
    text = """
import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "w") as file:
    for part in range(8):
        file[str(part)] = np.arange(2**16) + part
    file["many"] = np.ones(100)
    for step in range(100):
        file["many"].attrs[str(step)] = np.full(100, step)
with h5py.File(sys.argv[1]) as file:
    assert all((file[str(part)][()] == np.arange(2**16) + part).all() for part in range(8))
    assert all((file["many"].attrs[str(step)] == step).all() for step in range(100))
"""
    for memory in ("", "4M"):
        environment = support.under_dovetail(**({"DOVETAIL_HDF5_BUFFER": memory} if memory else {}))
        support.run_python(text, faults.path / f"short{memory}.h5", environment=environment, timeout=100).expect(0)
