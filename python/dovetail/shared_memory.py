"""Arrays in files in memory, which travel between processes as descriptors.

A file in memory is written once and sealed: the kernel then refuses to change it. Every process maps it privately, so that it can write to an
array on it, and only that process sees what it wrote. An array on such a file that was not written to since, as the page table says, is sent again
without a copy. The one exception are arguments that a task changes: the file of such an argument belongs to one call, and both sides write to it.
The files have no names: the memory is free when the last process has closed it, however that process ends.
"""

from __future__ import annotations

import fcntl
import os
import resource
from typing import Any

import numpy

from . import _core

# Smaller arrays travel in the message.
SMALLEST = 32 * 1024
# Arrays of one file begin on bounds of this many bytes.
_ALIGNMENT = 64

_Array = numpy.ndarray[Any, numpy.dtype[Any]]

_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def _most_open() -> int:
    """How many descriptors arrays may hold here, beside those of messages on their way."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 4096 if soft == resource.RLIM_INFINITY else min(soft // 4, 4096)


def _bytes_of(array: Any) -> memoryview:
    return memoryview(array.reshape(-1).view(numpy.uint8))


class File:
    """The descriptor of a file in memory."""

    # Of arrays that came from other processes.
    _open = 0

    def __init__(self, descriptor: int, received: bool = False) -> None:
        self.descriptor = descriptor
        self._counted = received
        if received:
            File._open += 1

    @classmethod
    def create(cls) -> File:
        return cls(os.memfd_create("dovetail-array", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING))

    def append(self, array: _Array) -> tuple[int, tuple[int, ...]]:
        """Writes an array at the end. Returns its offset and the strides that it has there."""
        # As it lies in memory, if that has no gaps.
        turned = array.flags.f_contiguous and not array.flags.c_contiguous
        content = numpy.ascontiguousarray(array.T if turned else array)
        offset = -(-os.fstat(self.descriptor).st_size // _ALIGNMENT) * _ALIGNMENT
        view = _bytes_of(content)
        at = offset
        while view:
            written = os.pwrite(self.descriptor, view, at)
            view, at = view[written:], at + written
        strides = content.reshape(array.T.shape if turned else array.shape).strides
        return offset, strides[::-1] if turned else strides

    def read_into(self, array: _Array, offset: int) -> None:
        """Fills an array of which `append` has put a copy there."""
        turned = array.flags.f_contiguous and not array.flags.c_contiguous
        target = array.T if turned else array
        content = target if target.flags.c_contiguous else numpy.empty(target.shape, target.dtype)
        view = _bytes_of(content)
        while view:
            count = os.preadv(self.descriptor, [view], offset)
            if count == 0:
                raise EOFError("a file in memory is shorter than the array that lies in it")
            view, offset = view[count:], offset + count
        if content is not target:
            target[...] = content

    def seal(self) -> None:
        """From now on it cannot be changed."""
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _SEALS)

    def close(self) -> None:
        """What is mapped stays mapped."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
            if self._counted:
                File._open -= 1

    def close_if_crowded(self) -> None:
        """Without its descriptor an array has to be copied to be sent again; with too many, the program could open nothing else."""
        if File._open > _most_open():
            self.close()

    def __del__(self) -> None:
        if hasattr(self, "_counted"):
            self.close()


class _MappedBytes:
    """What arrays on a file have as their base."""

    __slots__ = ("__array_interface__", "file", "mapping")

    def __init__(self, file: File, mapping: _core.Mapping) -> None:
        self.file = file
        self.mapping = mapping
        self.__array_interface__ = {
            "shape": (mapping.size,),
            "typestr": "|u1",
            "data": (mapping.address, False),
            "version": 3,
        }


class Received:
    """A file that has come with a message, and its arrays."""

    def __init__(self, descriptor: int, shared: bool) -> None:
        self.file = File(descriptor, received=True)
        self._shared = shared
        self._whole: _Array | None = None

    def array(self, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> _Array:
        """An array on the file, which it keeps mapped."""
        if self._whole is None:
            size = os.fstat(self.file.descriptor).st_size
            self._whole = numpy.asarray(
                _MappedBytes(self.file, _core.Mapping(self.file.descriptor, size, self._shared))
            )
        result: _Array = numpy.ndarray(shape, dtype, buffer=self._whole, offset=offset, strides=strides)
        return result


def file_with(array: _Array) -> tuple[File, int] | None:
    """The file that has exactly the bytes of the array, and where: none if it lies elsewhere or was written to."""
    base: Any = array
    while isinstance(base, numpy.ndarray):
        base = base.base
    if not isinstance(base, _MappedBytes) or base.file.descriptor < 0:
        return None
    if any(stride < 0 for stride in array.strides):
        return None
    offset = array.__array_interface__["data"][0] - base.mapping.address
    extent = sum((n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)) + array.itemsize
    if not base.mapping.unchanged(offset, extent):
        return None
    return base.file, offset


def shared(array: Any) -> _Array:
    """A copy of an array that is sent to process tasks without another copy, as long as it is not written to."""
    source = numpy.asarray(array)
    if source.dtype.hasobject:
        raise TypeError("an array of Python objects cannot be shared with other processes")
    if source.nbytes == 0:
        return source.copy()
    file = File.create()
    offset, strides = file.append(source)
    file.seal()
    descriptor, file.descriptor = file.descriptor, -1
    return Received(descriptor, shared=False).array(source.dtype, source.shape, strides, offset)
