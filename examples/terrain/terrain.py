#!/usr/bin/env python3
"""An analysis of a stack of elevation maps in HDF5: how steep some places are in each of them. It knows nothing of Dovetail.

    terrain.py make STACK.h5 MAPS          makes a stack of so many maps out of the map that matplotlib ships
    terrain.py analyse STACK.h5 PLACES     prints the mean slope at each of so many places, over all maps

A place is one chunk of each map. So the file is read in strides: a piece of each map for the first place, then for the next one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import h5py
import numpy as np

CHUNK = (86, 101)  # rows and columns: a map has 4 x 3 whole chunks


def elevation() -> np.ndarray:
    """The map of the fault at Jacksboro, in metres, which is in the folder of matplotlib's samples."""
    import matplotlib

    samples = Path(matplotlib.__file__).parent / "mpl-data" / "sample_data"
    with np.load(samples / "jacksboro_fault_dem.npz") as data:
        return data["elevation"]


def make(path: Path, maps: int) -> None:
    """Each map is a little rougher than the one before: what weather does to a model, say."""
    ground = elevation()
    dice = np.random.default_rng(1)
    with h5py.File(path, "w") as file:
        stack = file.create_dataset("elevation", (maps, *ground.shape), ground.dtype, chunks=(1, *CHUNK))
        for number in range(maps):
            noise = dice.integers(-number, number + 1, ground.shape)
            stack[number] = (ground + noise).astype(ground.dtype)


def analyse(path: Path, places: int) -> list[float]:
    slopes = []
    with h5py.File(path, "r") as file:
        stack = file["elevation"]
        for place in range(places):
            row, column = divmod(place * 5 % 12, 3)
            rows = slice(row * CHUNK[0], (row + 1) * CHUNK[0])
            columns = slice(column * CHUNK[1], (column + 1) * CHUNK[1])
            total = 0.0
            for number in range(stack.shape[0]):
                along, across = np.gradient(stack[number, rows, columns].astype(np.float32))
                total += float(np.hypot(along, across).mean())
            slopes.append(total / stack.shape[0])
    return slopes


def main() -> int:
    if len(sys.argv) != 4 or sys.argv[1] not in ("make", "analyse") or not sys.argv[3].isdigit():
        print(__doc__, file=sys.stderr)
        return 2
    path, number = Path(sys.argv[2]), int(sys.argv[3])
    try:
        if sys.argv[1] == "make":
            make(path, number)
        else:
            print(*(f"{slope:.6f}" for slope in analyse(path, number)))
    except OSError as error:
        print(f"terrain.py: {path}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
