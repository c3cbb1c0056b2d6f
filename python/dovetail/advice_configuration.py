"""The configuration of `dovetail run --configuration`: which advice the system gets for which regions of which files.

It is the file of Mercury (G. Congiu's thesis, Listing 3.2), with lists and wildcards. It is written by people, so whatever is wrong in it is said in
one sentence that names file, line and place.
"""

from __future__ import annotations

import json
import os
import stat
import struct
from enum import IntEnum
from itertools import islice

from . import path_pattern
from .json_places import Problem, Spot, named, quoted, spots
from .record import Record
from .schema_check import is_allowed

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

    from jsonschema import ValidationError

    from .json_places import Place

FAR = 1 << 62  # the end of regions that go to the end of the file
MOST_RULES = 1024
MOST_REGIONS = 4096
MOST_BYTES = 1 << 20
_BLOCK_BYTES = 4 << 20
_CACHE_BLOCKS = 8
_AHEAD_BLOCKS = 4
# Each rule has at most 12 keys and each region 3 values, beside paths and programs: what is longer is refused before it is looked at closely.
_MOST_VALUES = 32_768
_DEEPEST = 32
_MOST_ERRORS = 1000
_LONGEST_NUMBER = 40  # digits; the schema refuses these anyway
_RULE = struct.Struct("<IIIIIIIIQQI12x")
_REGION = struct.Struct("<QQQ")


class ConfigurationError(Exception):
    """A configuration that cannot be used; the message names the file and says where and why."""


class Advice(IntEnum):
    """The numbers that the kernel has for them (POSIX_FADV_NORMAL and its kin)."""

    normal = 0
    random = 1
    sequential = 2
    will_need = 3
    dont_need = 4


_KEYS = {
    "Normal": Advice.normal,
    "Random": Advice.random,
    "Sequential": Advice.sequential,
    "WillNeed": Advice.will_need,
    "DontNeed": Advice.dont_need,
}


class Region(Record):
    """The bytes of a file from `offset` up to `end`, which is FAR for the end of the file."""

    __slots__ = ("advice", "end", "offset")

    def __init__(self, offset: int, end: int, advice: Advice) -> None:
        self.offset = offset
        self.end = end
        self.advice = advice


class Rule(Record):
    """What holds for the files whose path matches `pattern`, in programs whose name matches `process`; in any, if that is empty. The patterns are in
    the encoding of the file system. `regions` do not overlap, and are sorted by offset. `memory`: bytes that the blocks of all files may have that are read by a rule with the
    same `shared`, which is the number of one of them; 0: any number."""

    __slots__ = ("ahead_blocks", "block_bytes", "cache_blocks", "memory", "pattern", "process", "regions", "shared")

    def __init__(
        self,
        pattern: bytes,
        process: bytes,
        block_bytes: int,
        cache_blocks: int,
        ahead_blocks: int,
        regions: tuple[Region, ...],
        memory: int = 0,
        shared: int = 0,
    ) -> None:
        self.pattern = pattern
        self.process = process
        self.block_bytes = block_bytes
        self.cache_blocks = cache_blocks
        self.ahead_blocks = ahead_blocks
        self.regions = regions
        self.memory = memory
        self.shared = shared


class Packed:
    """The rules as `src/prefetch` has them, little endian. `rules`: 64 bytes each, `regions`: 24 bytes each, `text`: the bytes of all patterns."""

    __slots__ = ("regions", "rules", "text")

    def __init__(self, rules: bytes, regions: bytes, text: bytes) -> None:
        self.rules = rules
        self.regions = regions
        self.text = text

    @property
    def region_count(self) -> int:
        return len(self.regions) // _REGION.size


def packed(rules: list[Rule]) -> Packed:
    """Neighbouring rules that have the same tuple of regions share them."""
    heads: list[bytes] = []
    regions: list[bytes] = []
    text = bytearray()
    first = 0
    before: tuple[Region, ...] | None = None
    for rule in rules:
        if rule.regions is not before:
            before = rule.regions
            first = len(regions)
            regions += [_REGION.pack(region.offset, region.end, region.advice) for region in rule.regions]
        pattern_at, process_at = len(text), len(text) + len(rule.pattern)
        text += rule.pattern + rule.process
        heads.append(
            _RULE.pack(
                pattern_at, len(rule.pattern), process_at, len(rule.process), first, len(rule.regions),
                rule.cache_blocks, rule.ahead_blocks, rule.block_bytes, rule.memory, rule.shared,
            )
        )  # fmt: skip
    return Packed(b"".join(heads), b"".join(regions), bytes(text))


