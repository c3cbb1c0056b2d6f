"""`dovetail run --hdf5`: HDF5 files are written in the background, by a program that does not know.

The plugin is loaded before the program, and answers each HDF5 library that asks which connector it should use. No variable of
HDF5 is set: what the program and its packages say in `HDF5_PLUGIN_PATH` about plugins of their own remains as it is.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator, MutableMapping
from importlib.util import find_spec
from pathlib import Path

PLUGIN = "libdovetail-hdf5-plugin.so"
CONNECTOR = "libdovetail-hdf5.so.0"
WHEN = ("wait", "background")
LIBRARIES = ("lib", "lib64", f"lib/{os.uname().machine}-linux-gnu")
_ELF = b"\x7fELF"


def prefixes() -> Iterator[Path]:
    """Where the library may be installed: with this package, beside it, with the interpreter, or by `make install`."""
    yield Path(__file__).resolve().parent
    core = find_spec(f"{__package__}._core")
    if core is not None and core.origin is not None:
        yield Path(core.origin).resolve().parents[2]
    yield from map(Path, (sys.prefix, sys.base_prefix, "/usr/local", "/usr"))


def plugin() -> Path | None:
    """The file of the plugin; None if the connector is not installed."""
    for entry in filter(None, os.environ.get("HDF5_PLUGIN_PATH", "").split(":")):
        if (Path(entry) / PLUGIN).exists():
            return Path(entry).resolve() / PLUGIN
    for prefix in prefixes():
        for library in LIBRARIES:
            file = prefix / library / "dovetail" / "hdf5" / PLUGIN
            if file.exists():
                return file
    return None


def preloaded(environment: MutableMapping[str, str]) -> list[str]:
    return environment.get("LD_PRELOAD", "").replace(":", " ").split()


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


def interpreter_of(path: Path) -> str | None:
    """What the first line of a script asks for (`#!`); None if there is no such line."""
    with path.open("rb") as file:
        line = file.readline(4096)
    return os.fsdecode(line[2:]).strip() if line.startswith(b"#!") else None


def is_binary(path: Path) -> bool:
    """Whether this is a program that the system runs itself."""
    with path.open("rb") as file:
        return file.read(4) == _ELF


def is_linked_statically(path: Path) -> bool:
    """Whether a program loads no library at all, and so none before it. Of a program of 64 bits; False of others."""
    with path.open("rb") as file:
        header = file.read(64)
        if len(header) < 64 or header[:6] != _ELF + b"\x02\x01":
            return False
        (offset,) = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        file.seek(offset)
        table = file.read(size * count)
    program_interpreter = 3
    kinds = [struct.unpack_from("<I", table, size * number)[0] for number in range(len(table) // size)] if size else []
    return bool(kinds) and program_interpreter not in kinds
