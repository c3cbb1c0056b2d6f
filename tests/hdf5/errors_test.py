"""Writes that fail when the call has long returned: the next flush or close says what, where and why."""

from __future__ import annotations

from pathlib import Path

import pytest
import support

WRITER = """
import h5py, numpy as np, sys
path, how = sys.argv[1:3]
file = h5py.File(path, "w")
file["good"] = np.arange(1000)
file["group/bad"] = np.zeros(2**19)  # 4 MiB, from 2 KiB on
after = file.create_dataset("after", (10,), "i4")
for name, end in (("flush", file.flush), ("close", file.close)):
    if name in how:
        try:
            # What is held in memory is given to the device by the first flush, and known to have failed at a later one.
            end()
        except (OSError, RuntimeError) as error:
            print(f"{name} failed: {error}")
        else:
            print(f"{name} was fine")
"""


def test_a_failed_write_is_told_by_close(faults, python: str) -> None:
    faults.set_rules("write offset=1M.. error=EIO")
    path = faults.path / "failing.h5"
    ended = support.run_python(WRITER, path, "close", python=python)
    assert "close failed" in ended.output, ended
    for word in ("/group/bad", "failing.h5", "offset", "Input/output error"):
        assert word in ended.output + ended.errors, f"{word} is missing in {ended}"


def test_a_failed_write_is_told_by_a_flush_that_waits(faults) -> None:
    faults.set_rules("write offset=1M.. error=EIO")
    environment = support.under_dovetail(DOVETAIL_HDF5_FLUSH="wait")
    ended = support.run_python(WRITER, faults.path / "failing.h5", "flush", environment=environment)
    assert "flush failed" in ended.output, ended
    assert "/group/bad" in ended.output + ended.errors, ended


def test_a_failed_write_that_nobody_asks_about_is_printed_at_the_end(faults) -> None:
    faults.set_rules("write offset=1M.. error=EIO")
    text = WRITER + "\nimport os\n"
    ended = support.run_python(text, faults.path / "failing.h5", "neither")
    ended.expect(1, "/group/bad", "failing.h5", "Input/output error")
    environment = support.under_dovetail(DOVETAIL_HDF5_EXIT_STATUS="9")
    ended = support.run_python(text, faults.path / "failing2.h5", "neither", environment=environment)
    ended.expect(9, "/group/bad", "failing2.h5", "Input/output error")


def test_after_a_failed_write_what_was_there_is_readable(faults) -> None:
    """Also where all that is missing is the end of the file."""
    import h5py

    path = faults.path / "failing.h5"
    text = """
import h5py, numpy as np, sys
file = h5py.File(sys.argv[1], "r+")
file["bad"] = np.ones(2**19)
try:
    file.close()
except (OSError, RuntimeError):
    sys.exit(5)
"""
    with h5py.File(path, "w") as file:
        file["old"] = range(1000)
    faults.set_rules("write offset=100k.. error=EIO")
    support.run_python(text, path).expect(5)
    faults.set_rules("")
    with h5py.File(path) as file:
        assert "old" in file and (file["old"][()] == range(1000)).all()


def test_after_a_failed_write_the_file_is_not_cut(faults) -> None:
    """HDF5 cuts off at its close what the deleted dataset had, though nothing says yet that it is deleted."""
    import h5py

    path = faults.path / "cut.h5"
    text = """
import h5py, sys
file = h5py.File(sys.argv[1], "r+")
open(sys.argv[2], "w").write("write error=EIO delay=100")  # so that HDF5 cuts before it fails
del file["last"]
try:
    file.close()
except (OSError, RuntimeError):
    sys.exit(5)
"""
    with h5py.File(path, "w") as file:
        file["first"] = range(1000)
        file["last"] = range(100000)
    support.run_python(text, path, faults.path / ".faults").expect(5)
    faults.set_rules("")
    with h5py.File(path) as file:
        assert (file["last"][()] == range(100000)).all()


