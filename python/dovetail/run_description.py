"""What is known of a run of a program that is read ahead for, for `dovetail prefetch status`: texts with a zero byte between them, which no word and no path has."""

from __future__ import annotations

import os

from .record import Record

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from pathlib import Path

DESCRIPTION = "dovetail-run"
_YES = "yes"


class Description(Record):
    """`words`: how the program was called. `plan`: the path of its plan; `files`: of those that the plan's memory is about, in their order. `system`: its reads are seen by the
    kernel's events. `advised`: its rules are the advisor's."""

    __slots__ = ("advised", "files", "plan", "system", "words")

    def __init__(
        self, words: list[str], plan: str | Path | None, files: list[str], system: bool, advised: bool
    ) -> None:
        self.words = words
        self.plan = None if plan is None else os.path.abspath(plan)
        self.files = files
        self.system = system
        self.advised = advised

    def packed(self) -> bytes:
        flags = (_YES if flag else "" for flag in (self.system, self.advised))
        texts = (*flags, self.plan or "", str(len(self.words)), *self.words, *self.files)
        return b"\0".join(map(os.fsencode, texts))


def unpacked(content: bytes) -> Description:
    """Raises ValueError if it is none."""
    system, advised, plan, count, *texts = map(os.fsdecode, content.split(b"\0"))
    if not count.isascii() or not 0 < int(count) <= len(texts):
        raise ValueError("it is no description of a run")
    return Description(texts[: int(count)], plan or None, texts[int(count) :], system == _YES, advised == _YES)
