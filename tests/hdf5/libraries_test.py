"""Which HDF5 the connector works with: several in one process, old ones, some that it cannot see into, settings that make no sense.

What cannot be served runs natively, with the same files, and one sentence on standard error says why. All of it twice: with the plugin found by
HDF5 itself (HDF5_PLUGIN_PATH), and preloaded as by `dovetail run --hdf5`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import pytest
import support
from support import foreign

NATIVE = "HDF5 runs natively"
PLUGIN = support.PLUGINS / "libdovetail-hdf5-plugin.so"

WRITER = """
import h5py, numpy as np
with h5py.File("out.h5", "w") as file:
    for part in range(8):
        file[f"group/{part}"] = np.arange(2**17) + part
    file["group"].attrs["name"] = "eight parts"
with h5py.File("out.h5", "a") as file:
    assert all((file[f"group/{part}"][()] == np.arange(2**17) + part).all() for part in range(8))
    file["more"] = file["group/3"][::2]
"""


@pytest.fixture(params=["found", "preloaded"])
def way(request: pytest.FixtureRequest) -> str:
    return request.param


def under(way: str, plugin: Path = PLUGIN, **more: str) -> dict[str, str]:
    """The environment of a program with the connector."""
    if way == "preloaded":
        return support.clean(LD_PRELOAD=str(plugin), **more)
    return support.clean(HDF5_PLUGIN_PATH=str(plugin.parent), HDF5_VOL_CONNECTOR=support.CONNECTOR, **more)


def library_of_h5py() -> Path:
    """The HDF5 that comes with h5py's wheel."""
    package = Path(h5py.__file__).parent
    found = [file for file in (package.parent / "h5py.libs").glob("libhdf5-*.so*") if "_hl" not in file.name]
    if len(found) != 1:
        pytest.skip("this h5py brings no HDF5 of its own")
    return found[0]


@pytest.fixture
def changed(tmp_path: Path):
    """Makes a copy of h5py in which some bytes of its HDF5 are others; a folder for PYTHONPATH."""

    def make(changes: dict[bytes, bytes]) -> str:
        library = library_of_h5py()
        folder = tmp_path / "packages"
        site = library.parents[1]
        shutil.copytree(site / "h5py", folder / "h5py", ignore=shutil.ignore_patterns("tests", "__pycache__"))
        shutil.copytree(site / "h5py.libs", folder / "h5py.libs")
        content = library.read_bytes()
        for old, new in changes.items():
            if len(old) != len(new) or old not in content:
                pytest.skip("the HDF5 of this h5py is built otherwise")
            content = content.replace(old, new)
        (folder / "h5py.libs" / library.name).write_bytes(content)
        return str(folder)

    return make


def written(folder: Path, name: str, environment: dict[str, str], text: str = WRITER) -> tuple[bytes, str]:
    place = folder / name
    place.mkdir()
    preloaded = [environment[key] for key in ("LD_PRELOAD",) if key in environment]
    environment["LD_PRELOAD"] = ":".join([*preloaded, str(support.CLOCK)])
    ended = support.run_python(text, environment=environment, folder=place).expect(0)
    return (place / "out.h5").read_bytes(), ended.errors


def runs_natively(folder: Path, environment: dict[str, str], *words: str) -> None:
    """The same file as without, and one line about why."""
    path = {name: environment[name] for name in ("PYTHONPATH", "HDF5_DISABLE_VERSION_CHECK") if name in environment}
    native, said = written(folder, "native", support.clean(**path))
    assert said == ""
    mine, said = written(folder, "mine", environment)
    assert mine == native
    lines = said.splitlines()
    assert len(lines) == 1 and lines[0].startswith("dovetail: ") and NATIVE in lines[0], said
    for word in words:
        assert word in lines[0], said


def test_the_connector_is_used(tmp_path: Path, way: str) -> None:
    native, _ = written(tmp_path, "native", support.clean())
    mine, said = written(tmp_path, "mine", under(way, DOVETAIL_HDF5_REPORT="1"))
    assert mine == native
    assert "copied" in said and NATIVE not in said


def test_an_old_version_runs_natively(tmp_path: Path, way: str, changed) -> None:
    version = h5py.version.hdf5_version.encode()
    packages = changed({b"version: " + version.ljust(6, b"\0") + b"\0": b"version: 1.14.4\0"})
    # HDF5 itself notices that something is wrong with its version.
    environment = under(way, PYTHONPATH=packages, HDF5_DISABLE_VERSION_CHECK="2")
    runs_natively(tmp_path, environment, "1.14.4", "1.14.5 or newer")


