"""Runs a program with a library of Dovetail before it, `libdovetail-prefetch.so` if no other is named, as if it had been started without."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import signal
import stat
import struct
import sys

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
    from pathlib import Path
    from typing import Any, NoReturn

LIBRARY = "libdovetail-prefetch.so"
LIBRARIES = ("lib", "lib64", f"lib/{os.uname().machine}-linux-gnu")
_ELF = b"\x7fELF"


class Refused(Exception):
    """Nothing was started; the message says why."""


def _above(path: str, folders: int) -> str:
    for _ in range(folders):
        path = os.path.dirname(path)
    return path


# In the tree of a build this package is made of links to its sources, so that it lies in two places.
_HERE = os.path.abspath(__file__)
_TREE = _above(_HERE, 3)


def prefixes() -> Iterator[str]:
    """Where the library may be installed: with this package, beside it, with the interpreter, or by `make install`."""
    yield _above(os.path.realpath(__file__), 1)
    from importlib.util import find_spec

    core = find_spec(f"{__package__}._core")
    if core is not None and core.origin is not None:
        yield _above(os.path.realpath(core.origin), 3)
    yield from (sys.prefix, sys.base_prefix, "/usr/local", "/usr")


def on_path(name: str) -> str | None:
    """The program that a shell would run."""
    places = (os.path.join(folder, name) for folder in os.get_exec_path())
    return next((place for place in places if os.path.isfile(place) and os.access(place, os.X_OK)), None)


def program(name: str) -> str | None:
    """An installed program of Dovetail: with this package, in the tree of a build, or on the path."""
    build = os.environ.get("DOVETAIL_BUILD_DIR")
    for folder in (*([build] if build else []), *_tree_then_prefixes()):
        if os.path.isfile(f"{folder}/bin/{name}"):
            return f"{folder}/bin/{name}"
    return on_path(name)


def library(name: str = LIBRARY) -> str:
    """A library that is loaded before programs. Raises Refused."""
    for prefix in _tree_then_prefixes():
        for folder in LIBRARIES:
            file = f"{prefix}/{folder}/{name}"
            if os.path.exists(file):
                if any(character in file for character in " :"):
                    raise Refused(f"{file} cannot be preloaded, since its path has a space or a colon in it")
                return file
    raise Refused(f"{name} is not installed beside {_above(_HERE, 1)}")


def _tree_then_prefixes() -> Iterator[str]:
    yield _TREE
    yield from prefixes()


NOTHING_BESIDE: contextlib.AbstractContextManager[None] = contextlib.nullcontext()


def interpreter_of(path: str | Path) -> str | None:
    """What the first line of a script asks for (`#!`); None if there is no such line."""
    with open(path, "rb") as file:
        line = file.readline(4096)
    return os.fsdecode(line[2:]).strip() if line.startswith(b"#!") else None


def is_binary(path: str | Path) -> bool:
    """Whether this is a program that the system runs itself."""
    with open(path, "rb") as file:
        return file.read(4) == _ELF


def is_linked_statically(path: str | Path) -> bool:
    """Whether a program loads no library at all, and so none before it. Of a program of 64 bits; False of others."""
    with open(path, "rb") as file:
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
    consequence = "nothing can be loaded before it, and its reads are not seen"
    with contextlib.suppress(OSError):
        status = os.stat(program)
        if not stat.S_ISREG(status.st_mode) or not is_binary(program):
            return None
        of_another_user = status.st_mode & stat.S_ISUID and status.st_uid != os.geteuid()
        of_another_group = status.st_mode & stat.S_ISGID and status.st_gid != os.getegid()
        if of_another_user or of_another_group:
            return f"{program} runs with the rights of another user: {consequence}"
        if is_linked_statically(program):
            return f"{program} is linked statically: {consequence}"
    return None


def preloaded(environment: MutableMapping[str, str]) -> list[str]:
    return environment.get("LD_PRELOAD", "").replace(":", " ").split()


def find(program: str) -> str:
    """As a shell does: a name with a slash is a file, and nothing else. Raises Refused."""
    found = program if "/" in program else on_path(program)
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
    with open("/proc/self/status", "rb") as file:
        found = [line.split()[1] for line in file if line.startswith(b"Seccomp_filters:")]
    return int(found[0]) if found else 0


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
    started = ended = False
    child = 0
    early: list[int] = []

    def pass_on(number: int, _: Any) -> None:
        if not started:
            early.append(number)
        elif not ended:
            os.kill(child, number)

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
        try:
            child = _start(command(words), environment, first, before)
        except OSError as error:
            raise Refused(f"{words[0]}: {error.strerror}") from error
        started = True
        for told in early:
            os.kill(child, told)
        with beside:
            # The kernel gives the number to no other process before `waitpid` below.
            os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
            ended = True
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        for number, old in before.items():
            signal.signal(number, old)


# What the interpreter ignores, and a program does not expect to be ignored.
_IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)


def _start(
    words: list[str], environment: Mapping[str, str], first: Callable[[], None] | None, caught: Iterable[int]
) -> int:
    """Starts a program, and returns the number of its process. `caught`: signals that are handled here; until the program is there, one of them ends what waits to become it. Raises
    OSError if it cannot be started."""
    if first is None:
        return os.posix_spawn(words[0], words, environment, setsigdef=_IGNORED)
    ours, theirs = os.pipe()  # on which the errno comes, if the program cannot be started
    child = os.fork()
    if child == 0:
        try:
            for number in (*_IGNORED, *caught):
                signal.signal(number, signal.SIG_DFL)
            first()
            os.execve(words[0], words, environment)
        except OSError as error:
            os.write(theirs, struct.pack("=i", error.errno or 0))
        finally:
            os._exit(127)
    os.close(theirs)
    told = os.read(ours, 4)
    os.close(ours)
    if told:
        os.waitpid(child, 0)
        (number,) = struct.unpack("=i", told)
        raise OSError(number, os.strerror(number))
    return child


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
