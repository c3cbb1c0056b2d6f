"""The command `dovetail observe`: its options."""

from __future__ import annotations

from .command_groups import AS_THEY_ARE
from .command_line import Command, Option

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from typing import NoReturn


def _call(words: list[str], output: str, system: bool) -> NoReturn:
    from . import observe, preload

    preload.end_as(observe.observe(words, output, system))


COMMAND = Command(
    "observe",
    _call,
    (
        Option("--output", "The plan, which `dovetail run --plan` follows.", default="plan.json", metavar="PATH"),
        Option(
            "--system",
            "By the kernel's events (eBPF), which also see programs that no library can be loaded into.",
            bool,
        ),
    ),
    AS_THEY_ARE,
    "Runs a program and writes down what it reads: dovetail observe --output plan.json -- program ARGUMENTS...",
)
