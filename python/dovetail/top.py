"""`dovetail top`: what the programs with tasks do that run now."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from .live_state import name_of, peer_of

_NOTHING = 2
_SECONDS = 2.0  # that a program may take for an answer
_NAME = re.compile(r"@dovetail-program-(\d+)-(\d+)$", re.MULTILINE)
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Use:
    """Of the machine, so far: processor time in seconds, memory in bytes, bytes from and to storage."""

    seconds: float = 0.0
    memory: int = 0
    read: int = 0
    written: int = 0

    def __add__(self, other: Use) -> Use:
        return Use(
            self.seconds + other.seconds,
            self.memory + other.memory,
            self.read + other.read,
            self.written + other.written,
        )


@dataclass
class Look:
    """What a program said at one time, and the use of it with its worker processes. `at`: seconds of the monotonic clock. `state`: as `live_state` has it; None: it did not answer."""

    process: int
    at: float
    state: dict[str, Any] | None
    use: Use


@dataclass
class TaskType:
    """Numbers of one type of task: now, and of those that completed, in each second since the look before."""

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
    """What is shown of one, with its worker processes. `cores`: processor time in each second. `answers`: False of one that is stopped, or holds the interpreter."""

    process: int
    program: list[str]
    answers: bool
    seconds: float = 0.0
    workers: int = 0
    cores: float = 0.0
    memory: int = 0
    mb_read_per_second: float = 0.0
    mb_written_per_second: float = 0.0
    types: list[TaskType] = field(default_factory=list)
    devices: list[Device] = field(default_factory=list)


def processes() -> list[int]:
    """Those that can be asked: of this user; for root, of all users."""
    user = os.getuid()
    found = _NAME.findall(Path("/proc/net/unix").read_text(errors="replace"))
    return sorted({int(process) for owner, process in found if user in (0, int(owner))})


def look(process: int) -> Look | None:
    """None if there is no such process, or if another one answers in its name."""
    import socket  # takes long

    at = time.monotonic()
    try:
        owner = os.stat(f"/proc/{process}").st_uid
        use = _use(process)
    except (OSError, ValueError, IndexError):
        return None
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_SECONDS)
        try:
            connection.connect("\0" + name_of(owner, process))
            if peer_of(connection) != (process, owner):
                return None
            state = json.loads(_all_of(connection))
            for other in state["worker_processes"]:
                with contextlib.suppress(OSError, ValueError, IndexError):
                    use += _use(other)
            return Look(process, at, state, use)
        except TimeoutError:
            return Look(process, at, None, use)
        except (OSError, ValueError):
            return None


def _all_of(connection: Any) -> bytes:
    parts = []
    while part := connection.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def _use(process: int) -> Use:
    folder = Path(f"/proc/{process}")
    # The name of the program, in parentheses, may hold anything.
    numbers = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
    use = Use(seconds=(int(numbers[11]) + int(numbers[12])) / _TICKS, memory=int(numbers[21]) * _PAGE)
    with contextlib.suppress(OSError):  # another user's
        known = dict(line.split(": ") for line in (folder / "io").read_text().splitlines())
        use.read, use.written = int(known["read_bytes"]), int(known["write_bytes"])
    return use


def shown(now: Look, before: Look | None) -> Program:
    """What changed between two looks at one process, by the second."""
    if now.state is None:
        words = Path(f"/proc/{now.process}/cmdline")
        program: list[str] = []
        with contextlib.suppress(OSError):
            program = words.read_text(errors="replace").rstrip("\0").split("\0")
        return Program(now.process, program, answers=False, memory=now.use.memory)
    state = now.state
    old = before.state if before is not None and before.state is not None else state
    passed = max(now.at - before.at, 1e-9) if before is not None else 1.0
    use = before.use if before is not None else now.use
    completed = {(row["label"], row["kind"]): row["completed"] for row in old["types"]}
    types = [
        TaskType(
            row["label"],
            row["kind"],
            max(0, row["made"] - row["running"] - row["completed"]),
            row["running"],
            row["completed"],
            row["failed"],
            (row["completed"] - completed.get((row["label"], row["kind"]), 0)) / passed,
        )
        for row in state["types"]
        if row["made"]
    ]
    types.sort(key=lambda each: (-each.running, -each.completed_per_second, -each.waiting, each.label))
    moved = {device["name"]: device["bytes"] for device in old["admission"]["devices"]}
    devices = [
        Device(
            device["name"],
            device["running"],
            device["waiting"],
            (device["bytes"] - moved.get(device["name"], 0)) / passed / 1e6,
            device["read_mb_per_second"],
            device["write_mb_per_second"],
            [
                Share(
                    kind["label"],
                    kind["constraint"],
                    kind["learning"],
                    kind["current_mb_per_second"],
                    kind["at_once"],
                )
                for kind in device["types"]
            ],
        )
        for device in state["admission"]["devices"]
    ]
    return Program(
        now.process,
        state["program"],
        True,
        state["seconds"],
        state["workers"],
        (now.use.seconds - use.seconds) / passed,
        now.use.memory,
        (now.use.read - use.read) / passed / 1e6,
        (now.use.written - use.written) / passed / 1e6,
        types,
        devices,
    )


def _looks(chosen: int | None) -> dict[int, Look]:
    asked = [look(process) for process in (processes() if chosen is None else [chosen])]
    return {each.process: each for each in asked if each is not None}


def _programs(chosen: int | None, every: float) -> Iterator[list[Program]]:
    """What is to be shown, again and again, `every` so many seconds."""
    before = _looks(chosen)
    while True:
        time.sleep(every)
        now = _looks(chosen)
        yield [shown(each, before.get(process)) for process, each in sorted(now.items())]
        before = now


def _view(programs: list[Program], chosen: int | None) -> Any:
    from rich.console import Group
    from rich.text import Text

    if not programs:
        return Text(_none(chosen))
    parts: list[Any] = []
    for program in programs:
        parts += _lines(program)
    return Group(*parts)


def _lines(program: Program) -> Iterator[Any]:
    from rich.text import Text

    words = " ".join(word if word.isprintable() else ascii(word) for word in program.program)
    yield Text(f"{program.process}: {words}", style="bold", no_wrap=True, overflow="ellipsis")
    if not program.answers:
        yield Text("does not answer: it is stopped, or code that is not Python's holds the interpreter", style="red")
        return
    yield Text(
        f"{program.seconds:.0f} s, {program.cores:.2f} cores busy, {program.workers} workers, {program.memory / 1e6:.0f} MB, reads {program.mb_read_per_second:.1f} MB/s, "
        f"writes {program.mb_written_per_second:.1f} MB/s from and to storage"
    )
    yield from _tables(program)
    yield Text("")


def _tables(program: Program) -> Iterator[Any]:
    from rich.table import Table

    tasks = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("task", "runs as"):
        tasks.add_column(title, overflow="ellipsis", no_wrap=True)
    for title in ("waiting", "running", "completed", "failed", "completed/s"):
        tasks.add_column(title, justify="right")
    for each in program.types:
        numbers = (each.waiting, each.running, each.completed)
        failed = f"[red]{each.failed}[/red]" if each.failed else "0"
        tasks.add_row(_plain(each.label), each.kind, *map(str, numbers), failed, f"{each.completed_per_second:.1f}")
    yield tasks
    if not program.devices:
        return
    devices = Table(box=None, header_style="bold", pad_edge=False)
    devices.add_column("device", overflow="ellipsis", no_wrap=True)
    for title in ("waiting", "running", "MB/s", "reads at most", "writes at most"):
        devices.add_column(title, justify="right")
    shares = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("task with a share", "of device", "storage_bw"):
        shares.add_column(title, overflow="ellipsis", no_wrap=True)
    for title in ("MB/s each", "at once"):
        shares.add_column(title, justify="right")
    for device in program.devices:
        most = (f"{most:.0f}" if most else "-" for most in (device.most_read, device.most_write))
        devices.add_row(
            _plain(device.name), str(device.waiting), str(device.running), f"{device.mb_per_second:.1f}", *most
        )
        for share in device.shares:
            state = f"{share.constraint}{', still learning' if share.learning else ''}"
            rate = f"{share.mb_per_second:.1f}" if share.mb_per_second else "-"
            shares.add_row(_plain(share.label), _plain(device.name), state, rate, str(share.at_once))
    yield devices
    yield shares


def _plain(text: str) -> Any:
    """Nothing in it is markup, nor obeyed by a terminal."""
    from rich.text import Text

    return Text(text if text.isprintable() else ascii(text))


def _none(chosen: int | None) -> str:
    if chosen is None:
        return "no program with tasks of Dovetail in Python runs, or none of this user"
    return f"no program with tasks of Dovetail in Python has the process number {chosen}, or it is another user's"


def once(chosen: int | None, every: float, as_json: bool) -> int:
    """Prints what is seen between two looks. Returns the exit status: 2 if nothing runs that could be looked at."""
    programs = next(_programs(chosen, every))
    if as_json:
        print(json.dumps([asdict(program) for program in programs], indent=1))
    elif programs:
        from rich.console import Console

        Console(highlight=False).print(_view(programs, chosen))
    if not programs:
        print(f"dovetail top: {_none(chosen)}", file=sys.stderr)
        return _NOTHING
    return 0


def live(chosen: int | None, every: float) -> int:
    """Shows it until it is interrupted."""
    from rich.console import Console
    from rich.live import Live

    with (
        contextlib.suppress(KeyboardInterrupt),
        Live(console=Console(highlight=False), screen=True, auto_refresh=False) as screen,
    ):
        for programs in _programs(chosen, every):
            screen.update(_view(programs, chosen), refresh=True)
    return 0


def register(app: typer.Typer) -> None:
    @app.command(
        "top", help="Shows the programs that run now: their tasks by type, devices, and what is learned of them."
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
