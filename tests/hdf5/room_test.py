"""No space left: the call that wrote is told, as natively, and what was written before is readable. Errors that can only be told later are
not lost either."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import support
from support import foreign

# Datasets until one does not fit, and what was said then. Space is made before the close, and HDF5 keeps nothing back: native HDF5 does
# not survive the close of what does not fit.
FILL = """
import h5py, numpy as np, os, sys
path, size, deflate = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "deflate"
noise = np.frombuffer(np.random.default_rng(5).bytes(size), "u1")
options = {"chunks": (size // 4,), "compression": "gzip"} if deflate else {}
ballast = path + ".ballast"
open(ballast, "wb").write(bytes(4 << 20))
file = h5py.File(path, "w", rdcc_nbytes=0)
for part in range(1000):
    try:
        file.create_dataset(f"part {part:03}", data=noise, **options)
        if part % 3 == 2:
            file.flush()
    except Exception as error:
        print(part, type(error).__name__, getattr(error, "errno", None))
        break
os.unlink(ballast)
try:
    file.close()
except Exception as error:
    print("close", type(error).__name__, getattr(error, "errno", None))
"""
COUNT = """
import h5py, numpy as np, sys
noise = np.frombuffer(np.random.default_rng(5).bytes(int(sys.argv[2])), "u1")
good = 0
with h5py.File(sys.argv[1]) as file:
    for name in file:
        try:
            good += bool((file[name][()] == noise).all())
        except OSError:
            pass  # that which did not fit
print(good)
"""


@pytest.fixture
def disk() -> Iterator[object]:
    from small_disk import SmallDisk, SmallDiskUnavailable

    try:
        with SmallDisk(12) as made:
            yield made
    except SmallDiskUnavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("kind", ["plain", "deflate"])
@pytest.mark.parametrize("size", [100_000, 500_000, 3_000_000])
def test_a_full_disk_is_told_by_the_call_that_wrote(disk, python: str, size: int, kind: str) -> None:
    """The same call as natively, with the same type and errno; as many datasets are whole afterwards."""
    said, kept = [], []
    for environment in (support.clean(), support.under_dovetail()):
        path = disk.path / "full.h5"
        ended = support.run_python(FILL, path, size, kind, python=python, environment=environment, timeout=100)
        said.append(ended.expect(0).output)
        kept.append(support.run_python(COUNT, path, size, python=python, environment=support.clean()).output)
        path.unlink()
    assert "28" in said[0], f"the disk has space for all: {said}"
    assert said[0] == said[1]
    assert kept[0] == kept[1]
    assert int(kept[0]) > 0


def test_a_full_disk_is_told_where_several_files_are_open(disk, python: str) -> None:
    """What is kept for one file is not missing for another."""
    text = """
import h5py, numpy as np, os, sys
files = [h5py.File(f"{sys.argv[1]}/{number}.h5", "w") for number in range(3)]
for part in range(100):
    try:
        files[part % 3][str(part)] = np.full(50000, part)
    except Exception as error:
        print(part, type(error).__name__, getattr(error, "errno", None), flush=True)
        break
os._exit(0)
"""
    said = []
    for environment in (support.clean(), support.under_dovetail()):
        said.append(support.run_python(text, disk.path, python=python, environment=environment).expect(0).output)
        for number in range(3):
            (disk.path / f"{number}.h5").unlink()
    assert "28" in said[0] and said[0] == said[1]


def test_room_is_kept_while_another_program_fills_the_disk(faults, disk) -> None:
    """What has been acknowledged is written, though nothing is left when its turn comes."""
    from fault_fs import FaultFs

    text = """
import h5py, numpy as np, os, sys
path, control, other = sys.argv[1:]
file = h5py.File(path, "w")
open(control, "w").write("write path=*.h5 hold")
file["x"] = np.arange(200_000)  # acknowledged
with open(other, "wb", buffering=0) as filler:
    try:
        while True:
            filler.write(bytes(4096))
    except OSError as error:
        print("full", error.errno)
open(control, "w").write("# nothing is held any more")
try:
    file.flush()
    print("flushed")
    assert (file["x"][()] == np.arange(200_000)).all()
except OSError as error:
    print("flush", error.errno)
os._exit(0)
"""
    with FaultFs(backing=disk.path) as slow:
        ended = support.run_python(text, slow.path / "x.h5", slow.path / ".faults", disk.path / "other", timeout=100)
        raw = (disk.path / "x.h5").read_bytes()
    assert "full 28" in ended.expect(0).output, ended
    import numpy as np

    assert np.arange(200_000).tobytes() in raw, ended


def test_no_descriptor_and_no_room_stay_behind(disk) -> None:
    """After the last close the file system can be unmounted, and all of it is there for others."""
    text = """
import h5py, numpy as np, os, sys
before = os.statvfs(sys.argv[1]).f_bfree
for turn in range(3):
    with h5py.File(sys.argv[1] + "/x.h5", "w") as file:
        file["x"] = np.ones(100000)
        assert os.listdir(sys.argv[1]).count("x.h5") == 1 and all(not n.startswith(".dovetail") for n in os.listdir(sys.argv[1]))
opened = [os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")]
assert not [name for name in opened if name.startswith(sys.argv[1])], opened
os.unlink(sys.argv[1] + "/x.h5")
assert os.statvfs(sys.argv[1]).f_bfree >= before - 64, (os.statvfs(sys.argv[1]).f_bfree, before)
"""
    support.run_python(text, disk.path).expect(0)


def test_a_program_that_closes_every_descriptor_loses_nothing(disk) -> None:
    """As daemons do. A file of its own that gets the number of ours is not touched."""
    text = """
import h5py, numpy as np, os, sys
file = h5py.File(sys.argv[1] + "/x.h5", "w")
file["x"] = np.ones(100000)
file.flush()
keep = file.id.get_vfd_handle()
for number in range(3, 200):
    if number != keep:
        try:
            os.close(number)
        except OSError:
            pass
others = [open(f"{sys.argv[1]}/other{n}", "wb", buffering=0) for n in range(20)]
for other in others:
    other.write(b"mine")
for turn in range(4):
    file[str(turn)] = np.ones(200000)
    file.flush()
file.close()
assert all(os.path.getsize(other.name) == 4 for other in others)
assert (h5py.File(sys.argv[1] + "/x.h5")["3"][()] == 1).all()
"""
    # Background threads of other libraries do not survive this; there are none here.
    support.run_python(text, disk.path, timeout=100).expect(0)


def test_after_a_failed_write_what_was_written_before_is_readable(faults, python: str) -> None:
    """21 of 21 datasets, as natively, where the device fails for one of them."""
    text = """
import h5py, numpy as np, sys
file = h5py.File(sys.argv[1], "w")
for part in range(21):
    file[str(part)] = np.full(100000, part)
file.flush()
open(sys.argv[2], "w").write("write size=100k.. error=EIO" if len(sys.argv) > 3 else "")
try:
    file["bad"] = np.ones(100000)
    file.flush()
except Exception as error:
    print("failed")
open(sys.argv[2], "w").write("# nothing fails any more")
try:
    file["late"] = np.full(100000, 7)
    file.close()
except Exception as error:
    print("failed")
"""
    read = """
import h5py, sys
with h5py.File(sys.argv[1]) as file:
    print(sum(bool((file[str(part)][()] == part).all()) for part in range(21)), (file["late"][()] == 7).all())
"""
    if "size=" in text:
        text = text.replace("write size=100k.. error=EIO", "write offset=16M..17M error=EIO")
    for environment in (support.clean(), support.under_dovetail()):
        path = faults.path / "x.h5"
        ended = support.run_python(text, path, faults.path / ".faults", "fail", python=python, environment=environment)
        assert "failed" in ended.output, ended
        again = support.run_python(read, path, python=python, environment=support.clean()).expect(0)
        assert again.output.split() == ["21", "True"], again


@pytest.mark.parametrize(
    ("asked", "own", "expected"), [(None, 0, 1), (None, 5, 5), ("0", 0, 0), ("9", 0, 9), ("9", 5, 9)]
)
def test_what_nobody_asks_about_is_printed_and_is_the_exit_status(faults, asked, own: int, expected: int) -> None:
    """As PyTables, which ignores what H5Fclose returns."""
    faults.set_rules("write offset=1M.. error=EIO")
    text = f"""
import h5py, numpy as np, sys
file = h5py.File(sys.argv[1], "w")
file["good"] = np.arange(1000)
file.create_dataset("bad", (2**19,), "f8")[:] = 1
try:
    file.close()
except Exception:
    pass
sys.exit({own})
"""
    more = {"DOVETAIL_HDF5_EXIT_STATUS": asked} if asked is not None else {}
    ended = support.run_python(text, faults.path / "x.h5", environment=support.under_dovetail(**more))
    ended.expect(expected, "/bad", "Input/output error")


def test_a_limit_of_file_sizes_is_told_by_the_call_that_wrote(folder, python: str) -> None:
    text = """
import h5py, numpy as np, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
file = h5py.File("x.h5", "w")
for part in range(10):
    try:
        file[str(part)] = np.ones(50000)
    except Exception as error:
        print(part, type(error).__name__, getattr(error, "errno", None))
"""
    said = [
        support.run_python(text, python=python, environment=environment, folder=folder).output
        for environment in (support.clean(), support.under_dovetail())
    ]
    assert said[0] and said[0] == said[1]


def test_pandas_is_told_of_a_full_disk(disk) -> None:
    interpreter = foreign.python_with("pandas", "tables")
    if interpreter is None:
        pytest.skip("there are no pandas and PyTables here")
    text = """
import numpy as np, pandas, sys
try:
    pandas.DataFrame({"x": np.arange(3_000_000)}).to_hdf(sys.argv[1], key="x")
    print("written")
except Exception as error:
    print(type(error).__name__)
"""
    said = []
    for environment in (support.clean(), support.under_dovetail()):
        path = disk.path / "x.h5"
        said.append(support.run_python(text, path, python=interpreter, environment=environment).expect(0).output)
        path.unlink()
    assert said[0] == said[1] != "written\n"
