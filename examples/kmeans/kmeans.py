#!/usr/bin/env python3
"""k-means on a data set on disk, with a checkpoint of every fragment in every iteration (I/O-aware PyCOMPSs, section 5.2.3).

A task reads a fragment and sums the points of each cluster. It reads past the page cache, so that the data set may be larger than memory.
A checkpoint task writes the distances of all points to all centres.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Tasks are what runs in parallel here; and a sum over other threads would have other last bits.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "strategies"))

import experiment  # noqa: E402
from strategy import io_task, write_durably  # noqa: E402

ALIGNMENT = 4096
AT_ONCE = 8  # partial sums that are merged by one task


def fragment_shape(arguments: argparse.Namespace) -> tuple[int, int]:
    return arguments.points // arguments.fragments, arguments.dimensions


def centers_at_first(arguments: argparse.Namespace) -> np.ndarray:
    return np.random.default_rng(arguments.seed + 1).random((arguments.centers, arguments.dimensions), dtype=np.float32)


def partial_sums(points: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums and numbers of the points nearest to each centre, in one array; and all squared distances."""
    distances = (
        (points * points).sum(axis=1)[:, None] - 2 * (points @ centers.T) + (centers * centers).sum(axis=1)[None, :]
    )
    nearest = distances.argmin(axis=1)
    sums = np.zeros((len(centers), points.shape[1] + 1))
    sums[:, -1] = counts = np.bincount(nearest, minlength=len(centers))
    used = counts > 0
    begins = np.cumsum(counts) - counts
    ordered = points[np.argsort(nearest, kind="stable")]
    sums[used, :-1] = np.add.reduceat(ordered, begins[used], axis=0, dtype=np.float64)
    return sums, distances


def merged(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.sum(parts, axis=0)


def moved(centers: np.ndarray, sums: np.ndarray) -> np.ndarray:
    counts = sums[:, -1:]
    return np.where(counts > 0, sums[:, :-1] / np.maximum(counts, 1), centers).astype(np.float32)


class KMeans:
    name = "kmeans"
    about = __doc__
    peak = 400.0

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--points", type=int, default=1 << 20)
        parser.add_argument("--dimensions", type=int, default=64)
        parser.add_argument("--centers", type=int, default=128)
        parser.add_argument("--fragments", type=int, default=32)
        parser.add_argument("--iterations", type=int, default=3)
        parser.add_argument("--seed", type=int, default=20240229)

    def prepare(self, arguments: argparse.Namespace, data: Path) -> str:
        count, dimensions = fragment_shape(arguments)
        if min(count, dimensions, arguments.centers, arguments.iterations) < 1:
            raise ValueError("points, dimensions, centers, fragments and iterations must be positive")
        path = data / self.file_name(arguments)
        size = arguments.fragments * self.stride(arguments)
        if not path.exists() or path.stat().st_size != size:
            random = np.random.default_rng(arguments.seed)
            with open(path, "wb") as file:
                for fragment in range(arguments.fragments):
                    file.seek(fragment * self.stride(arguments))
                    file.write(random.random((count, dimensions), dtype=np.float32).tobytes())
                file.truncate(size)
        written = arguments.iterations * arguments.fragments * count * arguments.centers * 4
        return (
            f"{arguments.fragments} fragments of {count} points of {dimensions} dimensions ({size / 1e6:.0f} MB, seed "
            f"{arguments.seed}), {arguments.centers} centres, {arguments.iterations} iterations; checkpoints: {written / 1e6:.0f} MB"
        )

    def file_name(self, arguments: argparse.Namespace) -> str:
        return f"points-{arguments.points}-{arguments.dimensions}-{arguments.fragments}-{arguments.seed}.f32"

    def stride(self, arguments: argparse.Namespace) -> int:
        count, dimensions = fragment_shape(arguments)
        return -(-4 * count * dimensions // ALIGNMENT) * ALIGNMENT

    def run(self, arguments: argparse.Namespace, data: Path, target: Path, strategy: str) -> Any:
        import dovetail as dt

        shape, stride = fragment_shape(arguments), self.stride(arguments)
        # A fast disk of its own; the checkpoints are what is compared.
        source = dt.open(data / self.file_name(arguments), "r", direct="automatic")

        @dt.task(returns=2)
        def partial_sum(fragment: int, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            points = np.empty(shape, dtype=np.float32)
            source.pread(points, fragment * stride)
            return partial_sums(points, centers)

        @io_task(strategy, target)
        def checkpoint_centers(path: Path, distances: np.ndarray) -> int:
            return write_durably(path, np.ascontiguousarray(distances), distances.nbytes)

        @dt.task(priority=1)
        def merge(*parts: np.ndarray) -> np.ndarray:
            return merged(parts)

        @dt.task(priority=1)
        def move(centers: np.ndarray, sums: np.ndarray) -> np.ndarray:
            return moved(centers, sums)

        centers: Any = centers_at_first(arguments)
        written = []
        for _ in range(arguments.iterations):
            parts = []
            for fragment in range(arguments.fragments):
                sums, distances = partial_sum(fragment, centers)
                parts.append(sums)
                written.append(checkpoint_centers(target / f"distances-{fragment}-{len(written)}", distances))
            while len(parts) > 1:
                parts = [merge(*parts[i : i + AT_ONCE]) for i in range(0, len(parts), AT_ONCE)]
            centers = dt.wait(move(centers, parts[0]))
        total = sum(dt.wait(written))
        source.close()
        # Of the last iteration, as they are on the device.
        last = len(written) - arguments.fragments
        on_device = [
            float(np.fromfile(target / f"distances-{k}-{last + k}", np.float32).sum(dtype=np.float64))
            for k in range(arguments.fragments)
        ]
        return {"centers": centers.tolist(), "bytes": total, "distances": on_device}

    def reference(self, arguments: argparse.Namespace, data: Path, scratch: Path) -> Any:
        count, dimensions = fragment_shape(arguments)
        centers = centers_at_first(arguments)
        path = data / self.file_name(arguments)
        distances = []
        for _ in range(arguments.iterations):
            parts = []
            distances = []
            for fragment in range(arguments.fragments):
                offset = fragment * self.stride(arguments)
                points = np.fromfile(path, np.float32, count * dimensions, offset=offset).reshape(count, dimensions)
                part, far = partial_sums(points, centers)
                parts.append(part)
                distances.append(float(far.sum(dtype=np.float64)))
            # In the order of the tasks: the last bit of a centre may decide which centre is nearest to a point.
            while len(parts) > 1:
                parts = [merged(parts[i : i + AT_ONCE]) for i in range(0, len(parts), AT_ONCE)]
            centers = moved(centers, parts[0])
        written = arguments.iterations * arguments.fragments * count * arguments.centers * 4
        return {"centers": centers.tolist(), "bytes": written, "distances": distances}

    def differs(self, result: Any, reference: Any) -> str | None:
        if result["bytes"] != reference["bytes"]:
            return f"{result['bytes']} bytes were written, not {reference['bytes']}"
        if not np.allclose(result["centers"], reference["centers"], rtol=1e-5):
            return "other centres"
        if not np.allclose(result["distances"], reference["distances"], rtol=1e-5):
            return "the checkpoints on the device hold other distances"
        return None


if __name__ == "__main__":
    sys.exit(experiment.main(KMeans()))
