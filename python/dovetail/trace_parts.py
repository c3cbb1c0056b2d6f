"""The traces that the ranks of a program have written, one each: `trace.json.0`, `trace.json.1`, ..."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .plain_file import open_to_read

_BEGIN_OF_EVENT = '{"ph":'
_TIME = '"ts":'
_ANOTHER_CLOCK_OF_DAY = 1_000_000_000  # nanoseconds that the clocks of the day of two machines may be apart


class UnusableTrace(ValueError):
    """What is wrong with a trace, and what to do."""


@dataclass
class End:
    """One end of a message, with times in nanoseconds since the part began."""

    rank: int
    order: int
    begin: int
    end: int
    lane: tuple[int, int]  # process and track that show the message itself
    touches: tuple[int, int, int] | None  # process, track and time of its task, if that runs then
    task: str
    is_taken: bool


Key = tuple[str, int, int, int]  # channel, sender, receiver, tag


@dataclass
class Part:
    """The trace of one rank. `is_whole`: the rank has written it to its end."""

    path: Path
    rank: int
    facts: dict[str, Any]
    begin: int = 0  # by the monotonic clock of its machine, in nanoseconds
    clock: str = ""
    is_whole: bool = False
    sends: dict[Key, list[End]] = field(default_factory=dict)
    receives: dict[Key, list[End]] = field(default_factory=dict)

    @property
    def begin_of_day(self) -> int:
        return int(self.facts["begin_wall_ns"])

    @property
    def end_of_day(self) -> int:
        return self.begin_of_day + int(self.facts["total_s"] * 1e9)

    def lines(self) -> Iterator[str]:
        """Its events, one a line, without the comma behind it. An event that was cut off is left out."""
        with open_to_read(self.path) as file:
            next(file, None)
            for line in file:
                text = line.rstrip(",\n")
                if text.startswith(_BEGIN_OF_EVENT) and text.endswith("}") and line.endswith("\n"):
                    yield text
                elif text == "]}":
                    self.is_whole = True


def _nanoseconds(microseconds: str) -> int:
    """Of a number with three decimals, without rounding."""
    whole, _, decimals = microseconds.partition(".")
    value = abs(int(whole)) * 1000 + int(decimals.ljust(3, "0")[:3] or 0)
    return -value if whole.startswith("-") else value


def _microseconds(nanoseconds: int) -> str:
    sign, value = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    return f"{sign}{value // 1000}.{value % 1000:03}"


def shifted(line: str, later: int) -> str:
    """The event, so many nanoseconds later."""
    begin = line.index(_TIME) + len(_TIME)
    end = begin
    while line[end] in "-.0123456789":
        end += 1
    return line[:begin] + _microseconds(_nanoseconds(line[begin:end]) + later) + line[end:]


def arrow_line(phase: str, number: int, at: tuple[int, int, int], facts: dict[str, Any]) -> str:
    """One end of an arrow; `at`: process, track, nanoseconds."""
    process, track, time = at
    bound = ',"bp":"e"' if phase == "f" else ""
    return (
        f'{{"ph":"{phase}"{bound},"pid":{process},"ts":{_microseconds(time)},"tid":{track},"cat":"message","name":"message",'
        f'"id":"0x{number:x}","args":{json.dumps(facts)}}}'
    )


def _end_of(event: dict[str, Any], rank: int) -> tuple[Key, bool, End] | None:
    facts = event["args"]
    if "peer" not in facts:
        return None
    begin = _nanoseconds(str(event["ts"]))
    touches = None
    if "touches" in facts:
        # The threads of a rank are in the process two before that of its messages.
        touches = (event["pid"] - 2, facts["touches"]["tid"], begin + round(facts["touches"]["after_us"] * 1000))
    end = End(
        rank=rank,
        order=facts["order"],
        begin=begin,
        end=begin + round(event["dur"] * 1000),
        lane=(event["pid"], event["tid"]),
        touches=touches,
        task=facts["task_name"],
        is_taken="not_taken" not in facts,
    )
    sends = facts["direction"] == "send"
    sender, receiver = (rank, facts["peer"]) if sends else (facts["peer"], rank)
    return (facts["channel"], sender, receiver, facts["tag"]), sends, end


def _read(path: Path) -> Part | None:
    """None: nothing is in the file."""
    try:
        with open_to_read(path) as file:
            head = file.readline().rstrip(",\n")
        if not head:
            return None
        facts = json.loads(head + "}")["otherData"]
        if facts["producer"] != "dovetail" or not isinstance(facts["begin_wall_ns"], int):
            raise KeyError("producer")
        part = Part(path, facts["rank"], facts, facts["begin_ns"], facts["monotonic_clock"] or str(path))
        for line in part.lines():
            if '"cat":"message"' not in line:
                continue
            # Times are kept as they are written.
            found = _end_of(json.loads(line), part.rank)
            if found is not None:
                key, sends, end = found
                (part.sends if sends else part.receives).setdefault(key, []).append(end)
    except OSError as error:
        raise UnusableTrace(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise UnusableTrace(
            f"{path} was not written by a rank of Dovetail's: {type(error).__name__} {error}"
        ) from error
    for ends in (*part.sends.values(), *part.receives.values()):
        ends.sort(key=lambda end: end.order)
    return part


def read_parts(trace: Path) -> tuple[list[Part], list[str]]:
    """Of all ranks of the last run, in their order; and what is missing, as sentences. Raises UnusableTrace."""
    parts: dict[int, Part] = {}
    missing: list[str] = []
    found = sorted(
        int(ending)
        for path in trace.parent.glob("*")
        if path.name.startswith(trace.name + ".") and (ending := path.name.removeprefix(trace.name + ".")).isdecimal()
    )
    for rank in found:
        part = _read(trace.with_name(f"{trace.name}.{rank}"))
        if part is not None:
            parts[rank] = part
    if not parts:
        raise UnusableTrace(
            f"there is no {trace}.0 or other part of {trace}: the ranks write them when DOVETAIL_TRACE={trace} is set for all"
        )
    newest = max(parts.values(), key=lambda part: part.begin_of_day)
    size = newest.facts["ranks"]
    for rank in range(size):
        part = parts.get(rank)
        if part is None:
            missing.append(f"rank {rank} has written no trace: it has died, made no runtime, or still runs")
        elif part.end_of_day + _ANOTHER_CLOCK_OF_DAY * (part.clock != newest.clock) < newest.begin_of_day:
            missing.append(f"rank {rank} has written no trace: {part.path} is of an earlier run")
            del parts[rank]
        elif not part.is_whole:
            missing.append(f"rank {rank} has not written its trace to the end: {part.path} is shown as far as it goes")
    return [parts[rank] for rank in sorted(parts) if rank < size], missing
