"""Values that are equal if their fields are. `dataclasses` makes the like, and takes longer to import than many a program that `dovetail run` starts."""

from __future__ import annotations


class Record:
    """Its subclasses name their fields in `__slots__`."""

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # fields may change

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"
