"""Finds the compiled programs of this folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from device_unavailable import DeviceUnavailable


def find_program(name: str) -> str:
    """A program of the build folder $DOVETAIL_BUILD_DIR, of build/release, of any build/*, or on PATH, in this order.

    Raises DeviceUnavailable, naming where it looked.
    """
    source = Path(__file__).resolve().parents[2]
    builds = [Path(os.environ["DOVETAIL_BUILD_DIR"])] if "DOVETAIL_BUILD_DIR" in os.environ else []
    builds += [source / "build" / "release", *sorted((source / "build").glob("*"))]
    for build in builds:
        candidate = build / "bin" / name
        if candidate.is_file():
            return str(candidate)
    found = shutil.which(name)
    if found is None:
        raise DeviceUnavailable(
            f"{name} is not built (`make test` and `make bench` build it): looked in bin/ of {', '.join(map(str, builds))}, and on PATH"
        )
    return found
