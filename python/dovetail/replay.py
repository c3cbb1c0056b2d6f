"""The plan of `dovetail run --plan`, in the form in which the program has it.

The library that is loaded into the program parses no JSON: it gets the plan in a form that it can use as it lies in memory (src/prefetch/plan.hpp).
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_left

from .read_ahead_limits import PAGE, SMALLEST_WINDOW, Device, device_of
from .record import Record

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .plan import Extent, Plan, PlannedFile
    from .plan_report import Done

_MAGIC = 0x33304E414C505444
# As in src/prefetch/plan.cpp.
_MOST_FILES, _MOST_EXTENTS = 1 << 20, 1 << 24
_HEADER = struct.Struct("<QQQQQQ16x")
# Where in it stands how much of the windows holds, and of how many parts.
_PART_AT = 40
_PARTS = 256
_FILE = struct.Struct("<QQQQQQIIII")
_EXTENT = struct.Struct("<QQQ")
# Extents that the program has come to, and that were asked for; what was not foretold, less what was; whether the plan was given up; then as in Done.
_PROGRESS = struct.Struct("<IIiIQQQQQ8x")
# The library gives a plan up for these reasons (plan.hpp) only after a read of the file: the read does not fit it, or the file is cached.
_AFTER_A_READ = (1, 2)
# Runs of pages for each step to elsewhere, and for each long time between two reads, of a file that is read in sequence.
_RUNS_IN_SEQUENCE = 32
# Seconds in which a device reads more than what the system reads ahead.
_LONG = 0.01


def _fits(file: PlannedFile) -> tuple[int, str]:
    """The device that the file is on now, and why the plan does not fit it."""
    try:
        status = os.stat(file.path)
    except OSError as error:
        return 0, f"{file.path}: {error.strerror}"
    if not file.is_described_by(status):
        return 0, f"{file.path}: it is not the file that was observed, or has changed since"
    return status.st_dev, ""


def windows(files: list[PlannedFile], whole: int) -> list[int]:
    """For each file, how much of it is read ahead at most. Files that the program reads at the same time share the whole by what they need
    of it: a small one no more than it has, with the gaps."""
    needs = [min(whole, 2 * file.size) for file in files]
    events = []
    for number, file in enumerate(files):
        times = [extent.at for extent in file.extents]
        events += [(min(times), 0, number), (max(times), 1, number)]
    begun = [0] * len(files)
    shares = [0] * len(files)
    under_way = 0
    # Events after which less was needed at once, and how much it was. The first of them since a file began has the most since then.
    places: list[int] = []
    amounts: list[int] = []
    for place, (_, ends, number) in enumerate(sorted(events)):
        if ends:
            most = amounts[bisect_left(places, begun[number])]
            under_way -= needs[number]
            shares[number] = max(SMALLEST_WINDOW, whole * needs[number] // max(most, whole))
            continue
        begun[number] = place
        under_way += needs[number]
        while amounts and amounts[-1] <= under_way:
            places.pop()
            amounts.pop()
        places.append(place)
        amounts.append(under_way)
    return shares


def narrow(memory: int, part: float) -> None:
    """From now on, the windows of a plan in memory are this part of what they were made with, between 0 and 1."""
    os.pwrite(memory, struct.pack("<Q", max(1, min(_PARTS, int(part * _PARTS)))), _PART_AT)


def is_left_to_the_system(file: PlannedFile, device: Device) -> bool:
    """Whether the system itself reads ahead as well: the program goes through the file from front to back, and nothing gives the device
    time to be further ahead. Pages that come by advice cost more, since the kernel takes small ones for them."""
    jumps = sum(one.end != other.offset for one, other in zip(file.extents, file.extents[1:], strict=False))
    # The time before the first read does not count: the helper gives no advice for a file that the program has not read.
    pauses = sum(extent.think > _LONG for extent in file.extents[1:])
    if max(jumps, pauses) * _RUNS_IN_SEQUENCE > len(file.extents):
        return False
    # One request brings all; or each brings so much that the time of a request is small beside it.
    return file.bytes <= device.read_ahead or device.read_ahead >= 2 * device.of_a_request


class State(Record):
    """How far the program is in one file, as it stands in memory. `runs`: of pages in the plan, of which `next` is needed next and `issued` is the first that the system
    was not asked for. `come_to`: for each, whether the program has read of it. `ahead`: bytes of the plan that were asked for, and that the program has not come
    to. `is_timed`: reads are counted, and `waiting` is the nanoseconds of those that `waited`."""

    __slots__ = (
        "ahead",
        "asked",
        "come_to",
        "given_up",
        "is_timed",
        "issued",
        "next",
        "reads",
        "runs",
        "unforeseen",
        "waited",
        "waiting",
    )

    def __init__(
        self,
        runs: int,
        next: int,
        issued: int,
        come_to: bytes,
        ahead: int,
        asked: int,
        unforeseen: int,
        is_timed: bool,
        reads: int,
        waited: int,
        waiting: int,
        given_up: int,
    ) -> None:
        self.runs = runs
        self.next = next
        self.issued = issued
        self.come_to = come_to
        self.ahead = ahead
        self.asked = asked
        self.unforeseen = unforeseen
        self.is_timed = is_timed
        self.reads = reads
        self.waited = waited
        self.waiting = waiting
        self.given_up = given_up

    def done(self, path: str, observed: float | None) -> Done:
        from .plan_report import Done

        return Done(
            path, self.asked, self.ahead, self.unforeseen, self.reads, self.waited, self.waiting / 1e9, observed, self.given_up
        )  # fmt: skip

    @property
    def is_begun(self) -> bool:
        """Whether the program has read of it."""
        return self.next > 0 or self.given_up in _AFTER_A_READ


def states(memory: int) -> list[State]:
    """Of each file that the library knows, from the memory that the program has. Raises OSError, and ValueError if there is no plan in it."""
    header = os.pread(memory, _HEADER.size, 0)
    # A process can make a memory of any size. What is no plan is not read.
    if len(header) < _HEADER.size or os.fstat(memory).st_size != _places(header).end:
        raise ValueError("it is no plan")
    return _states(_read(memory, 0, _places(header).end))


def _read(memory: int, at: int, end: int) -> bytes:
    content = b""
    while at + len(content) < end and (more := os.pread(memory, end - at - len(content), at + len(content))):
        content += more
    return content


class _Places:
    """Where the parts of a plan begin in its memory, in bytes."""

    __slots__ = ("come_to_at", "end", "extents", "extents_at", "files", "is_timed", "progress_at")

    def __init__(
        self, files: int, extents: int, is_timed: bool, extents_at: int, progress_at: int, come_to_at: int, end: int
    ) -> None:
        self.files = files
        self.extents = extents
        self.is_timed = is_timed
        self.extents_at = extents_at
        self.progress_at = progress_at
        self.come_to_at = come_to_at
        self.end = end


def _places(header: bytes) -> _Places:
    """Raises ValueError if it is none of a plan that the library would take (src/prefetch/plan.cpp)."""
    magic, _, files, extents, is_timed, _ = _HEADER.unpack_from(header)
    if magic != _MAGIC or files > _MOST_FILES or extents > _MOST_EXTENTS:
        raise ValueError("it is no plan")
    extents_at = _HEADER.size + files * _FILE.size
    progress_at = extents_at + extents * _EXTENT.size
    come_to_at = progress_at + files * _PROGRESS.size + extents * 4
    return _Places(files, extents, bool(is_timed), extents_at, progress_at, come_to_at, come_to_at + extents)


def _states(content: bytes) -> list[State]:
    places = _places(content)
    if len(content) != places.end:
        raise ValueError("it is no plan")
    found = []
    extents = 0
    for number in range(places.files):
        *_, first, count, _, _, _ = _FILE.unpack_from(content, _HEADER.size + number * _FILE.size)
        extents += count
        if first + count > places.extents or extents > places.extents:
            raise ValueError("it is no plan")
        progress = _PROGRESS.unpack_from(content, places.progress_at + number * _PROGRESS.size)
        cursor, issued, _, given_up, asked, unforeseen, reads, waited, waiting = progress
        come_to = content[places.come_to_at + first : places.come_to_at + first + count]
        issued = min(issued, count)
        lengths = (
            _EXTENT.unpack_from(content, places.extents_at + (first + place) * _EXTENT.size)[1]
            for place in range(issued)
            if not come_to[place]
        )
        found.append(
            State(count, min(cursor, count) if count else cursor, issued, come_to, sum(lengths), asked, unforeseen, places.is_timed, reads, waited, waiting, given_up)
        )  # fmt: skip
    return found


class Compact:
    """The plan as the library has it; the files that it knows, in its order, and whether it follows each or only tells that the program has come to it; those that it does
    not know; and a sentence for each file that the plan does not fit any more. `devices`: their numbers now, and when the program was observed."""

    __slots__ = ("content", "devices", "files", "followed", "problems", "unknown")

    def __init__(
        self,
        content: bytes,
        files: list[PlannedFile],
        followed: list[bool],
        unknown: list[PlannedFile],
        problems: list[str],
        devices: list[tuple[int, int]],
    ) -> None:
        self.content = content
        self.files = files
        self.followed = followed
        self.unknown = unknown
        self.problems = problems
        self.devices = devices

    @property
    def in_sequence(self) -> list[PlannedFile]:
        """The files that are left to the system."""
        return self.known(followed=False) + self.unknown

    def known(self, followed: bool) -> list[PlannedFile]:
        """Those of `files` that the library follows, or those that it does not."""
        return [file for file, is_followed in zip(self.files, self.followed, strict=True) if is_followed == followed]

    @property
    def _extents(self) -> int:
        return sum(len(file.extents) for file in self.known(followed=True))

    def done(self, memory: int) -> list[Done]:
        """What the plan did for each file that is read ahead. `memory`: a descriptor of the memory that the program has. It may have written anything into it, so
        that only what the library counts is taken from there."""
        places = _places(self.content)
        counted = _read(memory, places.progress_at, places.end)
        return [
            state.done(file.path, _waited(zip(file.extents, state.come_to, strict=True)))
            for file, is_followed, state in zip(
                self.files, self.followed, _states(self.content[: places.progress_at] + counted), strict=True
            )
            if is_followed
        ]

    def begun(self, memory: int) -> list[bool]:
        """For each of `files`, whether the program has read of it. `memory`: as for `done`."""
        at = _HEADER.size + len(self.files) * _FILE.size + self._extents * _EXTENT.size
        progress = _PROGRESS.iter_unpack(os.pread(memory, len(self.files) * _PROGRESS.size, at))
        return [cursor > 0 or given_up in _AFTER_A_READ for cursor, _, _, given_up, *_ in progress]


def _waited(extents: Iterable[tuple[Extent, int]]) -> float | None:
    """The seconds that the program waited for those of the extents that are marked, when it was observed. None: of one or the other it is not known."""
    total = 0.0
    for extent, is_marked in extents:
        if extent.waited is None:
            return None
        total += extent.waited if is_marked else 0.0
    return total


def compact(plan: Plan, ahead: int, timed: bool = False) -> Compact:
    """`ahead`: bytes that are read ahead of the program at most. `timed`: the library notes how long reads take."""
    problems = []
    in_sequence: dict[tuple[int, int], PlannedFile] = {}
    found: dict[tuple[int, int], PlannedFile] = {}
    devices: dict[int, Device] = {}
    for file in plan.files:
        if not file.extents:
            continue
        place, problem = _fits(file)
        if problem:
            problems.append(problem)
        else:
            device = devices[place] = devices.get(place) or device_of(place, plan.devices.get(file.device))
            (in_sequence if is_left_to_the_system(file, device) else found)[place, file.inode] = file
    in_sequence = {place: file for place, file in in_sequence.items() if place not in found}
    rooms = dict(zip(found, windows([*found.values()], ahead), strict=True))
    # The library tells where the program is among these, too, if there is more of them than may be read ahead at once.
    are_known = sum(file.bytes for file in in_sequence.values()) > ahead
    known = sorted((found | in_sequence if are_known else found).items())
    files, extents, orders = [], [], []
    first = 0
    for (number, inode), file in known:
        device = devices[number]
        room = rooms.get((number, inode), 0)
        followed = file.extents if (number, inode) in found else []
        count = len(followed)
        seconds, nanoseconds = divmod(file.modified, 1_000_000_000)
        files.append(
            _FILE.pack(
                number, inode, file.size, seconds, nanoseconds, first, count, device.piece, device.gap, room // PAGE
            )
        )
        before = 0
        for extent in followed:
            extents.append(_EXTENT.pack(extent.offset, extent.bytes, before))
            before += extent.bytes
        order = sorted(range(count), key=lambda place, followed=followed: followed[place].offset)  # type: ignore[misc]
        orders.append(struct.pack(f"<{count}I", *order))
        first += count
    body = b"".join([*files, *extents, bytes(_PROGRESS.size * len(files)), *orders, bytes(first)])
    content = _HEADER.pack(_MAGIC, _HEADER.size + len(body), len(files), first, timed, 0) + body
    numbers = sorted({(device, file.device) for (device, _), file in (found | in_sequence).items()})
    unknown = [] if are_known else [*in_sequence.values()]
    return Compact(
        content, [file for _, file in known], [place in found for place, _ in known], unknown, problems, numbers
    )
