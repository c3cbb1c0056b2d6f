"""What other programs see of a file after a flush or a close, and what a program sees that reads its file without HDF5.

The device takes its time for each write, so that what was not waited for is not there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import support

SLOW = "write delay=15"


def kept_steps(path: Path) -> list[int]:
    """The whole steps that native HDF5 finds in a file whose writer may be gone."""
    text = """
import h5py, sys
with h5py.File(sys.argv[1]) as file:
    print(*(name for name in file if (file[name][()] == int(name)).all()))
"""
    environment = support.clean(HDF5_USE_FILE_LOCKING="FALSE")
    return sorted(map(int, support.run_python(text, path, environment=environment).expect(0).output.split()))


@pytest.mark.parametrize("deflate", [False, True])
def test_a_flush_has_returned_when_others_see_the_bytes(faults, python: str, deflate: bool) -> None:
    """Another process, a copy of the file, and its size; natively the same program says the same."""
    text = """
import h5py, numpy as np, os, shutil, subprocess, sys
path, python, deflate = sys.argv[1], sys.argv[2], sys.argv[3] == "True"
clean = {name: value for name, value in os.environ.items() if not name.startswith("HDF5_")}
clean["HDF5_USE_FILE_LOCKING"] = "FALSE"
read = "import h5py, sys; print(*(int(values[()].sum()) for values in h5py.File(sys.argv[1]).values()))"
def seen(name):
    return subprocess.run([python, "-c", read, name], env=clean, capture_output=True, text=True).stdout.split()
options = {"chunks": (1000,), "compression": "gzip"} if deflate else {}
file = h5py.File(path, "w")
for step in range(4):
    file.create_dataset(f"step {step}", data=np.full(40000, step), **options)
    file.flush()
    shutil.copy(path, path + ".copy")
    print(seen(path), seen(path + ".copy"), os.path.getsize(path) == file.id.get_filesize())
file["last"] = np.full(40000, 9)
file.close()
print(seen(path))
"""
    faults.set_rules(SLOW)
    said = [
        support.run_python(
            text, faults.path / f"{name}.h5", python, deflate, python=python, environment=environment, timeout=200
        )
        .expect(0)
        .output
        for name, environment in (("native", support.clean()), ("dovetail", support.under_dovetail()))
    ]
    assert said[0] == said[1]
    assert "['0', '40000', '80000', '120000'] ['0', '40000', '80000', '120000'] True" in said[1], said[1]


@pytest.mark.parametrize("end", ["kill -9", "os._exit", "exec"])
def test_steps_that_were_flushed_survive_the_end_of_the_program(faults, end: str) -> None:
    """Every step that the program has said to be flushed, whenever it ends."""
    text = """
import h5py, numpy as np, os, signal, sys
path, steps, end = sys.argv[1], int(sys.argv[2]), sys.argv[3]
file = h5py.File(path, "w")
for step in range(steps):
    file[str(step)] = np.full(20000, step)
    file.flush()
if end == "kill -9":
    os.kill(os.getpid(), signal.SIGKILL)
if end == "os._exit":
    os._exit(0)
os.execvp("true", ["true"])
"""
    faults.set_rules(SLOW)
    for steps in (1, 2, 5):
        path = faults.path / f"{steps}.h5"
        ended = support.run_python(text, path, steps, end, timeout=100)
        assert ended.status == (-signal.SIGKILL if end == "kill -9" else 0), ended
        assert kept_steps(path) == list(range(steps))


def test_a_worker_process_that_returns_has_written_what_it_flushed(faults) -> None:
    faults.set_rules(SLOW)
    text = """
import h5py, multiprocessing, numpy as np, sys
kept = []
def work(number):
    file = h5py.File(f"{sys.argv[1]}/{number}.h5", "w")
    file["x"] = np.full(50000, number)
    file.flush()
    kept.append(file)  # it stays open: a worker process ends without any clean-up
    return number
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(work, range(4)) == list(range(4))
        for number in range(4):
            raw = np.fromfile(f"{sys.argv[1]}/{number}.h5", "i8")
            assert (raw == number).sum() >= 50000 or number == 0, number
