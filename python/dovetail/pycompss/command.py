"""Programs as bodies of tasks: the words of their command, their standard streams, their exit value, their end when a group is cancelled."""

from __future__ import annotations

import glob
import inspect
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from ..directions import OUT
from .options import truth
from .parameter import Parameter
from .tracking import Group, groups_of_task

_NAMED = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_FILLED = re.compile(_NAMED.pattern + r"|\$(?:(\w+)|\{(\w+)\})")
_PATTERN = re.compile(r"[*?\[]")
_GRACE_SECONDS = 3.0  # that a program has to end when it is told to


class CommandFailed(RuntimeError):
    """A program has ended with an exit value that is not 0."""


class Call:
    """The arguments of one call of a task, as a program sees them."""

    def __init__(
        self,
        name: str,
        signature: inspect.Signature,
        parameters: Mapping[str, Parameter],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        units: int = 1,
        seconds: float = 0,
    ) -> None:
        self.name = name
        self.units = units
        self.seconds = seconds
        self._signature = signature
        self._parameters = parameters
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        self.arguments = bound.arguments
        self._bound = bound

    def positional(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as the function takes them."""
        return self._bound.args, self._bound.kwargs

    def paths(self) -> list[str]:
        """All files and folders of the call, as absolute paths."""
        given = [name for name in self.arguments if name in self._parameters and self._parameters[name].is_path]
        return [path for name in given for path in self._texts(name, self.arguments[name])]

    def path_of(self, name: str) -> str | None:
        """The path, if that argument is the one of a file or folder."""
        parameter = self._parameters.get(name)
        return os.path.abspath(self.arguments[name]) if parameter is not None and parameter.is_path else None

    def refuse_time_out(self, what: str) -> None:
        """For what cannot be interrupted."""
        if self.seconds:
            raise ValueError(f"task '{self.name}': time_out together with {what} is not covered by Dovetail")

    def words(self) -> list[str]:
        """All arguments in their order, without those that are standard streams."""
        words: list[str] = []
        for name, value in self.arguments.items():
            parameter = self._parameters.get(name)
            if parameter is not None and parameter.channel >= 0:
                continue
            kind = self._signature.parameters[name].kind
            values = value if kind is inspect.Parameter.VAR_POSITIONAL else [value]
            values = value.values() if kind is inspect.Parameter.VAR_KEYWORD else values
            prefix = parameter.prefix if parameter is not None else ""
            words += [prefix + word for one in values for word in self._texts(name, one)]
        return words

    def _texts(self, name: str, value: Any) -> list[str]:
        parameter = self._parameters.get(name)
        if isinstance(value, list | tuple):
            return [text for item in value for text in self._texts(name, item)]
        if parameter is not None and parameter.is_path:
            return [os.path.abspath(value)]  # the program may run in another folder
        if parameter is not None and parameter.sort == "stream":
            return [str(value.base_dir)]
        return [str(value)]

    def filled(self, text: str) -> str:
        """The text with variables of the environment, and arguments in the place of `{{name}}`. Neither is looked at again."""

        def value(match: re.Match[str]) -> str:
            if match[1] is None:
                return os.environ.get(match[2] or match[3], match[0])
            if match[1] not in self.arguments:
                raise ValueError(f"task '{self.name}' has no parameter '{match[1]}', which '{text}' names")
            return " ".join(self._texts(match[1], self.arguments[match[1]]))

        return _FILLED.sub(value, text)

    def split(self, text: str, folder: Path) -> list[str]:
        """The words of a line, by the quotes and blanks of a shell: what is filled in stays in its word, patterns name the files that there are."""
        words: list[str] = []
        for word in shlex.split(_NAMED.sub(r"{{\1}}", text)):
            pattern = "" if "{{" in word else os.path.expandvars(word)
            found = sorted(glob.glob(pattern, root_dir=folder)) if _PATTERN.search(pattern) else []
            words += found or [self.filled(word)]
        return words

    def folder(self, text: str) -> Path:
        """The folder to work in, which is made if need be."""
        folder = Path(self.filled(text) if text else ".").absolute()
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def streams(self) -> Iterator[tuple[int, str, str]]:
        """Which file is which standard stream, and how it is opened."""
        for name, parameter in self._parameters.items():
            if parameter.channel >= 0 and self.arguments.get(name) is not None:
                mode = "rb" if parameter.channel == 0 else ("wb" if parameter.direction == OUT else "ab")
                yield parameter.channel, os.path.abspath(self.arguments[name]), mode

    def integer(self, value: Any, what: str, names: Mapping[str, Any]) -> int:
        """A number, or a text that names a variable of the environment, a global name or a parameter."""
        text = self.filled(str(value)).strip()
        if re.fullmatch(r"[A-Za-z_]\w*", text):
            text = str(self.arguments.get(text, names.get(text, os.environ.get(text, text))))
        try:
            number = int(text)
        except ValueError:
            number = 0
        if number < 1:
            raise ValueError(f"task '{self.name}': {what} must be a whole number above 0, not {value!r}")
        return number

    def run(
        self,
        words: list[str],
        folder: Path,
        fails: bool,
        redirects: bool = True,
        environment: Mapping[str, str] | None = None,
    ) -> int:
        """Runs a command to its end, and returns its exit value. With `fails`, one that is not 0 raises CommandFailed.

        redirects: the standard streams are the files that the parameters name. environment: variables beside those of the program.
        """
        with ExitStack() as stack:
            streams = self.streams() if redirects else ()
            files = {channel: stack.enter_context(open(path, mode)) for channel, path, mode in streams}
            process = stack.enter_context(
                subprocess.Popen(
                    words,
                    cwd=folder,
                    stdin=files.get(0, subprocess.DEVNULL),
                    stdout=files.get(1),
                    stderr=files.get(2),
                    env={**os.environ, **(environment or {})},
                    process_group=0,
                )
            )
            status = _waited(process, groups_of_task(), self.seconds or None)
        if fails and status != 0:
            raise CommandFailed(f"task '{self.name}': {shlex.join(words)} ended with {status}")
        return status


class _End:
    """Ends a program and all that it has started in its process group: they get SIGTERM, and what is left then SIGKILL. From any thread."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._over = False  # the number of the process may be that of another

    def begin(self) -> None:
        """Tells it to end."""
        with self._lock:
            if self._over or self._timer is not None:
                return
            self._send(signal.SIGTERM)
            self._timer = threading.Timer(_GRACE_SECONDS, self._send, [signal.SIGKILL])
            self._timer.daemon = True
            self._timer.start()

    def finish(self, kill: bool = False) -> None:
        """The program has ended, or has to. Nothing is left of one that was told to end."""
        with self._lock:
            self._over = True
            if self._timer is not None:
                self._timer.cancel()
            if self._timer is not None or kill:
                self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _waited(process: subprocess.Popen[bytes], groups: tuple[Group, ...], seconds: float | None) -> int:
    """Waits. When a group is cancelled its programs are told to end."""
    end = _End(process)
    for group in groups:
        group.call_on_cancel(end.begin)
    killed = True  # unless it ends by itself: the task is interrupted
    try:
        status = process.wait(seconds)
        killed = False
        return status
    except subprocess.TimeoutExpired:
        end.begin()
        process.wait()
        raise TimeoutError(f"{process.args[0]!r} took longer than the time_out of {seconds:g} s") from None  # type: ignore[index]
    finally:
        for group in groups:
            group.forget_call(end.begin)
        end.finish(killed)


def needed(program: str, decorator: str) -> str:
    """The path of a program that a decorator needs. Raises FileNotFoundError that names both."""
    found = shutil.which(program)
    if found is None:
        raise FileNotFoundError(f"{decorator} needs '{program}', which is not installed here")
    return found


class Line:
    """A command of a decorator: a program, its arguments as a line (without it, those of the task), a folder.

    redirects: its standard streams are the files that the parameters name.
    """

    def __init__(self, decorator: str, options: dict[str, Any], redirects: bool = True) -> None:
        self.decorator = decorator
        self.redirects = redirects
        self.binary = str(options["binary"])
        self.args: str | None = options.get("args", options.get("params"))
        self.working_dir = str(options.get("working_dir", ""))
        self.fails = truth(options.get("fail_by_exit_value", True))

    def words(self, call: Call, folder: Path) -> list[str]:
        rest = call.words() if self.args is None else call.split(self.args, folder)
        return [call.filled(self.binary), *rest]

    def __call__(self, call: Call) -> int:
        folder = call.folder(self.working_dir)
        return call.run(self.words(call, folder), folder, self.fails, self.redirects)


# What performs a task in the place of its function.
Program = Callable[[Call], Any]
