"""How programs begin and end: forks, exits in the middle, signals, many handles, and what is said at the end."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import support


def both(folder: Path, text: str, *arguments: object, status: int = 0) -> tuple[bytes, bytes]:
    """The file out.h5 that a program leaves natively and under Dovetail."""
    left = []
    for name, environment in (("native", support.clean()), ("dovetail", support.under_dovetail())):
        place = folder / name
        place.mkdir()
        environment["LD_PRELOAD"] = str(support.CLOCK)
        support.run_python(text, *arguments, environment=environment, folder=place, timeout=100).expect(status)
        left.append((place / "out.h5").read_bytes())
    return left[0], left[1]


UNTIDY = """
import h5py, numpy as np, os, signal, sys
how = sys.argv[1]
file = h5py.File("out.h5", "w")
for step in range(40):
    file[f"{step}/x"] = np.arange(20000) + step
    file[str(step)].attrs["time"] = step
handle = file["3/x"]
if how == "sys.exit":
    sys.exit(3)
if how == "uncaught":
    raise SystemExit(3)
if how == "handler":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()
if how == "C exit":
    import ctypes
    ctypes.CDLL(None).exit(3)
if how == "thread":
    import threading
    threading.Thread(target=lambda: file.create_dataset("last", data=np.ones(100000))).start()
    sys.exit(3)
"""


@pytest.mark.parametrize("how", ["sys.exit", "uncaught", "handler", "C exit", "thread"])
def test_a_program_that_ends_in_the_middle_leaves_the_whole_file(tmp_path: Path, how: str) -> None:
    native, dovetail = both(tmp_path, UNTIDY, how, status=3)
    assert native == dovetail


def test_a_child_sees_all_that_was_written_before_it(faults) -> None:
    """And writes files of its own, while the parent's runtime is not there."""
    faults.set_rules("write path=*parent.h5 delay=5")
    text = f"""
import h5py, numpy as np, os, signal, sys
os.chdir({str(faults.path)!r})
file = h5py.File("parent.h5", "w")
for step in range(30):
    file[str(step)] = np.full(30000, step)
for turn in range(3):
    child = os.fork()
    if child == 0:
        assert all((file[str(step)][()] == step).all() for step in range(30))
        with h5py.File(f"child{{turn}}.h5", "w") as own:
            own["x"] = np.full(50000, turn)
            own.flush()
        assert (h5py.File(f"child{{turn}}.h5")["x"][()] == turn).all()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    file[f"after {{turn}}"] = np.full(30000, turn)
file.close()
with h5py.File("parent.h5") as file:
    assert all((file[str(step)][()] == step).all() for step in range(30)) and len(file) == 33
"""
    support.run_python(text, timeout=150).expect(0)


def test_worker_processes_write_files_of_their_own(tmp_path: Path) -> None:
    text = """
import h5py, multiprocessing, numpy as np, sys
def work(number):
    with h5py.File(f"{number}.h5", "w") as file:
        for step in range(20):
            file[str(step)] = np.full(10000, number * step)
        shared = h5py.File("shared.h5")["x"][()]
    with h5py.File(f"{number}.h5") as file:
        return float(shared.sum()) + sum(float(file[name][0]) for name in file)
if __name__ == "__main__":
    with h5py.File("shared.h5", "w") as file:
        file["x"] = np.ones(1000)
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(3) as pool:
            assert pool.map(work, range(6)) == [1000 + number * 190 for number in range(6)], method
"""
    (tmp_path / "program.py").write_text(text)
    support.run([sys.executable, "program.py"], support.under_dovetail(), tmp_path, timeout=150).expect(0)


def test_threads_of_a_program_share_files(tmp_path: Path, python: str) -> None:
    text = """
import h5py, numpy as np, threading
with h5py.File("out.h5", "w") as file:
    def work(number):
        group = file.create_group(str(number))
        for step in range(30):
            group[str(step)] = np.full(3000, number * step)
            assert (group[str(step // 2)][()] == number * (step // 2)).all()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
with h5py.File("out.h5") as file:
    assert all((file[f"{n}/{s}"][()] == n * s).all() for n in range(4) for s in range(30))
"""
    support.run_python(text, python=python, folder=tmp_path).expect(0)


