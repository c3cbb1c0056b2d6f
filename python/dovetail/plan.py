"""What a program reads, in the order in which it needs it: the plan that `dovetail observe` writes and `dovetail run --plan` follows.

A plan is JSON with one line for each run of pages, to be read and changed by people too. So whatever is wrong in it is said in one sentence that
names the place.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from bisect import bisect_right

from .record import Record

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

VERSION = 1
MOST_FILES = 100_000
MOST_EXTENTS = 1_000_000
_MOST_BYTES = 512 << 20  # of the file that the plan is in
_LARGEST = 1 << 62
_LARGEST_INODE = (1 << 64) - 1  # network file systems make them of hashes
_LONGEST = 1e9  # seconds
_FASTEST = 1e15  # a second


class PlanError(Exception):
    """A plan that cannot be used; the message says where and why."""


class Extent(Record):
    """A run of bytes. `at`: seconds from the start of the program until it was needed, `think`: of these, since the read before it. `waited`: seconds that the
    program waited for it, and for what it read again since the one before; None: not known."""

    __slots__ = ("at", "bytes", "offset", "think", "waited")

    def __init__(self, offset: int, bytes: int, at: float, think: float, waited: float | None = None) -> None:
        self.offset = offset
        self.bytes = bytes
        self.at = at
        self.think = think
        self.waited = waited

    @property
    def end(self) -> int:
        return self.offset + self.bytes


class PlannedFile(Record):
    """`modified`: nanoseconds since 1970. `mapped`: offset and bytes of what the program has mapped."""

    __slots__ = ("device", "extents", "inode", "mapped", "modified", "path", "size")

    def __init__(
        self,
        path: str,
        device: int,
        inode: int,
        size: int,
        modified: int,
        extents: list[Extent] | None = None,
        mapped: list[tuple[int, int]] | None = None,
    ) -> None:
        self.path = path
        self.device = device
        self.inode = inode
        self.size = size
        self.modified = modified
        self.extents = [] if extents is None else extents
        self.mapped = [] if mapped is None else mapped

    @property
    def bytes(self) -> int:
        return sum(extent.bytes for extent in self.extents)

    def is_described_by(self, status: os.stat_result) -> bool:
        """Whether this is still the file that was read; wherever it is now."""
        return stat.S_ISREG(status.st_mode) and (status.st_ino, status.st_size, status.st_mtime_ns) == (
            self.inode,
            self.size,
            self.modified,
        )


class PlannedDevice(Record):
    """What a device reads in a second: small `requests` at random, or `bytes` in large ones. `observed_requests`, `observed_bytes`: reads of all programs
    while this one was observed."""

    __slots__ = ("bytes", "observed_bytes", "observed_requests", "requests")

    def __init__(self, requests: float, bytes: float, observed_requests: int = 0, observed_bytes: int = 0) -> None:
        self.requests = requests
        self.bytes = bytes
        self.observed_requests = observed_requests
        self.observed_bytes = observed_bytes

    @property
    def of_a_request(self) -> float:
        """Bytes that it reads in the time of a request: a smaller gap is read rather than left out."""
        return self.bytes / self.requests


class Plan(Record):
    """`program`: what was observed, as it was called. `devices`: those that were measured then, by their numbers."""

    __slots__ = ("devices", "files", "program")

    def __init__(
        self,
        program: list[str],
        files: list[PlannedFile] | None = None,
        devices: dict[int, PlannedDevice] | None = None,
    ) -> None:
        self.program = program
        self.files = [] if files is None else files
        self.devices = {} if devices is None else devices


class Seen:
    """Which bytes of a file are in the plan already."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    def add(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Adds a range; returns the parts of it that are new."""
        first = bisect_right(self._ends, begin)
        last = first
        new = []
        at = begin
        while last < len(self._begins) and self._begins[last] < end:
            if at < self._begins[last]:
                new.append((at, self._begins[last]))
            at = max(at, self._ends[last])
            last += 1
        if at < end:
            new.append((at, end))
        if not new:
            return iter(())
        # With the neighbours that it touches.
        if first > 0 and self._ends[first - 1] == begin:
            first -= 1
        if last < len(self._begins) and self._begins[last] == end:
            last += 1
        low, high = begin, end
        if first < last:
            low, high = min(low, self._begins[first]), max(high, self._ends[last - 1])
        self._begins[first:last] = [low]
        self._ends[first:last] = [high]
        return iter(new)


