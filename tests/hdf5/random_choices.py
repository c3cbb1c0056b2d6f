"""What the steps of a random program choose from: files, datasets, selections, values, all by the seed."""

from __future__ import annotations

import hashlib
import random

import h5py
import numpy as np

NUMBERS = ("i1", "<i4", ">i4", "<u2", "<f4", "<f8", ">f8", "<i8")
# Scattered elements of variable length, which crash h5py itself now and then.
CRASHES = "left out"
# H5C_decr__off
NEVER_SHRINK = 0
COMPOUND = np.dtype([("x", "<f4"), ("n", "<i2"), ("v", ">f8", (3,))])


def digest(value: object) -> str:
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        value = repr([item.tolist() if isinstance(item, np.ndarray) else item for item in value.ravel()])
    elif isinstance(value, np.ndarray):
        value = f"{value.dtype.str}{value.shape}{hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def shape_of(chosen: tuple[slice, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Of what a selection chooses from an array."""
    return tuple(len(range(*part.indices(extent))) for part, extent in zip(chosen, shape, strict=True))


class Choices:
    """A program's state, and chance in all that its steps ask for."""

    def __init__(self, seed: str, forgetful: bool) -> None:
        self.forgetful = forgetful
        self.random = random.Random(seed)
        self.data = np.random.default_rng(self.random.getrandbits(32))
        self.open: list[h5py.File] = []
        self.names: list[str] = []
        self.datasets: dict[str, list[str]] = {}
        self.groups: dict[str, list[str]] = {}
        self.serial = 0

    def fresh(self, prefix: str) -> str:
        self.serial += 1
        return f"{prefix}{self.serial}"

    def file(self) -> h5py.File:
        return self.random.choice(self.open)

    def dataset(self) -> h5py.Dataset:
        file = self.random.choice([file for file in self.open if self.datasets[file.filename]])
        return file[self.random.choice(self.datasets[file.filename])]

    def group(self, file: h5py.File) -> str:
        return self.random.choice(self.groups[file.filename])

    def values(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        if dtype.names:
            made = np.zeros(shape, dtype)
            for name in dtype.names:
                made[name] = self.values(made[name].shape, dtype[name].base)
            return made
        if h5py.check_string_dtype(dtype) or h5py.check_vlen_dtype(dtype):
            made = np.empty(shape, object)
            for index in np.ndindex(*shape):
                length = int(self.data.integers(0, 40))
                made[index] = "s" * length if h5py.check_string_dtype(dtype) else np.arange(length, dtype="i4")
            return made
        kind = self.random.random()
        if kind < 0.2:
            return np.full(shape, self.random.randrange(100)).astype(dtype)
        return self.data.integers(0, 100, shape).astype(dtype)

    def selection(self, shape: tuple[int, ...]) -> tuple[slice, ...]:
        chosen = []
        for extent in shape:
            first = self.random.randrange(extent + 1) if extent else 0
            last = self.random.randint(first, extent)
            chosen.append(slice(first, last, self.random.choice((1, 1, 1, 2, 3))))
        return tuple(chosen)

    def chunks(self, shape: tuple[int, ...], chunk: tuple[int, ...]) -> tuple[slice, ...]:
        """Whole chunks, in a box."""
        chosen = []
        for extent, length in zip(shape, chunk, strict=True):
            first = self.random.randrange(0, extent, length)
            last = self.random.choice((extent, min(extent, first + length * self.random.randint(1, 4))))
            chosen.append(slice(first, last))
        return tuple(chosen)

    def owner(self) -> h5py.Group | h5py.Dataset:
        file = self.file()
        return file[self.random.choice(self.datasets[file.filename] + self.groups[file.filename])]

    def metadata_cache(self, settings: h5py.h5ac.CacheConfig) -> h5py.h5ac.CacheConfig:
        """HDF5 writes metadata early that so many of its accesses have not asked for, and then may free that place. The
        bytes left there depend on the number of accesses, which a connector changes."""
        if self.forgetful:
            settings.epoch_length, settings.epochs_before_eviction = 100, 1
            settings.initial_size = settings.min_size = 1024
        else:
            settings.decr_mode = NEVER_SHRINK
        return settings

    def access(self) -> h5py.h5p.PropFAID:
        r = self.random
        access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
        access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
        low = r.choice(
            (h5py.h5f.LIBVER_EARLIEST, h5py.h5f.LIBVER_EARLIEST, h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_LATEST)
        )
        access.set_libver_bounds(low, h5py.h5f.LIBVER_LATEST)
        if r.random() < 0.3:
            access.set_alignment(r.choice((0, 1024)), r.choice((64, 4096)))
        if r.random() < 0.3:
            access.set_sieve_buf_size(r.choice((0, 512, 1 << 20)))
        if r.random() < 0.3:
            access.set_meta_block_size(r.choice((0, 512, 65536)))
        if r.random() < 0.3:
            access.set_cache(0, r.choice((1, 521)), r.choice((0, 4096, 1 << 20)), r.random())
        access.set_mdc_config(self.metadata_cache(access.get_mdc_config()))
        driver = r.random()
        if driver < 0.06:
            access.set_fapl_core(block_size=65536, backing_store=True)
        elif driver < 0.12:
            access.set_fapl_stdio()
        return access
