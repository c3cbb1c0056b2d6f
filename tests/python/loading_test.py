"""Dovetail is loaded at any time: after libraries that came late as well and have taken their part of what all share, and in the main
interpreter only."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

LIBRARIES = Path(os.environ.get("DOVETAIL_BUILD_DIR", Path(__file__).parents[2] / "build" / "release")) / "lib"

TASK = """
import dovetail as dt
@dt.task
def body(n):
    return n + 1
assert body(41).result() == 42
"""


def run(text: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    return done


OTHERS = [
    name for name in ("pyarrow", "pandas", "rasterio", "h5py", "netCDF4", "tables") if find_spec(name) is not None
]


@pytest.mark.parametrize("order", list(itertools.permutations(OTHERS, min(2, len(OTHERS)))) or [()])
def test_any_order_of_imports_works(order: tuple[str, ...]) -> None:
    if not order:
        pytest.skip("none of pyarrow, pandas, rasterio, h5py, netCDF4 and tables is installed")
    run("".join(f"import {name}\n" for name in order) + TASK)
    run(TASK + "".join(f"import {name}\n" for name in order))


@pytest.mark.parametrize("first", ["python_late_standard_library", "python_reserve_of_thread_locals"])
@pytest.mark.parametrize("what", ["import dovetail", "plugin"])
def test_it_loads_after_libraries_that_came_late(first: str, what: str) -> None:
    """As pyarrow: the standard library of C++ comes with somebody else and has its thread-locals where a late library cannot reach them;
    or others have used most of the reserve of thread-local memory."""
    loaded = f"import ctypes\nassert ctypes.CDLL({str(LIBRARIES / f'lib{first}.so')!r}).use() == 0\n"
    if what == "plugin":
        connector = LIBRARIES / "libdovetail-hdf5.so.0"
        if not connector.exists():
            pytest.skip("the HDF5 connector is not built")
        run(f"{loaded}ctypes.CDLL({str(connector)!r})\n")
    else:
        run(loaded + TASK)


SUBINTERPRETER = """
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
number = interpreters.create()
interpreters.run_string(number, '''
for attempt in range(2):
    try:
        import dovetail
        print("imported")
    except ImportError as error:
        print(error)
''')
"""


@pytest.mark.parametrize("first", ["main", "other"])
def test_a_subinterpreter_is_refused_and_the_main_one_stays_whole(first: str) -> None:
    text = (TASK if first == "main" else "") + SUBINTERPRETER + TASK + "interpreters.destroy(number)\n" + TASK
    done = run(text)
    lines = done.stdout.splitlines()
    assert len(lines) == 2 and all("main interpreter only" in line for line in lines), done.stdout
    assert done.stderr == "", done.stderr