def write(plan: Plan, path: str | Path) -> None:
    """Replaces the file at once: it is the old plan or the new one, whole. Raises OSError."""
    folder, name = os.path.split(path)
    new = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        with open(new, "x") as file:
            file.writelines(_lines(plan))
        os.replace(new, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
        raise


def _lines(plan: Plan) -> Iterator[str]:
    yield f'{{"dovetail_plan": {VERSION},\n "program": {json.dumps(plan.program)},\n "devices": ['
    yield ",\n  ".join(
        f'{{"device": "{_text_of_device(number)}", "requests_per_second": {device.requests}, '
        f'"bytes_per_second": {device.bytes}, "observed_requests": {device.observed_requests}, '
        f'"observed_bytes": {device.observed_bytes}}}'
        for number, device in plan.devices.items()
    )
    yield '],\n "files": ['
    for number, file in enumerate(plan.files):
        head = {
            "path": file.path,
            "device": _text_of_device(file.device),
            "inode": file.inode,
            "size": file.size,
            "modified": file.modified,
            "mapped": file.mapped,
        }
        yield f'{"," if number else ""}\n  {json.dumps(head)[:-1]}, "extents": ['
        for place, extent in enumerate(file.extents):
            waited = "" if extent.waited is None else f', "waited": {extent.waited:.6f}'
            yield (
                f'{"," if place else ""}\n   {{"offset": {extent.offset}, "bytes": {extent.bytes}, '
                f'"at": {extent.at:.6f}, "think": {extent.think:.6f}{waited}}}'
            )
        yield "]}"
    yield "]}\n"


def _text_of_device(number: int) -> str:
    return f"{os.major(number)}:{os.minor(number)}"


def read(path: str | Path) -> Plan:
    """Raises PlanError."""
    try:
        text = _text_of(path)
    except OSError as error:
        raise PlanError(f"{path}: {error.strerror}") from error
    try:
        document = json.loads(text, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise PlanError(f"{path}: line {error.lineno} is no JSON: {error.msg}; is the file complete?") from error
    except RecursionError as error:
        raise PlanError(f"{path}: it is nested too deeply for a plan") from error
    except (ValueError, UnicodeDecodeError) as error:
        raise PlanError(f"{path}: {error}") from error
    try:
        return _plan(document)
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from None


def _text_of(path: str | Path) -> bytes:
    # Opening a FIFO would wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise PlanError(f"{path}: it is not a regular file")
        if status.st_size > _MOST_BYTES:
            raise PlanError(f"{path}: it has {status.st_size} bytes, and a plan has at most {_MOST_BYTES}")
        return file.read(_MOST_BYTES + 1)


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'the key "{twice}" is there twice in one object')
    return found


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not a number that a plan can have")


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _fields(
    value: object, place: str, names: dict[str, Callable[[object, str], Any]], optional: tuple[str, ...] = ()
) -> list[Any]:
    """The values of an object that has exactly these keys; None for an optional one that it has not."""
    if not isinstance(value, dict):
        raise PlanError(f"{place} is {_shown(value)}: it must be an object")
    for name in value:
        if name not in names:
            raise PlanError(f'{place} has the key "{name}", which is none of {", ".join(names)}')
    for name in names:
        if name not in value and name not in optional:
            raise PlanError(f'{place} has no key "{name}"')
    # Found by their names, most of all: a plan may have a million.
    return [check(value[name], f"{place}.{name}") if name in value else None for name, check in names.items()]


def _whole(value: object, place: str, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _LARGEST:
        raise PlanError(f"{place} is {_shown(value)}: it must be a whole number of at least {least}, at most 2^62")
    return value


def _some(value: object, place: str) -> int:
    return _whole(value, place, 1)


def _inode(value: object, place: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= _LARGEST_INODE:
        raise PlanError(f"{place} is {_shown(value)}: it must be a whole number of at least 1, below 2^64")
    return value


def _seconds(value: object, place: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= _LONGEST:
        raise PlanError(f"{place} is {_shown(value)}: it must be a number of seconds, 0 to 10^9")
    return float(value)


def _words(value: object, place: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise PlanError(f"{place} is {_shown(value)}: it must be a list of texts")
    return value


def _path(value: object, place: str) -> str:
    if not isinstance(value, str) or not value.startswith("/") or "\0" in value or len(value) > 4096:
        raise PlanError(f"{place} is {_shown(value)}: it must be a path that begins with /")
    return value


def _device(value: object, place: str) -> int:
    if isinstance(value, str):
        major, colon, minor = value.partition(":")
        numbers = (major, minor)
        if colon and all(number.isascii() and number.isdecimal() and len(number) < 9 for number in numbers):
            return os.makedev(int(major), int(minor))
    raise PlanError(f'{place} is {_shown(value)}: it must be two numbers, as in "8:1"')


def _rate(value: object, place: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= _FASTEST:
        raise PlanError(f"{place} is {_shown(value)}: it must be a number above 0, at most 10^15")
    return float(value)


_OF_DEVICE: dict[str, Callable[[object, str], Any]] = {
    "device": _device, "requests_per_second": _rate, "bytes_per_second": _rate,
    "observed_requests": _whole, "observed_bytes": _whole,
}  # fmt: skip


def _devices(value: object, place: str) -> dict[int, PlannedDevice]:
    found: dict[int, PlannedDevice] = {}
    for number, one in enumerate(_list(value, place, MOST_FILES)):
        device, *rest = _fields(one, f"{place}[{number}]", _OF_DEVICE)
        if device in found:
            raise PlanError(f"{place}[{number}].device is there twice")
        found[device] = PlannedDevice(*rest)
    return found


def _version(value: object, place: str) -> int:
    if value != VERSION or isinstance(value, bool):
        raise PlanError(f"{place} is {_shown(value)}: this Dovetail knows version {VERSION} of plans")
    return VERSION


def _mapped(value: object, place: str) -> list[tuple[int, int]]:
    pairs = []
    for number, pair in enumerate(_list(value, place, MOST_EXTENTS)):
        if not isinstance(pair, list) or len(pair) != 2:
            raise PlanError(f"{place}[{number}] is {_shown(pair)}: it must be an offset and a number of bytes")
        pairs.append((_whole(pair[0], f"{place}[{number}][0]"), _some(pair[1], f"{place}[{number}][1]")))
    return pairs


def _list(value: object, place: str, most: int) -> list[Any]:
    if not isinstance(value, list):
        raise PlanError(f"{place} is {_shown(value)}: it must be a list")
    if len(value) > most:
        raise PlanError(f"{place} has {len(value)} entries: at most {most} are allowed")
    return value


_OF_EXTENT: dict[str, Callable[[object, str], Any]] = {
    "offset": _whole, "bytes": _some, "at": _seconds, "think": _seconds,
    "waited": _seconds,
}  # fmt: skip


def _extents(value: object, place: str) -> list[Extent]:
    return [
        Extent(*_fields(one, f"{place}[{number}]", _OF_EXTENT, optional=("waited",)))
        for number, one in enumerate(_list(value, place, MOST_EXTENTS))
    ]


_OF_FILE: dict[str, Callable[[object, str], Any]] = {
    "path": _path, "device": _device, "inode": _inode, "size": _some, "modified": _whole, "extents": _extents,
    "mapped": _mapped,
}  # fmt: skip


def _file(value: object, place: str) -> PlannedFile:
    file = PlannedFile(*_fields(value, place, _OF_FILE, optional=("mapped",)))
    file.mapped = file.mapped or []
    for number, extent in enumerate(file.extents):
        if extent.end > file.size:
            raise PlanError(
                f"{place}.extents[{number}] ends at {extent.end}, behind the end of the file at {file.size} bytes"
            )
    order = sorted(range(len(file.extents)), key=lambda number: file.extents[number].offset)
    for one, other in zip(order, order[1:], strict=False):
        if file.extents[one].end > file.extents[other].offset:
            raise PlanError(f"{place}.extents[{one}] and [{other}] overlap: each byte is read ahead once")
    return file


def _files(value: object, place: str) -> list[PlannedFile]:
    files = [_file(one, f"{place}[{number}]") for number, one in enumerate(_list(value, place, MOST_FILES))]
    total = sum(len(file.extents) for file in files)
    if total > MOST_EXTENTS:
        raise PlanError(f"{place} has {total} extents in all: at most {MOST_EXTENTS} are allowed")
    known: dict[tuple[int, int], int] = {}
    for number, file in enumerate(files):
        identity = (file.device, file.inode)
        if identity in known:
            raise PlanError(f"{place}[{known[identity]}] and [{number}] are the same file")
        known[identity] = number
        mode = _mode_of(file.path)
        if mode is not None and not stat.S_ISREG(mode):
            raise PlanError(f"{place}[{number}].path is {file.path}, which is not a regular file")
    return files


def _mode_of(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except OSError:
        return None


def _plan(value: object) -> Plan:
    known: dict[str, Callable[[object, str], Any]] = {
        "dovetail_plan": _version, "program": _words, "files": _files, "devices": _devices,
    }  # fmt: skip
    _, program, files, devices = _fields(value, "plan", known, optional=("devices",))
    return Plan(program, files, devices or {})
