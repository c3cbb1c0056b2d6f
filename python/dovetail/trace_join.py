"""One trace out of those of all ranks: their clocks aligned, their messages as arrows."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .plain_file import open_to_write
from .trace_clocks import Offset, offsets_of
from .trace_parts import End, Key, Part, UnusableTrace, arrow_line, read_parts, shifted


@dataclass
class Arrow:
    """A message, from the task that sends it to the task that receives it."""

    key: Key
    sent: End
    received: End


@dataclass
class Joined:
    """What a joined trace has. `missing`: what it has not, as sentences."""

    ranks: list[int]
    arrows: int
    missing: list[str]
    clocks: list[dict[str, Any]] = field(default_factory=list)


def match(parts: list[Part]) -> tuple[list[Arrow], list[str]]:
    """Both ends of each message. Between two ranks, the messages of one channel and tag are received in the order of their sending. Where the
    ranks have recorded different numbers of them, which is which is not known; but the last ones are alike where the oldest were lost. Nothing is
    said of ranks whose traces are not whole."""
    arrows: list[Arrow] = []
    unclear: dict[Key, tuple[int, int]] = {}
    by_rank = {part.rank: part for part in parts}
    for part in parts:
        for key, sent in part.sends.items():
            other = by_rank.get(key[2])
            if other is None or not (part.is_whole and other.is_whole):
                continue
            received = other.receives.get(key, [])
            if len(sent) != len(received):
                if part.facts["lost_events"] == 0 and other.facts["lost_events"] == 0:
                    unclear[key] = (len(sent), len(received))
                    continue
                count = min(len(sent), len(received))
                sent, received = sent[len(sent) - count :], received[len(received) - count :]
            arrows += [Arrow(key, *ends) for ends in zip(sent, received, strict=True) if ends[1].is_taken]
        for key, received in part.receives.items():
            other = by_rank.get(key[1])
            if other is not None and part.is_whole and other.is_whole and key not in other.sends:
                unclear[key] = (0, len(received))
    missing = []
    for (channel, sender, receiver, tag), (sends, receives) in sorted(unclear.items())[:5]:
        missing.append(
            f"no arrows from rank {sender} to rank {receiver} with tag {tag} ({channel}): tasks have sent {sends} messages and received {receives}; "
            "were others sent or received outside of tasks, or started by the program itself?"
        )
    if len(unclear) > 5:
        missing.append(f"no arrows for {len(unclear) - 5} other pairs of ranks and tags, for the same reason")
    return arrows, missing


def align(parts: list[Part], arrows: list[Arrow]) -> dict[str, Offset]:
    """How much the monotonic clock of each machine is ahead of the first part's."""
    clock = {part.rank: part.clock for part in parts}
    begin = {part.rank: part.begin for part in parts}
    clocks = list(dict.fromkeys(part.clock for part in parts))
    least: dict[tuple[str, str], float] = {}
    for arrow in arrows:
        pair = clock[arrow.sent.rank], clock[arrow.received.rank]
        if pair[0] != pair[1]:
            passed = begin[arrow.received.rank] + arrow.received.end - begin[arrow.sent.rank] - arrow.sent.begin
            least[pair] = min(least.get(pair, math.inf), passed)
    guess = {part.clock: float(part.begin - part.begin_of_day) for part in reversed(parts)}
    return offsets_of(clocks, least, guess)


def _clocks(parts: list[Part], offsets: dict[str, Offset]) -> list[dict[str, Any]]:
    """What is said of each machine's clock."""
    told: list[dict[str, Any]] = []
    for clock, offset in offsets.items():
        by = "messages" if math.isfinite(offset.error) else "clock of the day"
        told.append(
            {
                "clock": clock,
                "ranks": [part.rank for part in parts if part.clock == clock],
                "ahead_us": round(offset.ahead / 1000, 3),
                "error_us": round(offset.error / 1000, 3) if math.isfinite(offset.error) else None,
                "drift_us": round(offset.slack / 1000, 3),
                "aligned_by": by if told else "is the first",
            }
        )
    return told


def _place(end: End, is_sent: bool) -> tuple[int, int, int]:
    """Process, track and time, as seen from the end's own rank."""
    if end.touches is not None:
        return end.touches
    # Within what shows the message, and so not at its very end.
    return *end.lane, end.begin if is_sent else max(end.begin, end.end - 1)


def join(trace: Path, output: Path | None = None) -> Joined:
    """Writes the parts `trace.0`, `trace.1`, ... as one file, `trace` if not said otherwise. Raises UnusableTrace."""
    parts, missing = read_parts(trace)
    arrows, unclear = match(parts)
    offsets = align(parts, arrows)
    begins = {part.rank: part.begin - round(offsets[part.clock].ahead) for part in parts}
    zero = min(begins.values())
    later = {rank: begin - zero for rank, begin in begins.items()}
    joined = Joined([part.rank for part in parts], len(arrows), missing + unclear, _clocks(parts, offsets))
    facts = {
        "producer": "dovetail",
        "ranks": [part.facts for part in parts],
        "clocks": joined.clocks,
        "arrows": joined.arrows,
        "missing": joined.missing,
    }
    target = output or trace
    try:
        with open_to_write(target) as file:
            file.write(f'{{"displayTimeUnit":"ns","otherData":{json.dumps(facts)},\n"traceEvents":[')
            comma = "\n"
            for part in parts:
                for line in part.lines():
                    file.write(comma + shifted(line, later[part.rank]))
                    comma = ",\n"
            for number, arrow in enumerate(arrows, 1):
                channel, sender, receiver, tag = arrow.key
                told = {"channel": channel, "from": sender, "to": receiver, "tag": tag}
                told |= {"from_task": arrow.sent.task, "to_task": arrow.received.task}
                for phase, end in (("s", arrow.sent), ("f", arrow.received)):
                    process, track, time = _place(end, phase == "s")
                    file.write(comma + arrow_line(phase, number, (process, track, time + later[end.rank]), told))
            file.write("\n]}\n")
    except OSError as error:
        raise UnusableTrace(f"cannot write {target}: {error.strerror}") from error
    except ValueError as error:
        raise UnusableTrace(f"a part of {trace} is not as Dovetail writes it: {error}") from error
    return joined
