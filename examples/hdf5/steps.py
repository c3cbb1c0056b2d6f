"""An h5py program that knows nothing of Dovetail: it computes steps of a wave and writes each, compressed.

steps.py FILE SIZE STEPS
"""

from __future__ import annotations

import sys

import h5py
import numpy


def step(wave: numpy.ndarray, before: numpy.ndarray) -> numpy.ndarray:
    """The next of a wave on a square whose edges are joined."""
    around = sum(numpy.roll(wave, shift, axis) for axis in (0, 1) for shift in (1, -1))
    return 2 * wave - before + 0.2 * (around - 4 * wave)


def main() -> None:
    path, size, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    place = numpy.linspace(-4, 4, size, dtype=numpy.float32)
    wave = before = numpy.exp(-(place[:, None] ** 2) - place[None, :] ** 2)
    with h5py.File(path, "w") as file:
        for number in range(steps):
            for _ in range(4):
                wave, before = step(wave, before), wave
            rows = max(1, size // 8)
            file.create_dataset(f"step{number}", data=wave, chunks=(rows, size), compression="gzip")
    print(f"{float(numpy.abs(wave).sum()):.3f}")


if __name__ == "__main__":
    main()
