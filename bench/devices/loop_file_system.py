"""A mounted ext4 file system over a loop device. Its end removes both, whatever happened in between.

Not thread safe: one object belongs to one thread. Must run as root.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

from device_unavailable import DeviceUnavailable
from throttle import clear_throttle

REGISTRY = Path("/run/lock/dovetail-devices")


def run(*command: str) -> str:
    """Run a tool and return its standard output; a failure raises RuntimeError with what the tool said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise DeviceUnavailable(f"{command[0]} is not installed (packages util-linux, e2fsprogs)") from error
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout.strip()


def _unmount(mount_point: Path) -> None:
    """Unmount, lazily if something still has files open there: the loop device then goes with the last of them."""
    if not os.path.ismount(mount_point):
        return
    try:
        run("umount", str(mount_point))
    except RuntimeError:
        run("umount", "--lazy", str(mount_point))


def _undo(record: dict) -> None:
    """Take down what a record of the registry describes, however far its making had come."""
    if record.get("throttled"):
        clear_throttle(record["throttled"])
    folder = Path(record["folder"])
    _unmount(folder / "mount")
    device = record.get("device")
    if device and record.get("attached"):
        with contextlib.suppress(RuntimeError):
            run("losetup", "--detach", device)
    shutil.rmtree(folder, ignore_errors=True)


class _Record:
    """One file of the registry. Its lock lives as long as the owner, so an unlocked file is one whose owner died."""

    def __init__(self) -> None:
        REGISTRY.mkdir(parents=True, exist_ok=True)
        while True:
            descriptor, name = tempfile.mkstemp(prefix="device-", suffix=".json", dir=REGISTRY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # Another process may have taken the file for a dead one's between the two calls.
            if os.fstat(descriptor).st_nlink > 0:
                break
            os.close(descriptor)
        self._descriptor, self._path, self.content = descriptor, Path(name), {}

    def update(self, **changes: object) -> None:
        self.content.update(changes)
        text = json.dumps(self.content).encode()
        os.pwrite(self._descriptor, text, 0)
        os.ftruncate(self._descriptor, len(text))

    def close(self) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


def remove_leftovers() -> list[str]:
    """Take down devices whose owner was killed before it could. Returns a line for each."""
    removed = []
    for path in sorted(REGISTRY.glob("device-*.json")):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink == 0:
                continue
            text = os.pread(descriptor, 65536, 0)
            if text:
                record = json.loads(text)
                _undo(record)
                removed.append(f"{record.get('device', 'no device yet')} at {record['folder']}/mount")
            path.unlink(missing_ok=True)
        except BlockingIOError:
            continue
        finally:
            os.close(descriptor)
    return removed


class LoopFileSystem:
    """Context manager: an ext4 file system of `size_mb` MiB in a sparse file in `directory` (default: the temporary one).

    `path` is the mount point, `device` the loop device, `device_number` its "major:minor". `direct_io` says whether the loop device bypasses
    the page cache of the file system below. While it exists, SIGTERM and SIGHUP become SystemExit (in the main thread, where they had no
    handler), so that a terminated program cleans up. The next disk removes what a killed program left behind. Entering it again while it exists
    changes nothing.
    """

    mkfs_options: tuple[str, ...] = ()

    def __init__(self, size_mb: int, directory: str | os.PathLike | None = None) -> None:
        if size_mb < 1:
            raise ValueError(f"size_mb is {size_mb}: a file system needs at least 1 MiB")
        self._size = int(size_mb) << 20
        self._directory = directory
        self._record: _Record | None = None
        self._old_handlers: dict[int, object] = {}
        self.path = Path()
        self.device = self.device_number = ""
        self.direct_io = False

    def __enter__(self):
        if self._record is not None:
            return self
        if os.geteuid() != 0:
            raise DeviceUnavailable("not root: loop devices and mounts need it")
        if not os.path.exists("/dev/loop-control"):
            raise DeviceUnavailable("/dev/loop-control is missing: the kernel has no loop devices (modprobe loop)")
        remove_leftovers()
        self._catch_signals()
        try:
            self._make()
            self.path.chmod(0o1777)
            self.prepare()
        except DeviceUnavailable:
            self.close()
            raise
        except (RuntimeError, OSError) as error:
            self.close()
            raise DeviceUnavailable(str(error)) from error
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def prepare(self) -> None:
        """For derived classes: what is to be done once the file system is mounted."""

    def _make(self) -> None:
        self._record = _Record()
        folder = Path(tempfile.mkdtemp(prefix="dovetail-device-", dir=self._directory))
        self._record.update(folder=str(folder))
        folder.chmod(0o755)
        backing = folder / "backing"
        with backing.open("xb") as file:
            file.truncate(self._size)
        self.device = run("losetup", "--find", "--show", str(backing))
        self._record.update(device=self.device, attached=True)
        try:
            run("losetup", "--direct-io=on", self.device)
            self.direct_io = True
        except RuntimeError:
            self.direct_io = False  # tmpfs, for one, may refuse; the device works all the same
        numbers = os.stat(self.device).st_rdev
        self.device_number = f"{os.major(numbers)}:{os.minor(numbers)}"
        run(
            "mkfs.ext4",
            "-q",
            "-m",
            "0",
            "-E",
            "lazy_itable_init=0,lazy_journal_init=0",
            *self.mkfs_options,
            self.device,
        )
        self.path = folder / "mount"
        self.path.mkdir()
        run("mount", "-o", "noatime", self.device, str(self.path))
        # From here on the kernel detaches the device and frees the file with the last user, also after a lazy unmount.
        run("losetup", "--detach", self.device)
        self._record.update(attached=False)
        backing.unlink()

    def close(self) -> None:
        """Take everything down; idempotent. Files still open there keep the device alive until they are closed."""
        if self._record is None:
            return
        # A second Ctrl-C must not cut the clean-up short.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
        try:
            if "folder" in self._record.content:
                _undo(self._record.content)
            self._record.close()
            self._record = None
        finally:
            for number, handler in self._old_handlers.items():
                signal.signal(number, handler)
            self._old_handlers.clear()
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def _catch_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                self._old_handlers[number] = signal.signal(number, _exit_on_signal)


def _exit_on_signal(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def run_command_on(variable: str, path: Path, command: list[str]) -> int:
    """Run `command` with the environment variable set to the path; its exit status, 128 + n if signal n ended it."""
    try:
        child = subprocess.Popen(command, env={**os.environ, variable: str(path)})
    except OSError as error:
        print(f"{command[0]}: {error.strerror}")
        return 127
    try:
        status = child.wait()
    except BaseException:
        child.terminate()
        try:
            child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        raise
    return status if status >= 0 else 128 - status
