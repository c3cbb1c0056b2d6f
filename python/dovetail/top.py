"""`dovetail top`: what the programs with tasks do that run now. Each answers at a socket (bindings/python/live_state.hpp)."""

from __future__ import annotations

import contextlib
import json
import os
import re
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from .command_groups import WITH_TASKS

_NOTHING = 2
_ANSWER_SECONDS = 2.0  # for all programs together
_LONGEST_ANSWER = 1 << 26
_NAME = re.compile(r"@(dovetail-program-(\d+)-(\d+))$", re.MULTILINE)
_PEER = struct.Struct("iII")  # process, user, group
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SILENT = "does not answer: it is stopped, or has no descriptor left"
_FOREIGN = "answers what this version of Dovetail does not understand"


@dataclass
class Use:
    """Of the machine by one process, so far: processor time in seconds, memory in bytes, bytes from and to storage."""

    seconds: float
    memory: int
    read: int = 0
    written: int = 0


@dataclass
class Look:
    """What a program said at one time. `at`: seconds of the monotonic clock. `answer`: empty of one that gave none. `uses`: by process, of it and of those that it started."""

    process: int
    at: float
    answer: bytes
    uses: dict[int, Use]


@dataclass
class TaskType:
    """Numbers of one type of task: now, and of those that completed, in each second since the look before. `failed`: of those completed; cancelled ones among them."""

    label: str
    kind: str
    waiting: int
    running: int
    completed: int
    failed: int
    completed_per_second: float


@dataclass
class Share:
    """Of a device, that a type of I/O task has: `constraint` as the program says it; `mb_per_second` of each task."""

    label: str
    constraint: str
    learning: bool
    mb_per_second: float
    at_once: int


@dataclass
class Device:
    """`most_read`, `most_write`: in 10^6 bytes each second; 0: not known."""

    name: str
    running: int
    waiting: int
    mb_per_second: float
    most_read: float
    most_write: float
    shares: list[Share]


@dataclass
class Program:
    """What is shown of one, with the processes that it started. `problem`: why nothing more is known, or empty. `cores`: processor time in each second."""

    process: int
    program: list[str]
    problem: str
    cores: float
    memory: int
    mb_read_per_second: float
    mb_written_per_second: float
    seconds: float = 0.0
    workers: int = 0
    types: list[TaskType] = field(default_factory=list)
    devices: list[Device] = field(default_factory=list)


def _names(chosen: int | None) -> dict[int, tuple[str, int]]:
    """The socket of each process that can be asked, and its user: those of this user; for root, of all."""
    own = os.getuid()
    found = {}
    for name, user, process in _NAME.findall(Path("/proc/net/unix").read_text(errors="replace")):
        if own in (0, int(user)) and chosen in (None, int(process)):
            found[int(process)] = name, int(user)
    return found


def look(chosen: int | None = None) -> dict[int, Look]:
    """At all programs, or one. What another process says in the name of one does not count."""
    import selectors  # these two take long
    import socket

    at = time.monotonic()
    uses = _uses()
    answers: dict[int, bytearray] = {}
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
        for process, (name, user) in _names(chosen).items():
            connection = stack.enter_context(socket.socket(socket.AF_UNIX))
            connection.setblocking(False)
            try:
                connection.connect("\0" + name)
                peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
                if _PEER.unpack(peer)[:2] == (process, user):
                    selector.register(connection, selectors.EVENT_READ, process)
                    answers[process] = bytearray()
            except BlockingIOError:  # it answers none: earlier questions still wait
                answers[process] = bytearray()
            except OSError:
                continue  # it has ended
        ended = set()
        while selector.get_map() and (left := at + _ANSWER_SECONDS - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                process, part = key.data, b""
                with contextlib.suppress(OSError):
                    part = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]
                answers[process] += part
                if not part or len(answers[process]) > _LONGEST_ANSWER:
                    selector.unregister(key.fileobj)
                    ended.add(process)
    return {
        process: Look(process, at, bytes(answer) if process in ended else b"", _family(process, uses))
        for process, answer in answers.items()
        if process in uses
    }


