"""A GlusterFS volume over a link of so many Mbit/s, mounted through FUSE. Its server runs in a network namespace of this machine.

Must run as root, once at a time. Not thread safe.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from device_unavailable import DeviceUnavailable

_NAMESPACE = "dovetail-gluster"
_OURS, _THEIRS = "dovetail-gl0", "dovetail-gl1"
_CLIENT, _SERVER = "10.77.20.1", "10.77.20.2"
_SECONDS = 30.0


def _run(*words: object) -> str:
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise DeviceUnavailable(f"{words[0]} is not installed (packages glusterfs-server, iproute2)") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise DeviceUnavailable(f"{' '.join(map(str, words))}: exit status {done.returncode}: {said}")
    return done.stdout


def _in_namespace(*words: object) -> str:
    return _run("ip", "netns", "exec", _NAMESPACE, *words)


class GlusterVolume:
    """Context manager. `path`: where it is mounted. `server`: the folder in which the server keeps the files. Raises DeviceUnavailable on entry."""

    def __init__(self, megabits_per_s: float, directory: str | None = None) -> None:
        self._rate = megabits_per_s
        self._directory = directory
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> GlusterVolume:
        with contextlib.ExitStack() as stack:
            folder = Path(tempfile.mkdtemp(prefix="dovetail-gluster-", dir=self._directory))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            self.path, self.server = folder / "mount", folder / "brick"
            for made in (self.path, self.server, folder / "work"):
                made.mkdir()
            self._connect(stack)
            self._serve(stack, folder)
            _run("mount", "-t", "glusterfs", "-o", f"log-file={folder}/mount.log", f"{_SERVER}:/bench", self.path)
            stack.callback(_run, "umount", "--lazy", self.path)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def received(self) -> int:
        """Bytes that have come over the link so far."""
        return int(Path(f"/sys/class/net/{_OURS}/statistics/rx_bytes").read_text())

    def _connect(self, stack: contextlib.ExitStack) -> None:
        _run("ip", "netns", "add", _NAMESPACE)
        stack.callback(_run, "ip", "netns", "delete", _NAMESPACE)
        _run("ip", "link", "add", _OURS, "type", "veth", "peer", "name", _THEIRS, "netns", _NAMESPACE)
        # Deleting the namespace deletes it a moment later; another volume may follow at once.
        stack.callback(_run, "ip", "link", "delete", _OURS)
        there = ("-n", _NAMESPACE)
        for where, link, address in (((), _OURS, _CLIENT), (there, _THEIRS, _SERVER)):
            _run("ip", *where, "address", "add", f"{address}/30", "dev", link)
            _run("ip", *where, "link", "set", link, "up")
            limits = ("tbf", "rate", f"{self._rate}mbit", "burst", "256k", "latency", "20ms")
            _run("tc", *where, "qdisc", "add", "dev", link, "root", *limits)
        _run("ip", *there, "link", "set", "lo", "up")

    def _serve(self, stack: contextlib.ExitStack, folder: Path) -> None:
        settings = folder / "glusterd.vol"
        settings.write_text(
            "volume management\n  type mgmt/glusterd\n"
            f"  option working-directory {folder}/work\n"
            "  option transport-type socket\n  option transport.socket.listen-port 24007\nend-volume\n"
        )
        words = ["glusterd", "--no-daemon", "-f", settings, "-l", folder / "server.log", "-p", folder / "glusterd.pid"]
        try:
            command = ["ip", "netns", "exec", _NAMESPACE, *map(str, words)]
            server = stack.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        except FileNotFoundError as error:
            raise DeviceUnavailable("glusterd is not installed (package glusterfs-server)") from error
        stack.callback(server.terminate)
        gluster = ("gluster", "--mode=script", "volume")
        self._wait_for(server, *gluster, "list")
        _in_namespace(*gluster, "create", "bench", f"{_SERVER}:{self.server}", "force")
        _in_namespace(*gluster, "start", "bench")
        stack.callback(_in_namespace, *gluster, "stop", "bench")

    @staticmethod
    def _wait_for(server: subprocess.Popen[bytes], *words: object) -> None:
        """Until the server answers: it has no other way to say that it is ready."""
        until = time.monotonic() + _SECONDS
        while True:
            try:
                _in_namespace(*words)
                return
            except DeviceUnavailable:
                if server.poll() is not None or time.monotonic() > until:
                    raise
                with contextlib.suppress(subprocess.TimeoutExpired):
                    server.wait(0.2)