def read(path: str | Path) -> list[Rule]:
    """The rules of a file, in the order in which they are tried. Raises ConfigurationError."""
    try:
        text = _text_of(path)
    except OSError as error:
        raise ConfigurationError(f"{path}: it cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"{path}: it cannot be read: {error}") from error
    return parse(text, str(path))


def _text_of(path: str | Path) -> bytes:
    # Opening a FIFO would wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise ConfigurationError(f"{path}: it is {kind}; a configuration is a file in JSON")
        parts = []
        room = MOST_BYTES + 1
        while room > 0 and (part := os.read(descriptor, room)):
            parts.append(part)
            room -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def parse(text: bytes, name: str) -> list[Rule]:
    """The rules of a text, in the order in which they are tried. `name`: of the file, for messages. Raises ConfigurationError."""
    places: dict[Place, Spot] = {}
    try:
        document = _document(text, name)
        places = spots(document.text, _MOST_VALUES, _DEEPEST)
        _check(document.value, places)
        return _rules(document.value)
    except Problem as problem:
        line = places[problem.place].line if problem.line is None else problem.line
        place = named(problem.place)
        raise ConfigurationError(f"{name}:{line}: {place}{': ' if place else ''}{problem.sentence}") from None
    except RecursionError:
        raise ConfigurationError(f"{name}: it is nested too deeply for a configuration") from None


class _Document:
    __slots__ = ("text", "value")

    def __init__(self, text: str, value: Any) -> None:
        self.text = text
        self.value = value


def _document(text: bytes, name: str) -> _Document:
    if len(text) > MOST_BYTES:
        raise ConfigurationError(f"{name}: it is longer than {MOST_BYTES} bytes, which is too much for a configuration")
    if not text.strip():
        raise ConfigurationError(f"{name}: it is empty")
    if text.startswith(b"\xef\xbb\xbf"):
        raise Problem((), "the file begins with a byte order mark, which JSON does not have; save it without one", 1)
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise Problem((), f"the byte 0x{text[error.start]:02x} is not UTF-8, the encoding of JSON", line) from None
    try:
        return _Document(decoded, json.loads(decoded, parse_int=_integer))
    except json.JSONDecodeError as error:
        why = error.msg.rstrip(": ").removesuffix(" at")
        where = f"{name}:{error.lineno}: column {error.colno}"
        raise ConfigurationError(f"{where}: this is not JSON: {why}; is the file complete?") from None


def _integer(digits: str) -> int | float:
    # Python refuses to convert thousands of digits, without telling where they are.
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)


