"""Runs a program with a library of Dovetail before it, `libdovetail-prefetch.so` if no other is named, as if it had been started without."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

LIBRARY = "libdovetail-prefetch.so"
LIBRARIES = ("lib", "lib64", f"lib/{os.uname().machine}-linux-gnu")
_ELF = b"\x7fELF"


class Refused(Exception):
    """Nothing was started; the message says why."""


def prefixes() -> Iterator[Path]:
    """Where the library may be installed: with this package, beside it, with the interpreter, or by `make install`."""
    yield Path(__file__).resolve().parent
    core = find_spec(f"{__package__}._core")
    if core is not None and core.origin is not None:
        yield Path(core.origin).resolve().parents[2]
    yield from map(Path, (sys.prefix, sys.base_prefix, "/usr/local", "/usr"))


def program(name: str) -> str | None:
    """An installed program of Dovetail: with this package, in the tree of a build, or on the path."""
    # In the tree of a build this package is made of links to its sources.
    build = os.environ.get("DOVETAIL_BUILD_DIR")
    folders = [Path(__file__).absolute().parents[2], *([Path(build)] if build else []), *prefixes()]
    files = (folder / "bin" / name for folder in folders)
    return next((str(file) for file in files if file.is_file()), None) or shutil.which(name)


def library(name: str = LIBRARY) -> Path:
    """A library that is loaded before programs. Raises Refused."""
    # In the tree of a build this package is made of links to its sources.
    for prefix in (Path(__file__).absolute().parents[2], *prefixes()):
        for folder in LIBRARIES:
            file = prefix / folder / name
            if file.exists():
                if any(character in str(file) for character in " :"):
                    raise Refused(f"{file} cannot be preloaded, since its path has a space or a colon in it")
                return file
    raise Refused(f"{name} is not installed beside {Path(__file__).parent}")


NOTHING_BESIDE: contextlib.AbstractContextManager[None] = contextlib.nullcontext()


def interpreter_of(path: Path) -> str | None:
    """What the first line of a script asks for (`#!`); None if there is no such line."""
    with path.open("rb") as file:
        line = file.readline(4096)
    return os.fsdecode(line[2:]).strip() if line.startswith(b"#!") else None


def is_binary(path: Path) -> bool:
    """Whether this is a program that the system runs itself."""
    with path.open("rb") as file:
        return file.read(4) == _ELF


def is_linked_statically(path: Path) -> bool:
    """Whether a program loads no library at all, and so none before it. Of a program of 64 bits; False of others."""
    with path.open("rb") as file:
        header = file.read(64)
        if len(header) < 64 or header[:6] != _ELF + b"\x02\x01":
            return False
        (offset,) = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        file.seek(offset)
        table = file.read(size * count)
    program_interpreter = 3
    kinds = [struct.unpack_from("<I", table, size * number)[0] for number in range(len(table) // size)] if size else []
    return bool(kinds) and program_interpreter not in kinds


def why_unseen(program: str) -> str | None:
    """Why nothing can be loaded before this program, in a sentence. None: its file gives no reason, or cannot be read."""
    path = Path(program)
    consequence = "nothing can be loaded before it, and its reads are not seen"
    with contextlib.suppress(OSError):
        if not path.is_file() or not is_binary(path):
            return None
        status = path.stat()
        of_another_user = status.st_mode & stat.S_ISUID and status.st_uid != os.geteuid()
        of_another_group = status.st_mode & stat.S_ISGID and status.st_gid != os.getegid()
        if of_another_user or of_another_group:
            return f"{program} runs with the rights of another user: {consequence}"
        if is_linked_statically(path):
            return f"{program} is linked statically: {consequence}"
    return None


def preloaded(environment: MutableMapping[str, str]) -> list[str]:
    return environment.get("LD_PRELOAD", "").replace(":", " ").split()


def find(program: str) -> str:
    """As a shell does: a name with a slash is a file, and nothing else. Raises Refused."""
    found = program if "/" in program else shutil.which(program)
    if not program or found is None or not os.path.exists(found):
        raise Refused(f"{program or 'the empty name'}: there is no such program")
    if os.path.isdir(found):
        raise Refused(f"{program}: is a folder")
    return found


def command(words: list[str]) -> list[str]:
    """The command to start for these words: a file in Python that is not executable runs in this interpreter."""
    found = find(words[0])
    if found.endswith(".py") and not os.access(found, os.X_OK):
        return [sys.executable, found, *words[1:]]
    return [found, *words[1:]]


@contextlib.contextmanager
def shared_memory(name: str, content: bytes, size: int) -> Iterator[tuple[int, str]]:
    """Memory that programs of this user can map by a path while this process lives. No process can shorten it, so an access never
    ends a program that has it mapped. Nothing is left behind, however this process ends."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, size)
        written = 0
        while written < len(content):
            written += os.pwrite(descriptor, content[written : written + (1 << 20)], written)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        yield descriptor, f"/proc/{os.getpid()}/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _filters() -> int:
    found = re.search(r"^Seccomp_filters:\s*(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1]) if found else 0


def run(
    words: list[str],
    memories: Mapping[str, str],
    beside: contextlib.AbstractContextManager[None] = NOTHING_BESIDE,
) -> int:
    """Runs a program with the library loaded into it, and waits for its end. Returns its status as subprocess does: negative for a signal.

    `memories`: variables of the library, each with the path of the memory that it uses. `beside`: as for `wait_for`. Raises Refused if the program cannot
    be started."""
    environment = dict(os.environ)
    for other in (
        "DOVETAIL_PREFETCH_LOG",
        "DOVETAIL_PREFETCH_PLAN",
        "DOVETAIL_PREFETCH_ADVICE",
        "DOVETAIL_PREFETCH_DETECTION",
    ):
        environment.pop(other, None)
    environment.update(memories)
    environment["DOVETAIL_PREFETCH_FILTERS"] = str(_filters())
    environment["LD_PRELOAD"] = ":".join([str(library()), *preloaded(environment)])
    return wait_for(words, environment, beside=beside)


def wait_for(
    words: list[str],
    environment: Mapping[str, str],
    first: Callable[[], None] | None = None,
    beside: contextlib.AbstractContextManager[None] = NOTHING_BESIDE,
) -> int:
    """Runs a program with these variables, and waits for its end. Returns its status, negative for a signal. `first`: is called in the new process before it
    becomes the program. `beside`: is entered when the program has started, and left when it has ended. Raises Refused if the program cannot be started."""
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def pass_on(number: int, _: Any) -> None:
        if child is None:
            early.append(number)
        else:
            child.send_signal(number)

    def begin() -> None:
        # Until the program is there, a signal ends what waits to become it, as it would end the program.
        for caught in before:
            signal.signal(caught, signal.SIG_DFL)
        assert first is not None
        first()

    # A terminal sends these two to the program as well. One that is ignored stays ignored in both.
    handlers: dict[int, Any] = {
        signal.SIGINT: _nothing,
        signal.SIGQUIT: _nothing,
        signal.SIGTERM: pass_on,
        signal.SIGHUP: pass_on,
    }
    before: dict[int, Any] = {}
    for number, handler in handlers.items():
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, handler)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        preparation = begin if first is not None else None
        try:
            child = subprocess.Popen(command(words), env=environment, close_fds=False, preexec_fn=preparation)
        except OSError as error:
            raise Refused(f"{words[0]}: {error.strerror}") from error
        for told in early:
            child.send_signal(told)
        with beside:
            return child.wait()
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _nothing(_: int, __: Any) -> None:
    pass


def end_as(status: int) -> NoReturn:
    """Ends this process as the program has ended: by the same signal, where it was one."""
    sys.stdout.flush()
    sys.stderr.flush()
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
        status = 128 - status
    os._exit(status)
