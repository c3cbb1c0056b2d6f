"""`dovetail run --hdf5`: HDF5 files are written in the background, by a program that does not know."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, MutableMapping
from pathlib import Path

PLUGIN = "libdovetail-hdf5-plugin.so"
CONNECTOR = "dovetail under_vol=0;under_info={}"
FLUSHES = ("wait", "background")
_LIBRARIES = ("lib", "lib64", f"lib/{os.uname().machine}-linux-gnu")


def _prefixes() -> Iterator[Path]:
    """Where the library may be installed: with this package, beside it, with the interpreter, or by `make install`."""
    package = Path(__file__).resolve().parent
    yield package
    from . import _core

    yield Path(_core.__file__).resolve().parents[2]
    yield from map(Path, (sys.prefix, sys.base_prefix, "/usr/local", "/usr"))


def plugin_folder() -> Path | None:
    """The folder that HDF5 must look into; None if the connector is not installed."""
    for entry in filter(None, os.environ.get("HDF5_PLUGIN_PATH", "").split(":")):
        if (Path(entry) / PLUGIN).exists():
            return Path(entry)
    for prefix in _prefixes():
        for library in _LIBRARIES:
            folder = prefix / library / "dovetail" / "hdf5"
            if (folder / PLUGIN).exists():
                return folder
    return None


def use(environment: MutableMapping[str, str], flush: str | None = None) -> str | None:
    """Sets what HDF5 reads when it is first used; `flush`: when a flush returns. Returns why that cannot be, or None."""
    if flush not in (None, *FLUSHES):
        return f"--flush={flush}: it must be {' or '.join(FLUSHES)}"
    folder = plugin_folder()
    if folder is None:
        return f"--hdf5: {PLUGIN} is not installed; build Dovetail with HDF5's headers (make setup-hdf5), or set HDF5_PLUGIN_PATH"
    other = environment.get("HDF5_VOL_CONNECTOR", "")
    if other and not other.startswith("dovetail"):
        return f"--hdf5: HDF5_VOL_CONNECTOR asks for '{other}' already; unset it"
    paths = [entry for entry in environment.get("HDF5_PLUGIN_PATH", "").split(":") if entry]
    if str(folder) not in paths:
        paths.insert(0, str(folder))
    environment["HDF5_PLUGIN_PATH"] = ":".join(paths)
    environment["HDF5_VOL_CONNECTOR"] = other or CONNECTOR
    if flush is not None:
        environment["DOVETAIL_HDF5_FLUSH"] = flush
    return None


def is_program(path: Path) -> bool:
    """Whether this is no Python but something that the system runs itself."""
    try:
        with path.open("rb") as file:
            return os.access(path, os.X_OK) and file.read(4) == b"\x7fELF"
    except OSError:
        return False