def test_a_library_that_shows_no_functions_runs_natively(tmp_path: Path, changed) -> None:
    """As one that is linked statically. If HDF5 found the plugin itself, it could not go on, since not even its own connector can be
    asked for. Only a preloaded library can help. The new names have the old ones' hash, by which the library finds them itself."""
    names = (b"H5VLregister_connector_by_value", b"H5VLintrospect_get_conn_cls")
    packages = changed({name: b"GV" + name[2:] for name in names})
    runs_natively(tmp_path, under("preloaded", PYTHONPATH=packages), "not visible")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DOVETAIL_HDF5_BUFER", "64M"),
        ("DOVETAIL_HDF5_BUFFER", "much"),
        ("DOVETAIL_HDF5_FLUSH", "perhaps"),
        ("DOVETAIL_HDF5_EXIT_STATUS", "-3"),
    ],
)
def test_a_misspelt_setting_runs_natively(tmp_path: Path, way: str, variable: str, value: str) -> None:
    runs_natively(tmp_path, under(way, **{variable: value}), variable)


@pytest.mark.parametrize(
    ("variable", "meant"), [("DOVETAIL_HFD5_BUFFER", "DOVETAIL_HDF5_BUFFER"), ("DOVETAIL_WORKRES", "DOVETAIL_WORKERS")]
)
def test_a_variable_that_is_none_of_dovetails_is_told_and_the_connector_serves(
    tmp_path: Path, way: str, variable: str, meant: str
) -> None:
    """Not of the connector's settings by its name, so that nothing is wrong with those."""
    native, _ = written(tmp_path, "native", support.clean())
    mine, said = written(tmp_path, "mine", under(way, **{variable: "3", "DOVETAIL_HDF5_REPORT": "1"}))
    assert mine == native
    assert "copied" in said and NATIVE not in said
    told = [line for line in said.splitlines() if variable in line]
    assert told == [
        f"dovetail: the environment variable {variable} is none of Dovetail's and has no effect; is {meant} meant?"
    ], said


@pytest.mark.parametrize("what", ["garbage", "under_vol=x", "under_vol=77;under_info={}"])
def test_a_stand_that_is_none_is_ignored(tmp_path: Path, way: str, what: str) -> None:
    """Without this, HDF5 does not start, and h5py ends with SIGSEGV."""
    native, _ = written(tmp_path, "native", support.clean())
    environment = under(way, DOVETAIL_HDF5_REPORT="1") | {"HDF5_VOL_CONNECTOR": f"dovetail {what}"}
    mine, said = written(tmp_path, "mine", environment)
    assert mine == native
    assert f"dovetail: HDF5_VOL_CONNECTOR has '{what}' for dovetail, which is ignored" in said, said
    assert "copied" in said and "HDF5-DIAG" not in said


@pytest.mark.parametrize(
    "connector",
    [None, b"this is no library", (support.BUILD / "lib" / "libdovetail-hdf5.so.0").read_bytes()[:5000]],
    ids=["missing", "other", "cut off"],
)
def test_a_connector_that_cannot_be_loaded_runs_natively(tmp_path: Path, way: str, connector: bytes | None) -> None:
    plugin = tmp_path / "lib" / "dovetail" / "hdf5" / PLUGIN.name
    plugin.parent.mkdir(parents=True)
    shutil.copy(PLUGIN, plugin)
    if connector is not None:
        (tmp_path / "lib" / "libdovetail-hdf5.so.0").write_bytes(connector)
    runs_natively(tmp_path, under(way, plugin), "libdovetail-hdf5.so.0")


def test_a_library_of_the_connector_that_is_cut_off_runs_natively(tmp_path: Path, way: str) -> None:
    """As a full disk leaves it. The loader of the system ends with SIGBUS."""
    plugin = tmp_path / "lib" / "dovetail" / "hdf5" / PLUGIN.name
    plugin.parent.mkdir(parents=True)
    shutil.copy(PLUGIN, plugin)
    shutil.copy(support.BUILD / "lib" / "libdovetail-hdf5.so.0", tmp_path / "lib")
    whole = (support.BUILD / "lib" / "libdovetail.so.0").read_bytes()
    (tmp_path / "lib" / "libdovetail.so.0").write_bytes(whole[: 1 << 20])
    runs_natively(tmp_path, under(way, plugin), "libdovetail.so.0", "cut off")


