"""What the tests of the HDF5 connector share: the libraries that can be had here, and programs run with and without it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE = Path(os.environ.get("DOVETAIL_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("DOVETAIL_BUILD_DIR", SOURCE / "build" / "release"))
PLUGINS = BUILD / "lib" / "dovetail" / "hdf5"
CLOCK = BUILD / "lib" / "libhdf5_constant_clock.so"
CACHE = SOURCE / ".cache-hdf5"
TOOLS = CACHE / "threadsafe" / "bin"
HERE = Path(__file__).resolve().parent
CONNECTOR = "dovetail under_vol=0;under_info={}"
# The connector that does nothing, which HDF5 brings: what differs under it too is not Dovetail's doing.
PASS_THROUGH = "pass_through under_vol=0;under_info={}"

sys.path[:0] = [str(SOURCE / "bench" / "devices"), str(SOURCE / "scripts")]

import foreign  # noqa: E402, F401 (for those that import this)
import hangs  # noqa: E402 (behind the path to it)


@cache
def interpreters() -> dict[str, str]:
    """The Pythons here that have h5py, by its version; each wheel brings an HDF5 of its own."""
    found = {}
    for python in [sys.executable, *sorted(map(str, CACHE.glob("h5py-*/bin/python")))]:
        asked = subprocess.run(
            [python, "-c", "import h5py; print(h5py.__version__)"],
            capture_output=True,
            text=True,
            check=False,
            env=clean(),
        )
        if asked.returncode == 0:
            found.setdefault(asked.stdout.strip(), python)
    return found


def clean(**more: str) -> dict[str, str]:
    """The environment without a word about connectors."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HDF5_", "DOVETAIL_HDF5_")) and name != "PYTHONPATH"
    }
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **more}


def under_dovetail(**more: str) -> dict[str, str]:
    return clean(HDF5_PLUGIN_PATH=str(PLUGINS), HDF5_VOL_CONNECTOR=CONNECTOR, **more)


def preloaded(**more: str) -> dict[str, str]:
    """As `dovetail run --hdf5` does it: what programs and packages say of plugins of their own remains."""
    return clean(LD_PRELOAD=str(PLUGINS / "libdovetail-hdf5-plugin.so"), **more)


@dataclass
class Ended:
    """How a program ended."""

    status: int
    output: str
    errors: str

    def expect(self, status: int, *words: str) -> Ended:
        """The exit status is this one, and standard error has these words in it."""
        assert self.status == status, f"exit status {self.status}, not {status}; it said:\n{self.output}{self.errors}"
        for word in words:
            assert word in self.errors, f"{word!r} is missing in what it said:\n{self.errors}"
        return self


def run(command: list[object], environment: dict[str, str], folder: Path | None = None, timeout: float = 250) -> Ended:
    done = hangs.run(
        [str(word) for word in command],
        env=environment,
        cwd=folder,
        errors="replace",
        timeout=timeout,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def run_python(
    text: str,
    *arguments: object,
    python: str = sys.executable,
    environment: dict[str, str] | None = None,
    **options: object,
) -> Ended:
    """A script of h5py, under Dovetail unless another environment is given."""
    return run([python, "-c", text, *arguments], under_dovetail() if environment is None else environment, **options)


def seed() -> str:
    """From DOVETAIL_TEST_SEED, or a new one; printed, so that a failure can be repeated."""
    chosen = os.environ.get("DOVETAIL_TEST_SEED") or str(int.from_bytes(os.urandom(4), "little"))
    print(f"DOVETAIL_TEST_SEED={chosen}")
    return chosen


def wait_until_held(faults: object, process: subprocess.Popen) -> bool:
    """Until a transfer is held by the device; False when the program ended without one."""
    command = ["sh", "-c", "printf 'wait 1\\n' 1<> \"$0\"", str(faults.path / ".faults")]
    with subprocess.Popen(command) as waiter:
        while waiter.poll() is None:
            if process.poll() is not None:
                waiter.kill()
                return False
            time.sleep(0.002)  # for the sake of the machine
    return waiter.returncode == 0
