"""Compressed datasets: what is written while tasks compress is the same file as natively, however the program goes on."""

from __future__ import annotations

import re
from pathlib import Path

import support

# Eight chunks of a quarter of a mebibyte, which compress to about a half. `write` leaves the last call of HDF5 with chunks still to be
# compressed: nothing else is called after it.
BEGINNING = """
import h5py, numpy as np, os, sys
random = np.random.default_rng(1)
values = random.integers(0, 3000, (8 * 128, 256)).astype("<i8")
access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
access.set_fclose_degree(h5py.h5f.CLOSE_WEAK)
file = h5py.h5f.create(b"out.h5", h5py.h5f.ACC_TRUNC, fapl=access)
def write(name, values=values, chunk=(128, 256), access=None):
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_obj_track_times(False)
    creation.set_chunk(chunk)
    creation.set_shuffle()
    creation.set_deflate(4)
    made = h5py.h5d.create(file, name, h5py.h5t.STD_I64LE, h5py.h5s.create_simple(values.shape), creation, dapl=access)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
    return made
"""


def both(folder: Path, text: str, status: int = 0, **settings: str) -> str:
    """Runs a program natively and under Dovetail, compares out.h5, and returns what Dovetail said."""
    said = ""
    for name, environment in (
        ("native", support.clean()),
        ("dovetail", support.under_dovetail(DOVETAIL_HDF5_REPORT="1", **settings)),
    ):
        place = folder / name
        place.mkdir()
        environment["LD_PRELOAD"] = str(support.CLOCK)
        said = (
            support.run_python(BEGINNING + text, environment=environment, folder=place, timeout=200)
            .expect(status)
            .errors
        )
    native, dovetail = ((folder / name / "out.h5").read_bytes() for name in ("native", "dovetail"))
    assert native == dovetail, said
    return said