def _uses() -> dict[int, tuple[int, Use]]:
    """Of all processes: the one that started it, and what it uses."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name of the program, in parentheses, may hold anything.
            numbers = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            use = Use((int(numbers[11]) + int(numbers[12])) / _TICKS, int(numbers[21]) * _PAGE)
            found[int(folder.name)] = int(numbers[1]), use
    return found


def _family(process: int, uses: dict[int, tuple[int, Use]]) -> dict[int, Use]:
    family = {process}
    while more := {other for other, (parent, _) in uses.items() if parent in family} - family:
        family |= more
    for member in family:
        with contextlib.suppress(OSError, ValueError, KeyError):  # another user's, or one that has ended
            known = dict(line.split(": ") for line in Path(f"/proc/{member}/io").read_text().splitlines())
            uses[member][1].read, uses[member][1].written = int(known["read_bytes"]), int(known["write_bytes"])
    return {member: uses[member][1] for member in family}


def shown(now: Look, before: Look | None) -> Program:
    """What changed between two looks at one program, by the second."""
    passed = max(now.at - before.at, 1e-9) if before is not None else 1.0
    both = [(use, before.uses[process]) for process, use in now.uses.items() if before and process in before.uses]
    words: list[str] = []
    with contextlib.suppress(OSError):
        words = os.fsdecode(Path(f"/proc/{now.process}/cmdline").read_bytes()).removesuffix("\0").split("\0")
    program = Program(
        now.process,
        words,
        "",
        sum(use.seconds - old.seconds for use, old in both) / passed,
        sum(use.memory for use in now.uses.values()),
        sum(use.read - old.read for use, old in both) / passed / 1e6,
        sum(use.written - old.written for use, old in both) / passed / 1e6,
    )
    if not now.answer:
        program.problem = _SILENT
        return program
    try:
        state = json.loads(now.answer)
        old = json.loads(before.answer) if before is not None and before.answer else state
        if old["seconds"] > state["seconds"]:  # another process with the same number
            old = state
        program.seconds, program.workers = float(state["seconds"]), int(state["workers"])
        program.types = _types(state, old, passed)
        program.devices = _devices(state, old, passed)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        program.problem = _FOREIGN
    return program


def _types(state: dict[str, Any], old: dict[str, Any], passed: float) -> list[TaskType]:
    completed = {(row["label"], row["kind"]): row["completed"] for row in old["types"]}
    types = []
    for row in state["types"]:
        label, kind, running = str(row["label"]), str(row["kind"]), max(0, int(row["running"]))
        ended = row["completed"] - completed.get((label, kind), 0)
        waiting = max(0, int(row["made"] - running - row["completed"]))
        if row["made"]:
            types.append(
                TaskType(label, kind, waiting, running, int(row["completed"]), int(row["failed"]), ended / passed)
            )
    types.sort(key=lambda each: (-each.running, -each.completed_per_second, -each.waiting, each.label))
    return types


def _devices(state: dict[str, Any], old: dict[str, Any], passed: float) -> list[Device]:
    moved = {device["name"]: device["bytes"] for device in old["admission"]["devices"]}
    return [
        Device(
            str(device["name"]),
            int(device["running"]),
            int(device["waiting"]),
            (device["bytes"] - moved.get(device["name"], 0)) / passed / 1e6,
            float(device["read_mb_per_second"]),
            float(device["write_mb_per_second"]),
            [
                Share(
                    str(kind["label"]),
                    str(kind["constraint"]),
                    bool(kind["learning"]),
                    float(kind["current_mb_per_second"]),
                    int(kind["at_once"]),
                )
                for kind in device["types"]
            ],
        )
        for device in state["admission"]["devices"]
    ]


def programs(chosen: int | None, every: float) -> Iterator[list[Program]]:
    """What is to be shown, again and again, each time `every` seconds later."""
    before = look(chosen)
    while True:
        time.sleep(every)
        now = look(chosen)
        yield [shown(each, before.get(process)) for process, each in sorted(now.items())]
        before = now


def _view(seen: list[Program], chosen: int | None) -> Any:
    from rich.console import Group
    from rich.text import Text

    return Group(*(line for program in seen for line in _lines(program))) if seen else Text(_none(chosen))


def _lines(program: Program) -> Iterator[Any]:
    from rich.text import Text

    words = " ".join(map(_plain, program.program))
    yield Text(f"{program.process}: {words}", style="bold", no_wrap=True, overflow="crop")
    if program.problem:
        yield Text(program.problem, style="red")
        return
    yield Text(
        f"{program.seconds:.0f} s; {program.cores:.2f} cores busy; {program.workers} workers; {program.memory / 1e6:.0f} MB; "
        f"storage: {program.mb_read_per_second:.1f} MB/s read, {program.mb_written_per_second:.1f} MB/s written"
    )
    tasks = _table(["task"], ["runs as", "waiting", "running", "completed", "failed", "per second"])
    for each in program.types:
        numbers = (each.waiting, each.running, each.completed, each.failed)
        tasks.add_row(*_cells(each.label, each.kind, *numbers, f"{each.completed_per_second:.1f}"))
    devices = _table(["device"], ["waiting", "running", "MB/s", "reads at most", "writes at most"])
    shares = _table(["task with a share", "of device", "storage_bw"], ["MB/s each", "at once"])
    for device in program.devices:
        rates = (f"{rate:.0f}" if rate else "-" for rate in (device.most_read, device.most_write))
        devices.add_row(*_cells(device.name, device.waiting, device.running, f"{device.mb_per_second:.1f}", *rates))
        for share in device.shares:
            state = f"{share.constraint}{', still learning' if share.learning else ''}"
            rate = f"{share.mb_per_second:.1f}" if share.mb_per_second else "-"
            shares.add_row(*_cells(share.label, device.name, state, rate, share.at_once))
    yield from (table for table in (tasks, devices, shares) if table.row_count)
    yield Text("")


def _table(texts: list[str], numbers: list[str]) -> Any:
    """With columns of text, which get what room there is, before columns of numbers, which get what they need."""
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in texts:
        table.add_column(title, overflow="fold")
    for title in numbers:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _cells(*values: object) -> Iterator[Any]:
    """Nothing in them is markup, nor obeyed by a terminal."""
    from rich.text import Text

    for value in values:
        yield Text(_plain(str(value)))


def _plain(text: str) -> str:
    return text if text.isprintable() else ascii(text)[1:-1]


def _none(chosen: int | None) -> str:
    if chosen is None:
        return "no program that can be asked runs tasks of Dovetail in Python"
    return f"process {chosen} is no program that can be asked and runs tasks of Dovetail in Python"


def once(chosen: int | None, every: float, as_json: bool) -> int:
    """Prints what is seen between two looks. Returns the exit status: 2 if nothing runs that could be looked at."""
    seen = next(programs(chosen, every))
    if as_json:
        print(json.dumps([asdict(program) for program in seen], indent=1))
    elif seen:
        from rich.console import Console

        Console(highlight=False).print(_view(seen, chosen))
    if not seen:
        print(f"dovetail top: {_none(chosen)}", file=sys.stderr)
        return _NOTHING
    return 0


def live(chosen: int | None, every: float) -> int:
    """Shows it until it is interrupted."""
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False)
    with contextlib.suppress(KeyboardInterrupt), Live(console=console, screen=True, auto_refresh=False) as screen:
        for seen in programs(chosen, every):
            screen.update(_view(seen, chosen), refresh=True)
    return 0


def register(app: typer.Typer) -> None:
    @app.command(
        "top",
        rich_help_panel=WITH_TASKS,
        help="Shows the programs with tasks in Python that run now: tasks by type, devices, and what was learned of these. Status 2: there is none.",
    )
    def top_command(
        process: Annotated[
            int | None, typer.Argument(help="The process number of one program; else all are shown.")
        ] = None,
        every: Annotated[float, typer.Option(min=0.1, help="Seconds from one look to the next.")] = 1.0,
        is_once: Annotated[bool, typer.Option("--once", help="Once, as where there is no terminal.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Once, as JSON, for programs.")] = False,
    ) -> None:
        if is_once or as_json or not sys.stdout.isatty():
            sys.exit(once(process, every, as_json))
        sys.exit(live(process, every))