# The other library: a copy of h5py's, which the loader takes for another one. The first must be able to read what this one
# writes.
OTHER = """
import ctypes, sys
def other(path):
    library = ctypes.CDLL(path)
    assert library.H5open() >= 0
    for name in ("H5Fcreate", "H5Gcreate2", "H5Screate_simple", "H5Dcreate2"):
        getattr(library, name).restype = ctypes.c_int64
    def create(name):
        plain = ctypes.c_int64(0)
        file = library.H5Fcreate(name.encode(), 2, plain, plain)
        assert file > 0, name
        length = (ctypes.c_uint64 * 1)(1000)
        space = library.H5Screate_simple(1, length, None)
        kind = ctypes.c_int64.in_dll(library, "H5T_NATIVE_INT32_g")
        for step in range(20):
            data = library.H5Dcreate2(ctypes.c_int64(file), str(step).encode(), kind, ctypes.c_int64(space), plain, plain, plain)
            values = (ctypes.c_int32 * 1000)(*range(step, step + 1000))
            assert library.H5Dwrite(ctypes.c_int64(data), kind, plain, plain, plain, values) >= 0
            assert library.H5Dclose(ctypes.c_int64(data)) >= 0
        assert library.H5Fclose(ctypes.c_int64(file)) >= 0
    return create
"""
TWO = (
    OTHER
    + """
if sys.argv[2] == "other first":
    create = other(sys.argv[1])
import h5py, numpy as np
with h5py.File("mine.h5", "w") as file:
    file["x"] = np.arange(2**17)
    if sys.argv[2] != "other first":
        create = other(sys.argv[1])
    create("other.h5")
    file["y"] = np.arange(2**17)
create("again.h5")
for name in ("other.h5", "again.h5"):
    with h5py.File(name) as file:
        assert all((file[str(step)][()] == np.arange(step, step + 1000)).all() for step in range(20))
with h5py.File("mine.h5") as file:
    assert (file["x"][()] == file["y"][()]).all()
try:
    ctypes.CDLL(None).H5open
    raise SystemExit("HDF5 is visible to all")
except AttributeError:
    pass
"""
)


@pytest.mark.parametrize("order", ["h5py first", "other first"])
def test_two_libraries_in_one_process(tmp_path: Path, way: str, order: str) -> None:
    """The first is served, the other runs natively, and no symbol of either becomes visible."""
    library = library_of_h5py()
    copy = library.parent / f"libhdf5-copy-{tmp_path.name}.so"
    # There, since it looks for its own libraries beside it; and under a name of its own inside, or the loader takes one for the other.
    own_name = library.name.split(".so")[0].encode()
    copy.write_bytes(library.read_bytes().replace(own_name, b"libhdf5-".ljust(len(own_name), b"0")))
    try:
        environment = under(way, DOVETAIL_HDF5_REPORT="1")
        ended = support.run_python(TWO, copy, order, environment=environment, folder=tmp_path).expect(
            0, "another HDF5 library", "copied"
        )
    finally:
        copy.unlink()
    refused = [line for line in ended.errors.splitlines() if NATIVE in line]
    assert len(refused) == 1, ended.errors
    assert (copy.name in refused[0]) == (order == "h5py first"), refused


def test_what_a_program_says_about_plugins_remains(tmp_path: Path) -> None:
    """Packages point HDF5_PLUGIN_PATH at their own filters where it is not set, as netCDF4 does."""
    text = """
import os
assert "HDF5_PLUGIN_PATH" not in os.environ and "HDF5_VOL_CONNECTOR" not in os.environ
os.environ["HDF5_PLUGIN_PATH"] = os.getcwd()
import h5py
h5py.File("out.h5", "w")["x"] = range(1000)
folders = [h5py.h5pl.get(place).decode() for place in range(h5py.h5pl.size())]
assert os.getcwd() in folders, folders
"""
    environment = under("preloaded", DOVETAIL_HDF5_REPORT="1")
    support.run_python(text, environment=environment, folder=tmp_path).expect(0, "copied")


def test_another_connector_of_the_users_choice_remains(tmp_path: Path) -> None:
    environment = under("preloaded", HDF5_VOL_CONNECTOR=support.PASS_THROUGH, DOVETAIL_HDF5_REPORT="1")
    ended = support.run_python(WRITER, environment=environment, folder=tmp_path).expect(0)
    assert ended.errors == ""


FILTERS = """
import netCDF4, numpy as np
with netCDF4.Dataset("out.nc", "w") as data:
    data.createDimension("x", 5000)
    for kind in ("zlib", "zstd", "blosc_lz", "bzip2"):
        data.createVariable(kind, "f8", ("x",), compression=kind)[:] = np.arange(5000)
with netCDF4.Dataset("out.nc") as data:
    for kind in ("zlib", "zstd", "blosc_lz", "bzip2"):
        assert (data[kind][:] == np.arange(5000)).all()
"""


def test_filters_of_netcdf4_stay_reachable(tmp_path: Path) -> None:
    found = foreign.interpreters("netCDF4")
    if not found:
        pytest.skip("no Python here has netCDF4")
    for number, python in enumerate(found):
        place = tmp_path / str(number)
        place.mkdir()
        native = support.run_python(FILTERS, python=python, environment=support.clean(), folder=place)
        if native.status != 0:
            pytest.skip("this netCDF4 brings no filters")
        environment = under("preloaded", DOVETAIL_HDF5_REPORT="1")
        support.run_python(FILTERS, python=python, environment=environment, folder=place).expect(0, "copied")