def _check(value: Any, places: dict[Place, Spot]) -> None:
    """Raises Problem for the first thing that the schema does not allow."""
    with open(os.path.join(os.path.dirname(__file__), "advice_configuration.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    if is_allowed(value, schema):
        return
    from jsonschema import Draft202012Validator

    order = {place: number for number, place in enumerate(places)}
    errors = islice(Draft202012Validator(schema).iter_errors(value), _MOST_ERRORS)

    def urgency(error: ValidationError) -> tuple[bool, int, int]:
        # What is missing may be there, but misspelt.
        missing = error.validator in ("required", "anyOf")
        return missing, order[_place_of(error)], len(error.absolute_schema_path)

    first = min(errors, key=urgency, default=None)
    if first is not None:
        place = _place_of(first)
        raise Problem(place, _sentence(first, place, places[place]))


def _place_of(error: ValidationError) -> Place:
    place = tuple(error.absolute_path)
    if error.validator == "additionalProperties":
        return (*place, next(key for key in error.instance if key not in error.schema["properties"]))
    return place


def _sentence(error: ValidationError, place: Place, spot: Spot) -> str:
    if error.validator == "additionalProperties":
        known = {key.lower(): key for key in error.schema["properties"]}
        import difflib

        near = difflib.get_close_matches(str(place[-1]).lower(), known, 1)
        return "there is no such key; " + (
            f"did you mean {known[near[0]]}?" if near else f"there are {', '.join(known.values())}"
        )
    if error.validator == "required":
        return f"it has no {' and no '.join(key for key in error.validator_value if key not in error.instance)}"
    if error.validator == "anyOf":
        names = [option["required"][0] for option in error.validator_value]
        return f"it has none of {', '.join(names)}, of which it needs at least one"
    return f"{_shown(error.instance, spot)} is not {error.schema['description']}"


def _shown(value: Any, spot: Spot) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    return spot.text if len(spot.text) <= _LONGEST_NUMBER else f"{spot.text[:_LONGEST_NUMBER]}..."


def _entries(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    """What may be one or a list of them."""
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield (*place, number), one
    else:
        yield place, value


def _rules(document: Any) -> list[Rule]:
    rules: list[Rule] = []
    regions = 0
    for kind in ("File", "Directory"):
        for place, written in _entries(document.get(kind, []), (kind,)):
            own = _regions(written, place)
            regions += len(own)
            if regions > MOST_REGIONS:
                raise Problem(place, f"with this there are more than {MOST_REGIONS} regions")
            paths = list(_entries(written["Path"], (*place, "Path")))
            programs = list(_entries(written.get("Processes", ""), (*place, "Processes")))
            if len(rules) + len(paths) * len(programs) > MOST_RULES:
                raise Problem(
                    place, f"with this there are more than {MOST_RULES} rules, one for each path and each process"
                )
            recursive = written.get("Recursive", True)

            def of_path(path: str, kind: str = kind, recursive: bool = recursive) -> bytes:
                return path_pattern.of_file(path) if kind == "File" else path_pattern.of_folder(path, recursive)

            patterns = [_compiled(of_path, at, path) for at, path in paths]
            names = [_compiled(path_pattern.of_program, at, program) for at, program in programs]
            sizes = _sizes(written, place)
            memory = _memory(written, sizes[0], place)
            shared = len(rules) if memory else 0
            rules += [Rule(pattern, process, *sizes, own, memory, shared) for pattern in patterns for process in names]
    return rules


def _compiled(compile_: Callable[[str], bytes], place: Place, text: str) -> bytes:
    try:
        return compile_(text)
    except path_pattern.BadPattern as error:
        raise Problem(place, f"{quoted(text)}: {error}") from None


def _sizes(written: dict[str, Any], place: Place) -> tuple[int, int, int]:
    """Bytes of a block, blocks that stay, blocks that are read ahead."""
    # JSON has no whole numbers of its own: the schema takes 8.0 for one.
    block = int(written.get("BlockSize", _BLOCK_BYTES))
    cache = int(written.get("CacheSize", _CACHE_BLOCKS))
    ahead = int(written.get("ReadAheadSize", min(_AHEAD_BLOCKS, cache)))
    if ahead > cache:
        given = "" if "CacheSize" in written else ", since none is given"
        raise Problem((*place, "ReadAheadSize"), f"{ahead} is more than CacheSize, which is {cache}{given}")
    return block, cache, ahead


def _memory(written: dict[str, Any], block: int, place: Place) -> int:
    memory = int(written.get("MemorySize", 0))
    if memory != 0 and memory < block:
        raise Problem(
            (*place, "MemorySize"), f"{memory} is less than BlockSize, which is {block}: no block has room in it"
        )
    return memory


def _regions(written: dict[str, Any], place: Place) -> tuple[Region, ...]:
    found: list[tuple[Region, Place]] = []
    # In the order of the text: of two that overlap the latter is at fault.
    for key, value in written.items():
        if key not in _KEYS:
            continue
        for at, region in _entries(value, (*place, key)):
            offset, length = int(region.get("Offset", 0)), int(region.get("Length", 0))
            if offset + length > FAR:
                raise Problem(at, f"its end at {offset + length} is beyond 2^62")
            found.append((Region(offset, offset + length if length else FAR, _KEYS[key]), at))
    order = sorted(range(len(found)), key=lambda number: found[number][0].offset)
    for pair in zip(order, order[1:], strict=False):
        (one, at), (other, elsewhere) = (found[number] for number in sorted(pair, reverse=True))
        if one.offset < other.end and other.offset < one.end:
            raise Problem(at, f"{_span(one)} overlap {_span(other)} in {named(elsewhere)}")
    return tuple(found[number][0] for number in order)


def _span(region: Region) -> str:
    return f"bytes {region.offset} to {'the end' if region.end == FAR else region.end}"