"""
    support.run_python(text, faults.path, timeout=100).expect(0)


# Each answer is used in place: what it leads to must be there, though nothing has been flushed.
QUESTIONS = {
    "get_offset": "check(plain.id.get_offset(), 40000)",
    "get_chunk_info": "check(chunked.id.get_chunk_info(3).byte_offset, 1000, 3000)",
    "get_chunk_info_by_coord": "check(chunked.id.get_chunk_info_by_coord((5000,)).byte_offset, 1000, 5000)",
    "chunk_iter": "chunked.id.chunk_iter(lambda chunk: check(chunk.byte_offset, 1000, chunk.chunk_offset[0]))",
    "get_num_chunks": "assert chunked.id.get_num_chunks() == 40 and end() >= 320000",
    "get_storage_size": "assert plain.id.get_storage_size() == 320000 and end() >= 320000",
    "get_space_status": "plain.id.get_space_status(); assert end() >= 320000",
    "get_filesize": "assert file.id.get_filesize() <= end() + 2048",
    "get_freespace": "file.id.get_freespace(); assert end() >= 320000",
    "get_vfd_handle": "assert os.fstat(file.id.get_vfd_handle()).st_size >= 320000",
    "fsync of the handle": "os.fsync(file.id.get_vfd_handle()); assert end() >= 320000",
}


@pytest.mark.parametrize("question", list(QUESTIONS))
def test_where_an_answer_leads_the_bytes_are(faults, python: str, question: str) -> None:
    text = f"""
import h5py, numpy as np, os, sys
path = sys.argv[1]
def end():
    return os.path.getsize(path)
def check(place, count, first=0):
    found = np.fromfile(path, "i8", count=count, offset=place)
    assert (found == np.arange(first, first + count)).all(), (place, found)
file = h5py.File(path, "w")
values = np.arange(40000)
chunked = file.create_dataset("chunked", data=values, chunks=(1000,)) if "chunk" in {question!r} else None
plain = file.create_dataset("plain", data=values) if chunked is None else None
{QUESTIONS[question]}
"""
    for name, environment in (("native", support.clean()), ("dovetail", support.under_dovetail())):
        faults.set_rules(SLOW if name == "dovetail" else "")
        support.run_python(text, faults.path / f"{name}.h5", python=python, environment=environment).expect(0)


def test_the_handle_is_that_of_the_native_driver(folder: Path, python: str) -> None:
    """Eight bytes of it, as programs read them: the descriptor and zeros."""
    text = """
import ctypes, h5py, os
libraries = {line.split()[-1] for line in open("/proc/self/maps") if "/libhdf5-" in line}
library = ctypes.CDLL(libraries.pop())
handle = ctypes.POINTER(ctypes.c_uint64)()
with h5py.File("x.h5", "w") as file:
    assert library.H5Fget_vfd_handle(ctypes.c_int64(file.id.id), ctypes.c_int64(0), ctypes.byref(handle)) >= 0
    number = handle[0]
    assert os.readlink(f"/proc/self/fd/{number}").endswith("x.h5")
    print(number)
"""
    said = [
        support.run_python(text, python=python, environment=environment, folder=folder).expect(0).output
        for environment in (support.clean(), support.under_dovetail())
    ]
    assert said[0] == said[1]


def test_a_flush_in_the_background_returns_at_once(faults) -> None:
    """By the variable; the device holds every write until the flush has returned."""
    faults.set_rules("write hold")
    text = f"""
import h5py, numpy as np, sys
file = h5py.File(sys.argv[1], "w")
file["x"] = np.arange(100000)
file.flush()
open({str(faults.path / ".faults")!r}, "w").write("# nothing is held any more")
file.close()
assert (h5py.File(sys.argv[1])["x"][()] == np.arange(100000)).all()
"""
    environment = support.under_dovetail(DOVETAIL_HDF5_FLUSH="background")
    support.run_python(text, faults.path / "x.h5", environment=environment, timeout=100).expect(0)


def test_a_close_in_the_background_returns_at_once(faults) -> None:
    """The device holds every write until the close has returned. Opening the file again waits, and so does the end of the program."""
    text = f"""
