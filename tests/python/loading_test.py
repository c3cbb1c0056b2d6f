"""Dovetail is loaded at any time: after libraries that came late as well and have taken their part of what all share, and in the main
interpreter only."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import hangs
import pytest

LIBRARIES = Path(os.environ.get("DOVETAIL_BUILD_DIR", Path(__file__).parents[2] / "build" / "release")) / "lib"

TASK = """
import dovetail as dt
@dt.task
def body(n):
    return n + 1
assert body(41).result() == 42
"""


def run(text: str, **options: Any) -> subprocess.CompletedProcess[str]:
    done = hangs.run([sys.executable, "-c", text], timeout=100, **options)
    assert done.returncode == 0, done.stderr
    return done


# What is done with each of them where it is there, so that it works as well as it loads. `make test-foreign` has them all.
USES = {
    "pyarrow": "assert pyarrow.array(range(1000)).sum().as_py() == 499500",
    "pandas": "assert int(pandas.Series(range(1000)).sum()) == 499500",
    "rasterio": "assert rasterio.transform.from_origin(0, 0, 1, 1).a == 1",
    "h5py": """with h5py.File("h5py.h5", "w") as file:
    file["x"] = range(1000)
assert h5py.File("h5py.h5")["x"][()].sum() == 499500""",
    "netCDF4": """with netCDF4.Dataset("netcdf.nc", "w") as file:
    file.createDimension("x", 1000)
    file.createVariable("x", "i8", ("x",))[:] = list(range(1000))
assert netCDF4.Dataset("netcdf.nc")["x"][:].sum() == 499500""",
    "tables": """with tables.open_file("tables.h5", "w") as file:
    file.create_array("/", "x", list(range(1000)))
with tables.open_file("tables.h5") as file:
    assert sum(file.root.x[:]) == 499500""",
}
OTHERS = [name for name in USES if find_spec(name) is not None]


@pytest.mark.parametrize("order", list(itertools.permutations(OTHERS, min(2, len(OTHERS)))) or [()])
def test_any_order_of_imports_works(order: tuple[str, ...]) -> None:
    if not order:
        pytest.skip("none of pyarrow, pandas, rasterio, h5py, netCDF4 and tables is installed")
    run("".join(f"import {name}\n" for name in order) + TASK)
    run(TASK + "".join(f"import {name}\n" for name in order))


def shuffled(generator: random.Random) -> str:
    """A program that imports Dovetail and all the others in a random order, each used at a random time after that."""
    steps: list[str] = []
    for name in generator.sample(OTHERS, len(OTHERS)):
        at = generator.randrange(len(steps) + 1)
        steps.insert(at, f"import {name}")
        steps.insert(generator.randrange(at + 1, len(steps) + 1), USES[name])
    steps.insert(generator.randrange(len(steps) + 1), TASK)
    return "\n".join([*steps, TASK])


@pytest.fixture
def generator() -> random.Random:
    seed = int(os.environ.get("DOVETAIL_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"DOVETAIL_TEST_SEED={seed}")
    return random.Random(seed)


@pytest.mark.skipif(len(OTHERS) < 3, reason=f"of {', '.join(USES)} only {len(OTHERS)} are installed")
@pytest.mark.parametrize("turn", range(8))
def test_a_random_order_of_everything_works(generator: random.Random, tmp_path: Path, turn: int) -> None:
    text = shuffled(generator)
    print(text)
    run(text, cwd=tmp_path)


@pytest.mark.skipif(len(OTHERS) < 3, reason=f"of {', '.join(USES)} only {len(OTHERS)} are installed")
@pytest.mark.parametrize("way", ["found", "preloaded"])
@pytest.mark.parametrize("turn", range(4))
def test_a_random_order_beside_the_connector_works(
    generator: random.Random, tmp_path: Path, way: str, turn: int
) -> None:
    """As `dovetail run --hdf5` sets it, or found by HDF5 itself. Each package brings an HDF5 of its own: the first is served."""
    plugin = LIBRARIES / "dovetail" / "hdf5" / "libdovetail-hdf5-plugin.so"
    if not plugin.exists():
        pytest.skip("the HDF5 connector is not built")
    ways = {
        "found": {
            "HDF5_PLUGIN_PATH": str(plugin.parent),
            "HDF5_VOL_CONNECTOR": "dovetail under_vol=0;under_info={}",
        },
        "preloaded": {"LD_PRELOAD": str(plugin)},
    }
    text = shuffled(generator)
    print(text)
    done = run(text, cwd=tmp_path, env={**os.environ, **ways[way], "DOVETAIL_HDF5_REPORT": "1"})
    assert "dovetail hdf5:" in done.stderr, f"the connector served nobody: {done.stderr}"


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
        dovetail.task
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


def test_the_command_starts_without_what_only_some_commands_need() -> None:
    heavy = ["observe", "plan", "plan_show", "preload", "replay", "hdf5", "trace_join", "trace_parts"]
    run(
        f"import sys, dovetail.cli\nassert not {{'dovetail.' + name for name in {heavy}}} & set(sys.modules), list(sys.modules)"
    )
