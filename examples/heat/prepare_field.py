#!/usr/bin/env python3
"""Makes an initial field for `heat` out of a real elevation model: the surface of the earth, taken for temperatures.

The data are the Jacksboro fault (Tennessee), 344 x 403 heights in metres, which matplotlib installs with its sample data.

    prepare_field.py --output FILE [--source FILE.npz --name ARRAY]

The format, little endian: 8 bytes "HEATFLD1", rows and columns as 64-bit unsigned integers, float64 row by row.
`heat --size` scales it. Exit status: 2 for bad input.
"""

from __future__ import annotations

import argparse
import struct
import sys
import zipfile
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "demonstration"))

from demonstration import BadInput  # noqa: E402

MAGIC = b"HEATFLD1"
SAMPLE = "jacksboro_fault_dem.npz"


def sample_path() -> Path:
    """The elevation model that is installed with matplotlib, by pip or (python-matplotlib-data) by apt."""
    candidates = [Path("/usr/share/matplotlib")]
    try:
        import matplotlib

        candidates.insert(0, Path(matplotlib.get_data_path()))
    except ImportError:
        pass
    for candidate in candidates:
        for path in (candidate / "sample_data" / SAMPLE, candidate / "mpl-data" / "sample_data" / SAMPLE):
            if path.is_file():
                return path
    raise BadInput(f"{SAMPLE} is not installed; `pip install matplotlib` brings it")


def read(source: Path, name: str) -> numpy.ndarray:
    try:
        with numpy.load(source) as archive:
            if name not in archive:
                raise BadInput(f"{source}: has no array {name!r}, only {', '.join(archive)}")
            cells = archive[name]
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise BadInput(f"{source}: cannot be read: {error}") from error
    if cells.ndim != 2 or min(cells.shape) < 3:
        raise BadInput(f"{source}: {name!r} has shape {cells.shape}, not rows and columns of at least 3")
    return cells


def write(cells: numpy.ndarray, output: Path) -> None:
    """`cells` in the format above."""
    try:
        with output.open("wb") as file:
            file.write(MAGIC + struct.pack("<QQ", *cells.shape))
            file.write(numpy.ascontiguousarray(cells, dtype="<f8").tobytes())
    except OSError as error:
        raise BadInput(f"{output}: cannot be written: {error.strerror}") from error


def prepare(output: Path, source: Path | None = None, name: str = "elevation") -> str:
    """Writes the field to `output` and returns a line about it."""
    source = source or sample_path()
    cells = read(source, name)
    write(cells, output)
    return f"{source.name}: {cells.shape[0]} x {cells.shape[1]} cells, {cells.min():g} to {cells.max():g}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--source", type=Path, help="an .npz file (default: the sample named above)")
    parser.add_argument("--name", default="elevation", help="array in that file (default: elevation)")
    arguments = parser.parse_args()
    try:
        print(prepare(arguments.output, arguments.source, arguments.name))
    except BadInput as error:
        print(f"prepare_field: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