def test_what_could_not_be_written_cannot_be_read(faults, python: str) -> None:
    """Neither as zeros nor as what was there before."""
    faults.set_rules("write offset=1M..5M error=EIO")
    text = """
import h5py, numpy as np, sys
def attempt(what, call):
    try:
        call()
        print(what, "went well")
    except (OSError, RuntimeError) as error:
        print(what, "failed:", error)
file = h5py.File(sys.argv[1], "w")
file["good"] = np.arange(1000)
attempt("flush", file.flush)
bad = file.create_dataset("bad", data=np.ones(2**19))
attempt("flush", file.flush)
late = file.create_dataset("late", data=np.ones(2**19))
attempt("flush", file.flush)
assert (file["good"][()] == np.arange(1000)).all()
attempt("read", lambda: bad[()])
attempt("read", lambda: late[()])
attempt("close", file.close)
"""
    environment = support.under_dovetail(DOVETAIL_HDF5_FLUSH="wait")
    ended = support.run_python(text, faults.path / "bad.h5", python=python, environment=environment).expect(1)
    said = [line.split(":")[0] for line in ended.output.splitlines() if line.split()[0] in ("flush", "read", "close")]
    assert said == ["flush went well", "flush failed", "flush failed", "read failed", "read failed", "close failed"], (
        ended
    )


def test_a_call_that_closes_several_files_tells_of_each(faults) -> None:
    faults.set_rules("write offset=1M.. error=EIO")
    text = """
import h5py, numpy as np, sys
parent, child = (h5py.File(name, "w") for name in sys.argv[1:])
place = parent.create_group("place")
for file in (parent, child):
    file["x"] = np.ones(2**19)
h5py.h5f.mount(parent.id, b"place", child.id)
child.close()
del place, file
try:
    parent.close()
except (OSError, RuntimeError) as error:
    print(error)
"""
    ended = support.run_python(text, faults.path / "parent.h5", faults.path / "child.h5").expect(1)
    for name in ("parent.h5", "child.h5"):
        assert name in ended.output + ended.errors, ended


def test_the_status_of_a_failed_write_is_that_of_the_end(faults) -> None:
    """And not of an H5close in the middle."""
    faults.set_rules("write offset=1M.. error=EIO")
    text = (
        WRITER
        + """
import ctypes
libraries = {line.split()[-1] for line in open("/proc/self/maps") if "/libhdf5-" in line}
del file, after
ctypes.CDLL(libraries.pop()).H5close()
print("the program goes on")
"""
    )
    environment = support.under_dovetail(DOVETAIL_HDF5_EXIT_STATUS="9")
    ended = support.run_python(text, faults.path / "failing.h5", "close", environment=environment).expect(9)
    assert "close failed" in ended.output and "the program goes on" in ended.output, ended


def test_other_files_are_not_affected(faults, tmp_path: Path) -> None:
    faults.set_rules("write path=*bad.h5 offset=100k.. error=EIO")
    text = """
import h5py, numpy as np, sys
files = [h5py.File(name, "w") for name in sys.argv[1:]]
for file in files:
    file["x"] = np.arange(100000)
for file in files:
    try:
        file.close()
        print("fine")
    except (OSError, RuntimeError):
        print("failed")
"""
    names = [str(faults.path / name) for name in ("first.h5", "bad.h5", "second.h5")]
    ended = support.run_python(text, *names).expect(1)
    assert ended.output.split() == ["fine", "failed", "fine"], ended
    check = "import h5py, sys\nfor name in sys.argv[1:]: assert h5py.File(name)['x'][99999] == 99999"
    support.run_python(check, names[0], names[2], environment=support.clean()).expect(0)


def test_a_failed_read_fails_in_place(faults) -> None:
    text = """
import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "w") as file:
    file["x"] = np.arange(2**19)
open(sys.argv[2], "w").write("read offset=1M.. error=EIO")
with h5py.File(sys.argv[1]) as file:
    assert (file["x"][:1000] == np.arange(1000)).all()
    try:
        file["x"][()]
        print("read what cannot be read")
    except OSError as error:
        print("failed:", error)
"""
    ended = support.run_python(text, faults.path / "unreadable.h5", faults.path / ".faults").expect(0)
    assert ended.output.startswith("failed:"), ended