import h5py, numpy as np, sys
def tell(rules):
    open({str(faults.path / ".faults")!r}, "w").write(rules)
for turn in range(3):
    file = h5py.File(sys.argv[1], "w")  # HDF5 flushes in it
    tell("write hold")
    file["x"] = np.arange(100000) + turn
    file.close()
    tell("# nothing is held any more")
    assert (h5py.File(sys.argv[1])["x"][()] == np.arange(100000) + turn).all()
tell("write delay=5")
for number in range(20):
    with h5py.File(sys.argv[1] + str(number), "w") as file:
        file["x"] = np.arange(100000) + number
"""
    environment = support.under_dovetail(DOVETAIL_HDF5_CLOSE="background")
    path = faults.path / "x.h5"
    support.run_python(text, path, environment=environment, timeout=100).expect(0)
    check = "import h5py, sys; x = h5py.File(sys.argv[1])['x'][()]; print(x[0], x[-1], len(x))"
    for number in range(20):
        ended = support.run_python(check, f"{path}{number}", environment=support.clean()).expect(0)
        assert ended.output.split() == [str(number), str(99999 + number), "100000"]


def test_a_close_in_the_background_leaves_the_file_that_a_waiting_one_leaves(faults) -> None:
    text = """
import h5py, numpy as np, sys
for turn in range(5):
    with h5py.File(sys.argv[1], "a") as file:
        for number in range(8):
            data = file.create_dataset(f"{turn}/{number}", data=np.arange(3000 * number), chunks=(500,) if number else None,
                                       compression="gzip" if number % 3 == 1 else None)
            data.attrs["turn"] = turn
        if turn > 0:
            del file[str(turn - 1)]
"""
    files = {}
    for name, environment in {
        "native": support.clean(LD_PRELOAD=str(support.CLOCK)),
        "dovetail": support.under_dovetail(DOVETAIL_HDF5_CLOSE="background", LD_PRELOAD=str(support.CLOCK)),
    }.items():
        path = faults.path / f"{name}.h5"
        support.run_python(text, path, environment=environment).expect(0)
        files[name] = path.read_bytes()
    assert files["dovetail"] == files["native"]


def test_a_failure_in_a_close_in_the_background_is_told_and_is_the_exit_status(faults) -> None:
    faults.set_rules("write offset=100000.. error=EIO")
    text = "import h5py, numpy as np, sys; f = h5py.File(sys.argv[1], 'w'); f['x'] = np.ones(10**5); f.close(); print('closed')"
    environment = support.under_dovetail(DOVETAIL_HDF5_CLOSE="background")
    ended = support.run_python(text, faults.path / "x.h5", environment=environment)
    assert ended.status != 0, ended
    ended.expect(ended.status, "H5Dwrite /x", "x.h5", "errno 5")


def test_the_report_says_what_a_flush_in_the_background_would_save(faults) -> None:
    faults.set_rules(SLOW)
    text = "import h5py, numpy as np, sys; f = h5py.File(sys.argv[1], 'w'); f['x'] = np.ones(10**5); f.flush()"
    environment = support.under_dovetail(DOVETAIL_HDF5_REPORT="1")
    support.run_python(text, faults.path / "x.h5", environment=environment).expect(0, "--flush=background", "waited")


def test_the_report_says_what_a_close_in_the_background_would_save(faults) -> None:
    faults.set_rules(SLOW)
    text = "import h5py, numpy as np, sys; f = h5py.File(sys.argv[1], 'w'); f['x'] = np.ones(10**5); f.close()"
    environment = support.under_dovetail(DOVETAIL_HDF5_REPORT="1")
    support.run_python(text, faults.path / "x.h5", environment=environment).expect(0, "--close=background", "waited")


def test_a_reader_sees_what_another_process_has_written_since(faults) -> None:
    """What is fetched ahead is thrown away when the file has changed."""
    make = """
