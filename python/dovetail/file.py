"""Files: `dt.File` names one for the dependency graph, `dt.open` opens one whose transfers pause the task and not its core."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from . import _core
from ._core import OpenFile as OpenFile


class File(os.PathLike[str]):
    """The path of a file that tasks read and write by any means.

    Tasks that get the same file are ordered by the direction of the parameter (`IN` unless it says otherwise), whatever way the path
    is written. It can be given to `open` and to everything else that takes a path.
    """

    __slots__ = ("path",)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)

    def __fspath__(self) -> str:
        return self.path

    def open(self, mode: str = "r", **options: Any) -> OpenFile:
        """As `dovetail.open` of this path, with its options."""
        return open(self.path, mode, **options)

    def __str__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"File({self.path!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, File) and os.path.realpath(self.path) == os.path.realpath(other.path)

    def __hash__(self) -> int:
        return hash(os.path.realpath(self.path))


_core.set_file_class(File)

_ALIGNMENT = 4096

_FLAGS = {
    "r": os.O_RDONLY,
    "r+": os.O_RDWR,
    "w": os.O_RDWR | os.O_CREAT | os.O_TRUNC,
    "a": os.O_RDWR | os.O_CREAT,
    "x": os.O_RDWR | os.O_CREAT | os.O_EXCL,
}


def open(
    path: str | os.PathLike[str],
    mode: str = "r",
    *,
    direct: str = "never",
    permissions: int = 0o644,
    urgency: str = "program",
    staged: bool = False,
    tier: str | os.PathLike[str] | None = None,
) -> OpenFile:
    """Opens a file for `pread(array, offset)` and `pwrite(array, offset)`.

    mode: `r` reads an existing file, `r+` reads and writes it, `a` also creates it. `w` creates or empties the file. `x` creates it and fails if it
    exists.
    direct: whether transfers bypass the page cache: `never`, `automatic` where the file system can, `always`, or `adaptive` where
    it pays.
    permissions: of a file that this creates, less the umask.
    urgency: what its transfers are for: the `program` waits for them; they `drain` what it does not wait for, such as a checkpoint; or they
    `prefetch` what may never be needed. Of the transfers in tasks that the device has no room for, those of the program start first. Only
    transfers of one kind count: reads or writes, with or without the page cache, up to 32 KiB or longer.
    staged: writes go to a log on a fast local tier, and from there in the background into the file. A write that has returned survives the end of
    the process; `fsync` and `pwrite_durable` make it durable on the tier, `drain` in the file itself. Others see it after `drain` or `close`, and may not
    change the file meanwhile. The next staged opening finds what a killed process has left. See docs/staging.md.
    tier: the folder of the tier; without it, that of `DOVETAIL_TIER`.

    Raises `OSError` with the path if the file cannot be opened, and `ValueError` for an option that makes no sense. From any thread or task.
    """
    name = os.fspath(path)
    flags = _FLAGS.get(mode.replace("b", ""))
    if flags is None:
        raise ValueError(f"mode must be one of {', '.join(map(repr, _FLAGS))}, not {mode!r}")
    if tier is not None and not staged:
        raise ValueError("a tier is of use for staged files alone: staged=True")
    return _core.open_file(name, flags, permissions, direct, urgency, staged, "" if tier is None else os.fspath(tier))


def read_file(path: str | os.PathLike[str]) -> bytes:
    """All bytes of the file at `path`, which is opened and closed for that. In a task this pauses the task, elsewhere it blocks the thread.

    For many small files this takes less time than `open` and `pread` for each. A FIFO is read until its writers have closed it. What is written
    meanwhile may be read in part.

    Raises `OSError` with the path if the file cannot be opened or read, and `MemoryError` if its bytes need more memory than there is. From any
    thread or task. In a coroutine it would hold up the event loop, so await a task: `await dt.task(dt.read_file)(path)`.
    """
    return _core.read_file(os.fspath(path))


def prefetch(file: OpenFile, ranges: Iterable[tuple[int, int]] | None = None) -> None:
    """Has parts of an open file brought into the page cache in the background, and returns at once. Any task or thread may call it.

    ranges: pairs of offset and length in bytes; without them, all of the file. A gap that takes less time than a request is read as well.

    It is advice: what goes wrong later is told by the `pread` that needs the bytes. One call brings at most a quarter of the memory that is
    free. Nothing happens for a file that bypasses the page cache (`direct`), nor for a stream.
    Raises `ValueError` for negative numbers, `OSError` for a closed file or a range that no file can have.
    """
    file.prefetch([(0, file.size)] if ranges is None else [(offset, length) for offset, length in ranges])


def empty(shape: int | tuple[int, ...], dtype: Any = float) -> Any:
    """As `numpy.empty`, in memory that direct transfers can use as it is.

    NumPy puts arrays where the kernel does not transfer to directly: then the bytes go through other memory first.
    """
    import numpy

    kind = numpy.dtype(dtype)
    count = int(numpy.prod(shape, dtype=numpy.int64))
    memory = numpy.empty(count * kind.itemsize + _ALIGNMENT, numpy.uint8)
    begin = -memory.__array_interface__["data"][0] % _ALIGNMENT
    return memory[begin : begin + count * kind.itemsize].view(kind).reshape(shape)


def _enter(self: OpenFile) -> OpenFile:
    return self


def _exit(self: OpenFile, *_: object) -> None:
    self.close()


OpenFile.__enter__ = _enter  # type: ignore[method-assign]
OpenFile.__exit__ = _exit  # type: ignore[method-assign]
