"""Arrays in files in memory, which several processes map.

An array that is sent is copied once, into such a file; the receiver uses it where it is. What already lies in one (a result that came from
a worker process, a read-only array that was sent before) is not copied again. The files have no names: when the last process lets go,
however it ends, the memory is free.
"""

from __future__ import annotations

import mmap
import os
import weakref
from typing import Any

import numpy

# Smaller arrays travel in the message.
SMALLEST = 32 * 1024

_Array = numpy.ndarray[Any, numpy.dtype[Any]]


class Segment:
    """A file in memory, mapped here."""

    def __init__(self, descriptor: int, writable: bool) -> None:
        self.descriptor = descriptor
        access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
        self.memory = mmap.mmap(descriptor, 0, access=access)
        self.address = 0

    @classmethod
    def create(cls, size: int) -> Segment:
        descriptor = os.memfd_create("dovetail-array", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, size)
        return cls(descriptor, writable=True)

    def __del__(self) -> None:
        if getattr(self, "descriptor", -1) >= 0:
            os.close(self.descriptor)


# Where segments are mapped that are in use here: begin -> segment. An array on a segment keeps it alive through `_SharedBytes`.
_mapped: weakref.WeakValueDictionary[int, Segment] = weakref.WeakValueDictionary()
# Segments made for read-only arrays, which cannot change any more: id of the array -> segment, strides in it.
_of_constants: dict[int, tuple[Segment, tuple[int, ...]]] = {}


class _SharedBytes:
    """What arrays on a segment have as their base."""

    __slots__ = ("segment", "__array_interface__")

    def __init__(self, segment: Segment, writable: bool) -> None:
        self.segment = segment
        self.__array_interface__ = {
            "shape": (len(segment.memory),),
            "typestr": "|u1",
            "data": (segment.address, not writable),
            "version": 3,
        }


def array_on(
    segment: Segment, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, writable: bool
) -> _Array:
    """An array in a segment, which it keeps alive."""
    if segment.address == 0:
        segment.address = numpy.frombuffer(segment.memory, numpy.uint8).__array_interface__["data"][0]
        _mapped[segment.address] = segment
    whole: _Array = numpy.asarray(_SharedBytes(segment, writable))
    result: _Array = numpy.ndarray(shape, dtype, buffer=whole, offset=offset, strides=strides)
    return result


def segment_of(array: _Array) -> tuple[Segment, int] | None:
    """The segment that the array lies in, and where."""
    base: Any = array
    while isinstance(base, numpy.ndarray):
        base = base.base
    if not isinstance(base, _SharedBytes):
        return None
    offset = array.__array_interface__["data"][0] - base.segment.address
    if any(stride < 0 for stride in array.strides):
        return None
    return base.segment, offset


def copy_to_segment(array: _Array) -> tuple[Segment, tuple[int, ...]]:
    """A segment with a copy of the array in it, and the strides that the copy has."""
    constant = not array.flags.writeable and array.flags.owndata
    if constant and id(array) in _of_constants:
        return _of_constants[id(array)]
    segment = Segment.create(array.nbytes)
    # As it lies in memory, if that has no gaps.
    order: Any = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    target: _Array = numpy.ndarray(array.shape, array.dtype, buffer=segment.memory, order=order)
    numpy.copyto(target, array)
    if constant:
        key = id(array)
        _of_constants[key] = (segment, target.strides)
        weakref.finalize(array, _of_constants.pop, key, None)
    return segment, target.strides
