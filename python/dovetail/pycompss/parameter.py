"""`pycompss.api.parameter`: what a task does with a parameter, and of which sort it is."""

from __future__ import annotations

from typing import Any

from ..directions import COMMUTATIVE as _COMMUTATIVE
from ..directions import FILE_COMMUTATIVE as _FILE_COMMUTATIVE
from ..directions import FILE_IN as _FILE_IN
from ..directions import FILE_INOUT as _FILE_INOUT
from ..directions import FILE_OUT as _FILE_OUT
from ..directions import IN as _IN
from ..directions import INOUT as _INOUT
from ..directions import OUT as _OUT
from ..directions import UNORDERED as _UNORDERED
from ..directions import Direction as _Direction

_FILES = {_IN: _FILE_IN, _OUT: _FILE_OUT, _INOUT: _FILE_INOUT, _COMMUTATIVE: _FILE_COMMUTATIVE}


class Parameter:
    """The sort of a parameter (`object`, `file`, `directory`, `collection`, `dictionary`, `stream`) and its direction.

    For tasks that are programs: `channel` is the standard stream that the file is (0, 1, 2; -1: none), `prefix` stands before the word.
    """

    __slots__ = ("channel", "direction", "name", "prefix", "sort")

    def __init__(self, name: str, sort: str, direction: _Direction, channel: int = -1, prefix: str = "") -> None:
        self.name = name
        self.sort = sort
        self.direction = direction
        self.channel = channel
        self.prefix = prefix

    def __repr__(self) -> str:
        return self.name

    @property
    def is_path(self) -> bool:
        """Whether the argument is the path of what the direction is about."""
        return self.sort in ("file", "directory") or self.name.startswith("COLLECTION_FILE")

    @property
    def written(self) -> bool:
        """Whether the task changes it."""
        return self.direction not in (_IN, _UNORDERED)

    @property
    def holds_items(self) -> bool:
        """Whether the task may put other objects in the place of its items."""
        return self.sort in ("collection", "dictionary") and self.written and not self.is_path

    @property
    def dependency(self) -> _Direction:
        """The direction that the runtime orders tasks by."""
        return _FILES[self.direction] if self.is_path else self.direction


# Concurrent tasks may run in any order; here they also run one at a time, which is right for all of them.
_DIRECTIONS = {
    "IN": _IN,
    "OUT": _OUT,
    "INOUT": _INOUT,
    "CONCURRENT": _COMMUTATIVE,
    "COMMUTATIVE": _COMMUTATIVE,
    "IN_DELETE": _IN,
}


def _family(prefix: str, sort: str, *directions: str) -> dict[str, Parameter]:
    family = {prefix + name: Parameter(prefix + name, sort, _DIRECTIONS[name]) for name in directions}
    if prefix:
        family[prefix[:-1]] = Parameter(prefix[:-1], sort, _IN)
    return family


# Which standard stream of a program a file is.
STDIN = "STDIN"
STDOUT = "STDOUT"
STDERR = "STDERR"
_CHANNELS = {STDIN: 0, STDOUT: 1, STDERR: 2}


def _standard_streams() -> dict[str, Parameter]:
    files = _family("FILE_", "file", "IN", "OUT", "INOUT", "CONCURRENT", "COMMUTATIVE")
    return {
        f"{name}_{channel}": Parameter(
            f"{name}_{channel}", "file", _OUT if name == "FILE" and number else parameter.direction, number
        )
        for name, parameter in files.items()
        for channel, number in _CHANNELS.items()
    }


_ALL: dict[str, Parameter] = {
    **_family("", "object", *_DIRECTIONS),
    **_family("FILE_", "file", "IN", "OUT", "INOUT", "CONCURRENT", "COMMUTATIVE"),
    **_family("DIRECTORY_", "directory", "IN", "OUT", "INOUT"),
    **_family("COLLECTION_", "collection", "IN", "OUT", "INOUT", "IN_DELETE"),
    **_family("COLLECTION_FILE_", "collection", "IN", "OUT", "INOUT"),
    **_family("DICTIONARY_", "dictionary", "IN", "OUT", "INOUT", "IN_DELETE"),
    **_standard_streams(),
    # A producer and its consumers run at the same time.
    "STREAM_IN": Parameter("STREAM_IN", "stream", _UNORDERED),
    "STREAM_OUT": Parameter("STREAM_OUT", "stream", _UNORDERED),
}
globals().update(_ALL)

# The keys of the long form: {Type: COLLECTION_IN, Depth: 2}.
Type = "Type"
Direction = "Direction"
Depth = "Depth"
StdIOStream = "StdIOStream"
Prefix = "Prefix"
# About copies of data on other machines: of no effect on one, where a task gets the very object and the very path.
Cache = "Cache"
Keep_rename = "Keep_rename"
Weight = "Weight"
# How `@mpi` shares out a list among ranks.
block_count = "block_count"
block_length = "block_length"
stride = "stride"

__all__ = [
    *_ALL,
    *_CHANNELS,
    "Cache",
    "Depth",
    "Direction",
    "Keep_rename",
    "Prefix",
    "StdIOStream",
    "Type",
    "Weight",
    "block_count",
    "block_length",
    "stride",
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(f"the parameter type {name} of PyCOMPSs is not covered by Dovetail (see docs/pycompss.md)")


def understood(value: Any, where: str) -> Parameter:
    """A parameter from what stands after its name in `@task`. Raises TypeError, naming what is not covered."""
    if isinstance(value, Parameter):
        return value
    if not isinstance(value, dict):
        raise TypeError(f"{where} is {value!r}: it must be a direction of pycompss.api.parameter, such as INOUT")
    for key in value:
        if key not in (Type, Direction, Depth, StdIOStream, Prefix, Cache, Keep_rename, Weight):
            raise TypeError(f"{where}: '{key}' is not covered by Dovetail (see docs/pycompss.md)")
    parameter = value.get(Type, _ALL["IN"])
    direction = value.get(Direction)
    if not isinstance(parameter, Parameter) or not isinstance(direction, Parameter | None):
        raise TypeError(f"{where}: {value!r} must name types and directions of pycompss.api.parameter")
    channel = value.get(StdIOStream, parameter.channel)
    if channel in _CHANNELS:
        channel = _CHANNELS[channel]
    elif StdIOStream in value:
        raise TypeError(f"{where}: StdIOStream must be STDIN, STDOUT or STDERR, not {channel!r}")
    # Items are found at every depth, so that Depth needs no attention.
    way = parameter.direction if direction is None else direction.direction
    return Parameter(parameter.name, parameter.sort, way, channel, str(value.get(Prefix, "")))


def named(text: str) -> Parameter:
    """The parameter type with this name. Raises KeyError."""
    return _ALL[text.strip()]