import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "w") as file:
    for step in range(80):
        file[f"{step:02}"] = np.full(20000, step)
"""
    # The reader itself acts as the other process. It writes by a descriptor of its own, when it sees that the next step has been fetched.
    read = """
import h5py, numpy as np, os, sys, time
file = h5py.File(sys.argv[1])
places = [file[f"{step:02}"].id.get_offset() for step in range(80)]
def bytes_read():
    return int(open("/proc/self/io").read().split()[1])
other = os.open(sys.argv[1], os.O_RDWR)
sign, rewritten = 1, 0
for step in range(80):
    before = bytes_read()
    assert (file[f"{step:02}"][()] == sign * step).all(), step
    limit = time.monotonic() + 0.3  # where nothing is fetched, nothing comes
    while rewritten < 3 and bytes_read() < before + 300000 and time.monotonic() < limit:
        time.sleep(0.002)
    if rewritten < 3 and bytes_read() >= before + 300000:
        rewritten += 1
        sign = -sign
        for later in range(step + 1, 80):
            os.pwrite(other, np.full(20000, sign * later).tobytes(), places[later])
print(rewritten)
"""
    path = faults.path / "series.h5"
    support.run_python(make, path, environment=support.clean()).expect(0)
    environment = support.under_dovetail(DOVETAIL_HDF5_REPORT="1", HDF5_USE_FILE_LOCKING="FALSE")
    ended = support.run_python(read, path, environment=environment, timeout=100).expect(0, "fetched before")
    assert int(ended.output) > 0, ended


def test_the_program_run_by_dovetail_may_ask_for_it(folder: Path) -> None:
    """`dovetail run --hdf5 --flush=background --close=background program`."""
    package = support.BUILD / "python"
    if not (package / "dovetail").exists():
        pytest.skip("the Python package is not built")
    (folder / "program.py").write_text(
        "import os; print(*(os.environ.get(f'DOVETAIL_HDF5_{name}') for name in ('FLUSH', 'CLOSE')))"
    )
    command = [sys.executable, "-m", "dovetail.cli", "run"]
    environment = support.clean(PYTHONPATH=str(package))
    run = lambda *options: support.run([*command, *options, "program.py"], environment, folder)  # noqa: E731
    assert run("--hdf5", "--flush=background").expect(0).output.strip() == "background None"
    assert run("--hdf5", "--close=background").expect(0).output.strip() == "None background"
    assert run("--hdf5").expect(0).output.strip() == "None None"
    run("--hdf5", "--flush=perhaps").expect(2, "perhaps")
    run("--hdf5", "--close=perhaps").expect(2, "--close=perhaps")
    run("--flush=background").expect(2, "--hdf5")
    run("--close=background").expect(2, "--hdf5")


def test_a_kill_at_any_moment_keeps_what_was_flushed(faults) -> None:
    """`kill -9` from outside, 25 times: the steps that the program had named before are there."""
    text = """
import h5py, numpy as np, sys
file = h5py.File(sys.argv[1], "w")
for step in range(200):
    file[str(step)] = np.full(20000, step)
    file.flush()
    print(step, flush=True)
"""
    faults.set_rules("write delay=2")
    for turn in range(25):
        path = faults.path / f"{turn}.h5"
        with subprocess.Popen(
            [sys.executable, "-c", text, str(path)], env=support.under_dovetail(), stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            said = [int(process.stdout.readline()) for _ in range(turn % 5 + 1)]
            os.kill(process.pid, signal.SIGKILL)
            said += [int(line) for line in process.stdout.read().split()]
        # Killed within a flush, native HDF5 may leave a file that it cannot read; what was flushed before is in it all the same.
        raw = path.read_bytes()
        for step in said:
            assert np.full(20000, step).tobytes() in raw, f"step {step} was flushed and is lost"