def test_one_file_by_several_names_is_one_file(folder: Path) -> None:
    """Handles and links of one file see each other's pending writes."""
    text = """
import h5py, numpy as np, os
first = h5py.File("out.h5", "w")
os.link("out.h5", "hard.h5"), os.symlink("out.h5", "soft.h5")
first["x"] = np.arange(100000)
second, third = h5py.File("hard.h5", "r+"), h5py.File("soft.h5", "r+")
assert (second["x"][()] == np.arange(100000)).all()
third["x"][5] = -5
assert first["x"][5] == -5 and second["x"][5] == -5
first.close()
second["y"] = np.ones(70000)
third.close()
second.close()
with h5py.File("soft.h5") as file:
    assert file["x"][5] == -5 and (file["y"][()] == 1).all()
"""
    support.run_python(text, folder=folder).expect(0)
    support.run_python(
        "import h5py; assert h5py.File('hard.h5')['x'][5] == -5", environment=support.clean(), folder=folder
    ).expect(0)


def test_a_file_may_be_closed_and_opened_and_removed_in_turns(folder: Path) -> None:
    text = """
import h5py, numpy as np, os
for turn in range(60):
    with h5py.File("out.h5", "w" if turn % 3 == 0 else "a") as file:
        file[str(turn)] = np.full(1000 * turn, turn)
    if turn % 7 == 6:
        os.rename("out.h5", f"kept{turn}.h5")
    assert turn % 7 == 6 or len(h5py.File("out.h5")) >= 1
assert sorted(name for name in os.listdir() if name.startswith("kept")) == sorted(f"kept{n}.h5" for n in range(6, 60, 7))
"""
    support.run_python(text, folder=folder).expect(0)


def test_descriptors_are_given_back(folder: Path) -> None:
    text = """
import h5py, os
def descriptors():
    return sum(".h5" in os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}"))
for turn in range(3000):
    with h5py.File("out.h5", "w") as file:
        file["x"] = [turn]
assert descriptors() == 0
"""
    support.run_python(text, folder=folder).expect(0)


def test_the_report_says_what_was_moved(folder: Path, python: str) -> None:
    text = """
import h5py, numpy as np
with h5py.File("out.h5", "w") as file:
    for part in range(8):
        file[str(part)] = np.zeros(2**17)
"""
    ended = support.run_python(
        text, python=python, environment=support.under_dovetail(DOVETAIL_HDF5_REPORT="1"), folder=folder
    )
    ended.expect(0, "hidden", "8.0 MiB copied")
    silent = support.run_python(text, python=python, folder=folder).expect(0)
    assert silent.errors == "", silent.errors


def test_the_trace_names_calls_and_datasets(folder: Path) -> None:
    text = """
import h5py, numpy as np
with h5py.File("out.h5", "w") as file:
    file.create_dataset("group/energy", data=np.zeros(2**17))
"""
    support.run_python(text, environment=support.under_dovetail(DOVETAIL_TRACE="trace.json"), folder=folder).expect(0)
    assert "H5Dwrite /group/energy" in Path("trace.json").read_text()


def test_a_signal_that_ends_a_program_is_not_delayed(faults) -> None:
    """A program whose writes are held for ever still dies of SIGTERM."""
    import subprocess

    faults.set_rules("write hold")
    text = "import h5py, numpy as np, sys; f = h5py.File(sys.argv[1], 'w'); f['x'] = np.ones(10**6); f.close()"
    with subprocess.Popen(
        [sys.executable, "-c", text, str(faults.path / "x.h5")], env=support.under_dovetail()
    ) as process:
        assert support.wait_until_held(faults, process)
        process.send_signal(signal.SIGTERM)
        assert support.hangs.wait(process, 100) == -signal.SIGTERM
    faults.set_rules("")


def test_dovetail_run_sets_everything(folder: Path) -> None:
    """`dovetail run --hdf5 program`."""
    package = support.BUILD / "python"
    if not (package / "dovetail").exists():
        pytest.skip("the Python package is not built")
    (folder / "program.py").write_text("import h5py; h5py.File('out.h5', 'w')['x'] = range(1000)")
    environment = support.clean(PYTHONPATH=str(package), DOVETAIL_HDF5_REPORT="1")
    ended = support.run([sys.executable, "-m", "dovetail.cli", "run", "--hdf5", "program.py"], environment, folder)
    ended.expect(0, "copied")
    assert os.path.getsize("out.h5") > 8000
