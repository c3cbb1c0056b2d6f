"""What the tests of the devices share."""

from __future__ import annotations

import os
import sys
import unittest
from contextlib import AbstractContextManager
from pathlib import Path

DEVICES = Path(__file__).resolve().parents[2] / "bench" / "devices"
sys.path[:0] = [str(DEVICES), str(DEVICES.parents[1] / "scripts")]
sys.dont_write_bytecode = True

import hangs  # noqa: E402, F401 (for those that import this)
from device_unavailable import DeviceUnavailable  # noqa: E402


def run_tests_on(device: AbstractContextManager) -> None:
    """Run the calling file's tests if the device can be made, else exit with 77 and the reason."""
    try:
        with device:
            pass
    except DeviceUnavailable as error:
        print(f"skipped: {error}")
        sys.exit(77)
    unittest.main(verbosity=2)


def errno_of(function, *arguments) -> int:
    """The errno that the call fails with, 0 if it does not."""
    try:
        function(*arguments)
    except OSError as error:
        return error.errno or -1
    return 0


def open_file(path: Path, flags: int = 0) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o600)