def compressed(said: str) -> tuple[int, int]:
    """Chunks compressed by tasks and by the program."""
    found = re.search(r"(\d+) chunks compressed in the background.*; (\d+) by the", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def test_chunks_are_compressed_by_tasks(folder: Path, python: str) -> None:
    """The program only asks until they are, which compresses none."""
    text = f"""
dataset = write(b"x")
if "HDF5_VOL_CONNECTOR" in os.environ:
    import ctypes
    connector = ctypes.CDLL({str(support.BUILD / "lib" / "libdovetail-hdf5.so.0")!r})
    done = ctypes.c_int()
    while not done.value:
        assert connector.dovetail_H5Ftest(ctypes.c_int64(file.id), ctypes.byref(done)) >= 0
        os.sched_yield()
del dataset
file.close()
"""
    assert compressed(both(folder, text)) == (8, 0)


def test_a_write_larger_than_the_budget_is_compressed_from_the_memory_of_the_program(folder: Path) -> None:
    text = """
big = np.concatenate([values] * 8)
dataset = write(b"x", big)
big[:] = 0
dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.concatenate([values + 1] * 8))
"""
    said = both(folder, text, DOVETAIL_HDF5_BUFFER="4M")
    # How many the program compressed depends on when HDF5's cache lets go of the others: once no result is kept, chunks are not
    # counted.
    background, _ = compressed(said)
    assert background > 0, said
    assert "compressed writes larger than the buffer" in said


def test_without_threads_the_program_compresses(folder: Path) -> None:
    assert compressed(both(folder, 'write(b"x")', DOVETAIL_HDF5_COMPRESSION_THREADS="0")) == (0, 0)


def test_a_program_may_end_with_chunks_to_be_compressed(folder: Path) -> None:
    for how in ("sys.exit(3)", "import ctypes; ctypes.CDLL(None).exit(3)"):
        (folder / how[:6]).mkdir()
        both(folder / how[:6], f'handle = write(b"x")\n{how}', status=3)


def test_the_last_close_of_an_object_closes_a_file_without_identifier(folder: Path) -> None:
    """What is read natively right after it must be all there."""
    text = """
import subprocess
dataset = write(b"x")
file.close()
dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, values + 1)
del dataset
reader = "import h5py, sys; sys.exit(0 if h5py.File('out.h5')['x'][0, 0] == int(sys.argv[1]) else 1)"
plain = {name: value for name, value in os.environ.items() if not name.startswith("HDF5_")}
assert subprocess.run([sys.executable, "-c", reader, str(values[0, 0] + 1)], env=plain).returncode == 0
"""
    both(folder, text)


def test_a_fork_with_chunks_to_be_compressed(folder: Path) -> None:
    """The child writes a file of its own and leaves the parent's alone."""
    text = """
dataset = write(b"x")
child = os.fork()
if child == 0:
    with h5py.File("child.h5", "w") as own:
        own.create_dataset("y", data=values, chunks=(128, 256), compression="gzip")
        assert (own["y"][()] == values).all()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, values + 1)
"""
    both(folder, text)


def test_the_report_of_a_child_leaves_out_what_its_parent_compressed(folder: Path) -> None:
    text = """
write(b"x")
h5py.h5f.flush(file)
child = os.fork()
if child != 0:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    environment = support.under_dovetail(DOVETAIL_HDF5_REPORT="1")
    said = support.run_python(BEGINNING + text, environment=environment, folder=folder).expect(0).errors
    assert said.count("transfers in the background") == 2, said
    assert said.count("chunks compressed") == 1, said


def test_a_child_reads_what_the_parent_has_yet_to_write(folder: Path) -> None:
    """And writes none of it, while the parent goes on with the file."""
    text = """
uncached = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
uncached.set_chunk_cache(1, 0, 1.0)  # so that a call made in the child would write at once
dataset, other = write(b"x", access=uncached), write(b"y", values + 1, access=uncached)
ready, go = os.pipe()
child = os.fork()
if child == 0:
    os.read(ready, 1)
    assert (h5py.Dataset(dataset)[()] == values).all() and (h5py.Dataset(other)[()] == values + 1).all()
    os._exit(7)
del other
h5py.h5g.GroupID.unlink(h5py.h5g.open(file, b"/"), b"y")
write(b"z", values + 2)
h5py.h5f.flush(file)
os.write(go, b"x")
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    both(
        folder,
        text.replace(
            "(h5py.Dataset(dataset)[()]", "'HDF5_VOL_CONNECTOR' not in os.environ or (h5py.Dataset(dataset)[()]"
        ),
    )


def test_many_datasets_are_made_and_extended_without_waiting(folder: Path) -> None:
    """What is asked of them meanwhile is answered."""
    text = """
group = h5py.Group(file).create_group("group")
made = []
for number in range(6):
    dataset = group.create_dataset(f"{number}", (0, 256), "<i8", maxshape=(None, 300), chunks=(64, 128), compression=4)
    for step in range(3):
        dataset.resize((200 * (step + 1), 256))
        assert dataset.shape == (200 * (step + 1), 256) and dataset.dtype == "<i8"
        dataset[200 * step :] = values[200 * step : 200 * (step + 1)]
    made.append(dataset)
for name in ("0", "1"):
    try:
        group.create_dataset(name, data=values)
        sys.exit("made twice")
    except ValueError:
        pass
try:
    made[0].resize((600, 301))
    sys.exit("too large")
except (ValueError, RuntimeError):
    pass
assert all((dataset[()] == values[:600]).all() for dataset in made) and len(group) == 6
"""
    both(folder, text)


def test_a_chunk_that_was_changed_in_the_cache_is_not_taken_for_what_was_compressed(folder: Path) -> None:
    """Two neighbours change places: only a comparison of all bytes tells."""
    text = """
values[899, 7:9] = (1, 2)
dataset = write(b"x")
h5py.Dataset(dataset)[899, 7:9] = (2, 1)
"""
    both(folder, text)


def test_memory_may_be_changed_after_the_write(folder: Path) -> None:
    text = """
mine = values.copy()
datasets = []
for step in range(6):
    mine += 1
    datasets.append(write(b"step %d" % step, mine, (128, 256) if step % 2 else (200, 100)))
mine[:] = 0
"""
    both(folder, text)


def failing(faults, text: str, **settings: str) -> str:
    """What a program says whose second half of a dataset cannot be written, which takes a while to fail. It has to end well."""
    faults.set_rules("write offset=100k.. error=EIO delay=100")
    beginning = BEGINNING.replace('b"out.h5"', "sys.argv[1].encode()")
    environment = support.under_dovetail(**settings)
    ended = support.run_python(beginning + text, str(faults.path / "x.h5"), environment=environment, timeout=200)
    faults.set_rules("")
    return ended.expect(1).output


def test_a_failed_write_of_a_chunk_is_told_by_a_flush_that_waits(faults) -> None:
    text = """
dataset = write(b"x")
try:
    h5py.h5f.flush(file)
except (OSError, RuntimeError) as error:
    print("told:", error)
"""
    said = failing(faults, text)
    assert "told:" in said and "Input/output error" in said, said


def test_a_failed_write_of_a_chunk_is_told_at_the_latest_by_the_close_of_the_last_object(faults) -> None:
    """A flush that does not wait may be too early for it, and so is the close of a file that a dataset keeps open."""
    text = """
dataset = write(b"x")
for call in (lambda: h5py.h5f.flush(file), file.close, dataset.close):
    try:
        call()
    except (OSError, RuntimeError) as error:
        print("told:", error)
        break
"""
    said = failing(faults, text, DOVETAIL_HDF5_FLUSH="background")
    assert "told:" in said and "Input/output error" in said, said
