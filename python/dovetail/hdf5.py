"""`dovetail run --hdf5`: HDF5 files are written in the background, by a program that does not know.

The plugin is loaded before the program, and answers each HDF5 library that asks which connector it should use. No variable of
HDF5 is set: what the program and its packages say in `HDF5_PLUGIN_PATH` about plugins of their own remains as it is.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import MutableMapping
from pathlib import Path

from .preload import LIBRARIES, prefixes, preloaded

PLUGIN = "libdovetail-hdf5-plugin.so"
CONNECTOR = "libdovetail-hdf5.so"
WHEN = ("wait", "background")


def plugin() -> Path | None:
    """The file of the plugin; None if the connector is not installed."""
    for entry in filter(None, os.environ.get("HDF5_PLUGIN_PATH", "").split(":")):
        if (Path(entry) / PLUGIN).exists():
            return Path(entry).resolve() / PLUGIN
    for prefix in prefixes():
        for library in LIBRARIES:
            file = Path(prefix) / library / "dovetail" / "hdf5" / PLUGIN
            if file.exists():
                return file
    return None


def is_used() -> bool:
    """Whether this process was started with the plugin."""
    return any(os.path.basename(name) == PLUGIN for name in preloaded(os.environ))


def use(environment: MutableMapping[str, str], flush: str | None = None, close: str | None = None) -> str | None:
    """Has programs started with this environment use the connector; `flush`, `close`: when a flush, and a close, returns. Returns why
    that cannot be, or None."""
    for option, when in (("flush", flush), ("close", close)):
        if when not in (None, *WHEN):
            return f"--{option}={when}: it must be {' or '.join(WHEN)}"
    file = plugin()
    if file is None:
        return f"--hdf5: {PLUGIN} is not installed; build Dovetail with HDF5's headers (make setup-hdf5), or set HDF5_PLUGIN_PATH"
    other = environment.get("HDF5_VOL_CONNECTOR", "")
    if other and not other.startswith("dovetail"):
        return f"--hdf5: HDF5_VOL_CONNECTOR asks for '{other}' already; unset it"
    if any(character in str(file) for character in " :"):
        return f"--hdf5: {file} cannot be preloaded, since its path has a space or a colon in it"
    if str(file) not in preloaded(environment):
        environment["LD_PRELOAD"] = ":".join([str(file), *preloaded(environment)])
    if flush is not None:
        environment["DOVETAIL_HDF5_FLUSH"] = flush
    if close is not None:
        environment["DOVETAIL_HDF5_CLOSE"] = close
    return None


def write_trace(path: Path) -> None:
    """Writes what was recorded so far, transfers of HDF5 files among it, if the connector was used at all."""
    file = plugin()
    if file is None:
        return
    try:
        connector = ctypes.CDLL(str(file.parents[2] / CONNECTOR), mode=os.RTLD_NOLOAD)
    except OSError:
        return  # not loaded
    connector.dovetail_hdf5_write_trace(os.fsencode(path))
