"""Calls and results as messages: cloudpickle for what plain pickle cannot do, files in memory for large arrays."""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Callable
from types import CodeType
from typing import Any

from .imported import imported

_PLAIN = frozenset((type(None), bool, int, float, complex, str, bytes))
_PROTOCOL = pickle.HIGHEST_PROTOCOL
# Descriptors in one part of a message. Unprivileged users may have only a limited number in flight.
_MOST_FILES = 32


def is_plain(values: tuple[Any, ...]) -> bool:
    """Whether nothing in it needs more than plain pickle."""
    return _PLAIN.issuperset(map(type, values))


class Parcel:
    """The files in memory that belong to one message."""

    def __init__(self, *, every_array: bool = False, apart: int = 0, again: bool = True) -> None:
        self.every_array = every_array  # small ones too, since they are to be changed where they are
        self.files: list[Any] = []
        self.arrays: list[Any] = []  # with `every_array`: the arrays, and where they are
        self._apart = apart  # so many get a file of their own: the receiver may keep one and drop the others
        self._again = again and not every_array  # what lies on a file already is sent as that file
        self._common: Any = None
        self._made: list[Any] = []
        self._index: dict[int, int] = {}

    def add(self, array: Any, shared_memory: Any) -> tuple[int, tuple[int, ...], int]:
        """Puts an array there: the place of its file, its strides and its offset."""
        known = shared_memory.file_with(array) if self._again else None
        if known is not None and (id(known[0]) in self._index or len(self.files) < _MOST_FILES - 1):
            file, offset = known
            return self._place(file), array.strides, offset
        if len(self.files) < self._apart:
            file = self._new_file(shared_memory)
        else:
            if self._common is None:
                self._common = self._new_file(shared_memory)
            file = self._common
        place = self._place(file)
        offset, strides = file.append(array)
        if self.every_array:
            self.arrays.append((array, place, offset))
        elif file is not self._common:
            file.seal()
        return place, strides, offset

    def _new_file(self, shared_memory: Any) -> Any:
        self._made.append(shared_memory.File.create())
        return self._made[-1]

    def _place(self, file: Any) -> int:
        place = self._index.get(id(file))
        if place is None:
            place = self._index[id(file)] = len(self.files)
            self.files.append(file)
        return place

    def complete(self) -> None:
        """What only reads the arrays may rely on them from now on."""
        if self._common is not None and not self.every_array:
            self._common.seal()

    def discard(self) -> None:
        """The message will not be sent. A traceback that keeps this parcel then keeps no descriptors."""
        for file in self._made:
            file.close()


def _array_reference(place: int, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
    """Stands for an array in a message; `load` puts the real function in its place."""
    raise pickle.UnpicklingError("an array of a message was read without the message")


_NO_FILE = "<no file>"


def _code_in_file(code: CodeType, file: str) -> CodeType:
    return code.replace(co_filename=file)


def _pickler_class() -> type:
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        parcel: Parcel | None

        def reducer_override(self, obj: Any) -> Any:
            # Since its version 3.1.3 cloudpickle drops the name of the file, and tracebacks of the receiver show no line.
            if type(obj) is CodeType and obj.co_filename != _NO_FILE:
                return _code_in_file, (obj.replace(co_filename=_NO_FILE), obj.co_filename)
            numpy = imported("numpy")
            is_array = numpy is not None and type(obj) is numpy.ndarray and not obj.dtype.hasobject and obj.nbytes > 0
            if is_array and self.parcel is not None:
                from . import shared_memory

                if obj.nbytes >= shared_memory.SMALLEST or self.parcel.every_array:
                    place, strides, offset = self.parcel.add(obj, shared_memory)
                    return _array_reference, (place, obj.dtype, obj.shape, strides, offset)
                if not obj.flags.writeable:
                    return obj.copy("K").__reduce_ex__(_PROTOCOL)  # the receiver's copy is the receiver's to write to
            return super().reducer_override(obj)

    return Pickler


_class: type | None = None


def dump(value: Any, parcel: Parcel) -> bytes:
    """The value as bytes; its large arrays go into the parcel."""
    try:
        payload = _dump(value, parcel)
        parcel.complete()
    except BaseException:
        parcel.discard()
        raise
    return payload


def dump_alone(value: Any) -> bytes:
    """A value as bytes for `pickle.loads`, with the arrays that it refers to among them."""
    return _dump(value, None)


def _dump(value: Any, parcel: Parcel | None) -> bytes:
    global _class
    if _class is None:
        _class = _pickler_class()
    buffer = io.BytesIO()
    pickler = _class(buffer, protocol=_PROTOCOL)
    pickler.parcel = parcel
    pickler.dump(value)
    return buffer.getvalue()


class _Unpickler(pickle.Unpickler):
    array_of: Callable[..., Any]

    def find_class(self, module: str, name: str) -> Any:
        if name == "_array_reference" and module == __name__:
            # Not a method of this object, which remembers what it returns: the two would keep each other, and the arrays, until a collection of garbage.
            return self.array_of
        return super().find_class(module, name)


def _array_of(
    received: list[Any], place: int, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> Any:
    return received[place].array(dtype, shape, strides, offset)


def load(payload: bytes, files: list[int], *, shared: bool = False) -> Any:
    """The value of a message. Takes the descriptors out of the list: they belong to the arrays from here on.

    shared: the sender sees what is written to the arrays.
    """
    if not files:
        return pickle.loads(payload)
    from . import shared_memory

    received: list[Any] = []
    while files:
        received.append(shared_memory.Received(files.pop(0), shared))
    unpickler = _Unpickler(io.BytesIO(payload))
    unpickler.array_of = functools.partial(_array_of, received)
    try:
        value = unpickler.load()
    except BaseException:
        # A traceback that is kept then keeps no descriptors.
        for each in received:
            each.file.close()
        raise
    for each in received:
        each.file.close_if_crowded()
    return value


def failing_argument(names: list[str], values: list[Any], attempt: Callable[[Any], object]) -> str | None:
    """Which of the values cannot be pickled."""
    for name, value in zip(names, values, strict=False):
        try:
            attempt(value)
        except Exception:
            return name
    return None