def test_bad_arguments_fail_in_place(tmp_path: Path, python: str) -> None:
    """In the same calls as natively, and with the same words where HDF5 itself finds them."""
    text = """
import h5py, numpy as np
def attempt(what, call):
    try:
        call()
        print(what, "is fine")
    except Exception as error:
        print(what, type(error).__name__, "" if isinstance(error, FileNotFoundError) else str(error))
with h5py.File("bad.h5", "w") as file:
    file["x"] = np.arange(10)
    x = file["x"]
    attempt("outside", lambda: x.id.write(h5py.h5s.create_simple((5,)), h5py.h5s.create_simple((5,)), np.arange(5)))
    attempt("twice", lambda: file.create_dataset("x", (3,), "i4"))
    attempt("resize", lambda: x.id.set_extent((20,)))
    attempt("missing", lambda: file["no such thing"])
    attempt("truncated while open", lambda: h5py.File("bad.h5", "w"))
    attempt("no folder", lambda: h5py.File("no/such/folder.h5", "w"))
    attempt("shapes", lambda: x.__setitem__(slice(0, 3), np.arange(4)))
with h5py.File("bad.h5") as file:
    attempt("read only", lambda: file["x"].__setitem__(0, 1))
    attempt("create in it", lambda: file.create_group("g"))
attempt("closed", lambda: file["x"])
open("text.h5", "w").write("this is no HDF5 file" * 100)
attempt("no HDF5 file", lambda: h5py.File("text.h5"))
attempt("not there", lambda: h5py.File("missing.h5"))
"""
    said = {}
    for name, environment in (
        ("native", support.clean()),
        ("nothing", support.clean(HDF5_VOL_CONNECTOR=support.PASS_THROUGH)),
        ("dovetail", support.under_dovetail()),
    ):
        (tmp_path / name).mkdir()
        said[name] = (
            support.run_python(text, python=python, environment=environment, folder=tmp_path / name).expect(0).output
        )
    for native, nothing, dovetail in zip(*(text.splitlines() for text in said.values()), strict=True):
        assert dovetail in (native, nothing)


@pytest.mark.parametrize(
    ("variable", "value"),
    [("DOVETAIL_HDF5_BUFFER", value) for value in ("much", "-1", "0", "1Q", "999999999999T")]
    + [
        ("DOVETAIL_HDF5_FLUSH", "perhaps"),
        ("DOVETAIL_HDF5_CLOSE", "perhaps"),
        ("DOVETAIL_HDF5_COMPRESSION_THREADS", "many"),
        ("DOVETAIL_HDF5_EXIT_STATUS", "-3"),
        ("DOVETAIL_HDF5_REPORT", "maybe"),
    ],
)
def test_a_bad_value_in_the_environment_is_told_and_hdf5_runs_natively(
    tmp_path: Path, variable: str, value: str
) -> None:
    text = "import h5py, sys; h5py.File(sys.argv[1], 'w').close()"
    ended = support.run_python(text, tmp_path / "x.h5", environment=support.under_dovetail(**{variable: value}))
    ended.expect(0, variable, value, "HDF5 runs natively")


def test_an_event_set_is_told_of_its_own_failures(faults) -> None:
    program = support.BUILD / "bin" / "hdf5_event_sets_test"
    if not program.exists():
        pytest.skip("`make setup-hdf5` builds the library that programs in C need")
    # What comes while the device is slow goes in one batch.
    faults.set_rules("write offset=1M.. error=EIO", "write delay=20")
    environment = support.clean(HDF5_PLUGIN_PATH=str(support.PLUGINS))
    ended = support.run([program, faults.path / "events.h5"], environment, timeout=100)
    ended.expect(1, "H5Dwrite_async failed", "H5Dwrite /bad", "events.h5", "Input/output error")
