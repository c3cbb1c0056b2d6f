"""Programs and data sets that come with packages of the system."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path

from experiment import Missing


def need(package: str, *programs: str) -> None:
    """Raises Missing unless all of the programs are there."""
    for program in programs:
        if shutil.which(program) is None:
            raise Missing(f"the program {program} is not installed: apt-get install {package}")


def folder_of(package: str, path: str) -> Path:
    """A folder that the package brings."""
    if not Path(path).is_dir():
        raise Missing(f"{path} is not there: apt-get install {package}")
    return Path(path)


def bytes_of(path: Path) -> bytes:
    """A file, which the package may have compressed."""
    packed = path.with_name(path.name + ".gz")
    if path.exists():
        packed = path
    with gzip.open(packed) if packed.suffix == ".gz" else open(packed, "rb") as file:
        return file.read()


def call(*words: object, output: Path | None = None, data: bytes | None = None) -> bytes:
    """Runs a program; its standard output goes to a file, or is returned. Raises RuntimeError with what it said."""
    command = [str(word) for word in words]
    if output is None:
        done = subprocess.run(command, input=data, capture_output=True, check=False)
    else:
        with open(output, "wb") as file:
            done = subprocess.run(command, input=data, stdout=file, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
        raise RuntimeError(f"{' '.join(command)} ended with status {done.returncode}: {' / '.join(last)}")
    return done.stdout or b""
