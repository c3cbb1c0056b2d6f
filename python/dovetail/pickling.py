"""Calls and results as messages: cloudpickle for what plain pickle cannot do, files in memory for large arrays."""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable
from typing import Any

_PLAIN = frozenset((type(None), bool, int, float, complex, str, bytes))
_PROTOCOL = pickle.HIGHEST_PROTOCOL


def is_plain(values: tuple[Any, ...]) -> bool:
    """Whether nothing in it needs more than plain pickle."""
    return all(type(value) in _PLAIN for value in values)


class _Parcel:
    """What belongs to one message: descriptors of segments, each once."""

    def __init__(self, writable: bool, every_array: bool) -> None:
        self.writable = writable  # the receiver may change the arrays
        self.every_array = every_array  # small ones too, since they are to be changed where they are
        self.segments: list[Any] = []
        self.arrays: list[Any] = []
        self._index: dict[int, int] = {}

    def add(self, segment: Any) -> int:
        place = self._index.get(id(segment))
        if place is None:
            place = self._index[id(segment)] = len(self.segments)
            self.segments.append(segment)
        return place


def _array_reference(
    place: int, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, writable: bool
) -> Any:
    """Stands for an array in a message; `load` puts the real function in its place."""
    raise pickle.UnpicklingError("an array of a message was read without the message")


def _pickler_class() -> type:
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        parcel: _Parcel

        def reducer_override(self, obj: Any) -> Any:
            numpy = sys.modules.get("numpy")
            if numpy is not None and type(obj) is numpy.ndarray and not obj.dtype.hasobject:
                from . import shared_memory

                if obj.nbytes >= shared_memory.SMALLEST or self.parcel.every_array:
                    return self._reduce_array(obj, shared_memory)
            return super().reducer_override(obj)

        def _reduce_array(self, obj: Any, shared_memory: Any) -> Any:
            parcel = self.parcel
            known = shared_memory.segment_of(obj)
            if known is not None:
                segment, offset = known
                strides = obj.strides
            elif obj.nbytes == 0:
                return super().reducer_override(obj)
            else:
                segment, strides = shared_memory.copy_to_segment(obj)
                offset = 0
            if parcel.every_array:
                parcel.arrays.append((obj, segment, strides, offset, known is None))
            return _array_reference, (parcel.add(segment), obj.dtype, obj.shape, strides, offset, parcel.writable)

    return Pickler


_class: type | None = None


def dump(value: Any, parcel: _Parcel) -> bytes:
    """The value as bytes; its large arrays go into the parcel."""
    global _class
    if _class is None:
        _class = _pickler_class()
    buffer = io.BytesIO()
    pickler = _class(buffer, protocol=_PROTOCOL)
    pickler.parcel = parcel
    pickler.dump(value)
    return buffer.getvalue()


class _Unpickler(pickle.Unpickler):
    segments: list[Any]

    def find_class(self, module: str, name: str) -> Any:
        if name == "_array_reference" and module == __name__:
            return self._array
        return super().find_class(module, name)

    def _array(
        self, place: int, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, writable: bool
    ) -> Any:
        from . import shared_memory

        return shared_memory.array_on(self.segments[place], dtype, shape, strides, offset, writable)


def load(payload: bytes, files: list[int], *, writable: bool = True) -> Any:
    """The value of a message. The descriptors belong to the segments from here on."""
    if not files:
        return pickle.loads(payload)
    from . import shared_memory

    unpickler = _Unpickler(io.BytesIO(payload))
    unpickler.segments = [shared_memory.Segment(file, writable) for file in files]
    return unpickler.load()


def parcel(*, writable: bool = False, every_array: bool = False) -> _Parcel:
    return _Parcel(writable, every_array)


def failing_argument(names: list[str], values: list[Any], attempt: Callable[[Any], object]) -> str | None:
    """Which of the values cannot be pickled."""
    for name, value in zip(names, values, strict=False):
        try:
            attempt(value)
        except Exception:
            return name
    return None
