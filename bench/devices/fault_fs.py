#!/usr/bin/env python3
"""A file system that fails on request: dovetail-fault-fs, mounted in a temporary folder.

    fault_fs.py --rule 'write error=EIO nth=3' -- COMMAND ...    run COMMAND with FAULT_FS=<mount point>

Exit status: COMMAND's; 77 if this machine cannot mount one; 2 for bad usage.
"""

from __future__ import annotations

import argparse
import errno
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from device_unavailable import DeviceUnavailable
from loop_file_system import run_command_on
from programs import find_program

NAME = "dovetail-fault-fs"


class FaultFsUnavailable(DeviceUnavailable):
    """No fault-injecting file system can be mounted here; the message says why."""


class FaultFs:
    """Context manager: `backing` (default: a new temporary folder) seen through rules that spoil it, at `path`.

    The rules are lines as README.md describes them. The mount does not outlive this process, even if it is killed.
    Entering it again while it is mounted changes nothing. Raises FaultFsUnavailable on entry where it cannot be mounted, ValueError for a bad rule.
    """

    def __init__(self, rules=(), backing=None, cached: bool = False, threads: int = 16, executable=None) -> None:
        self._rules = [rules] if isinstance(rules, str) else list(rules)
        self._given_backing = backing
        self._cached = cached
        self._threads = threads
        self._executable = executable
        self._process: subprocess.Popen | None = None
        self._errors = None
        self._folder: Path | None = None
        self.path = self.backing = Path()

    def __enter__(self):
        if self._process is not None:
            return self
        if not os.path.exists("/dev/fuse"):
            raise FaultFsUnavailable(
                "/dev/fuse is missing: the kernel has no FUSE (modprobe fuse), or a container hides it"
            )
        try:
            executable = str(self._executable or find_program(NAME))
        except DeviceUnavailable as error:
            raise FaultFsUnavailable(f"{error} (libfuse3-dev, version 3.12 or newer, was missing?)") from error
        self._folder = Path(tempfile.mkdtemp(prefix="dovetail-fault-fs-"))
        try:
            self.path = self._folder / "mount"
            self.path.mkdir()
            self.backing = Path(self._given_backing or self._folder / "backing")
            if not self._given_backing:
                self.backing.mkdir()
            self._mount(executable)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _mount_command(self, executable: str) -> list[str]:
        command = [executable, "--until-stdin-closes", "--threads", str(self._threads)]
        command += ["--cached"] if self._cached else []
        for rule in self._rules:
            command += ["--rule", rule]
        return command

    def _mount(self, executable: str) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed by close)
        self._process = subprocess.Popen(
            [*self._mount_command(executable), str(self.backing), str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # the caller handles Ctrl-C and then unmounts
        )
        if self._process.stdout.readline() == b"ready\n":
            return
        status = self._process.wait()
        message = self._said() or f"{NAME} ended with status {status}"
        if status == 2:
            raise ValueError(message)
        raise FaultFsUnavailable(message)

    def _said(self) -> str:
        self._errors.seek(0)
        return self._errors.read().strip()

    def _mount_is_left(self) -> bool:
        """Whether the mount outlived the process, which then ended before it could unmount."""
        try:
            self.path.stat()
        except OSError as error:
            return error.errno == errno.ENOTCONN
        return os.path.ismount(self.path)

    def close(self) -> None:
        """Unmount and remove the temporary folder; idempotent. Calls that still wait in the file system end with an error."""
        if self._process is not None:
            self._process.stdin.close()
            try:
                self._process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process.stdout.close()
            if self._process.returncode not in (0, 2):  # 2 was told by an exception
                print(f"{NAME} ended with status {self._process.returncode}: {self._said()}", file=sys.stderr)
            self._errors.close()
            self._process = None
        if self._folder is not None:
            if self._mount_is_left():
                subprocess.run(["fusermount3", "-u", "-z", str(self.path)], check=False)
            # Never into what may still be mounted: rmdir, not rmtree, for the mount point.
            if self.path.exists():
                self.path.rmdir()
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    @property
    def _control(self) -> Path:
        return self.path / ".faults"

    def _write(self, mode: int, text: str) -> None:
        descriptor = os.open(self._control, os.O_WRONLY | mode)
        try:
            if text:
                os.write(descriptor, text.encode())
        except OSError as error:
            raise ValueError(f"{NAME} refuses the rules {text!r}") from error
        finally:
            os.close(descriptor)

    def set_rules(self, *rules: str) -> None:
        """Replace all rules, counters begin at 0; calls that a rule held are let go."""
        self._write(os.O_TRUNC, "\n".join(rules))

    def add_rules(self, *rules: str) -> None:
        self._write(os.O_APPEND, "\n".join(rules))

    def release(self) -> None:
        """Let the held calls go; the rules stay."""
        self._write(0, "release\n")

    def wait_for_waiting(self, count: int) -> None:
        """Block until at least `count` calls are delayed or held at the same time."""
        self._write(0, f"wait {count}\n")

    def status(self) -> dict:
        """{"waiting", "most_waiting", "rules": [{"rule", "matched", "fired", "bytes"}]}"""
        result: dict = {"rules": []}
        for line in self._control.read_text().splitlines():
            rule, _, comment = line.partition("#")
            counters = {name: int(value) for name, value in (word.split("=") for word in comment.split())}
            if rule:
                result["rules"].append({"rule": rule.strip(), **counters})
            else:
                result.update(counters)
        return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rule", action="append", default=[], help="see README.md; repeat for more")
    parser.add_argument("--backing", help="the folder to show (default: a new one)")
    parser.add_argument("--cached", action="store_true", help="let the kernel cache files opened without O_DIRECT")
    parser.add_argument("command", nargs="+", metavar="-- COMMAND")
    arguments = parser.parse_args()
    try:
        with FaultFs(arguments.rule, arguments.backing, arguments.cached) as faults:
            return run_command_on("FAULT_FS", faults.path, arguments.command)
    except ValueError as error:
        parser.error(str(error))
    except DeviceUnavailable as error:
        print(error, file=sys.stderr)
        return 77
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
