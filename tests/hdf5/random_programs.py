"""Random programs of HDF5 calls through h5py: the same seed makes the same calls, and a log of all that they answered.

    random_programs.py FOLDER --seed 1 --first 0 --count 100

Each program runs in FOLDER/<number>, leaves its files there and its log in `log`. Run natively and under a connector, both
folders must be equal byte by byte. A program is made of steps that look at nothing but the seed and earlier answers.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import sys
from pathlib import Path

import h5py
import numpy as np
from random_choices import COMPOUND, CRASHES, NUMBERS, Choices, digest, shape_of


class Program(Choices):
    """One program; `steps` is the log of what each step answered."""

    def __init__(self, seed: str, forgetful: bool) -> None:
        super().__init__(seed, forgetful)
        # Some programs dwell on one kind of step, as real ones do.
        self.weights = {step: self.random.choice((0, 1, 1, 2, 8)) if step not in ALWAYS else 3 for step in STEPS}
        if forgetful:
            self.weights |= dict.fromkeys(PLACES, 0)

    def run(self, length: int) -> list[list[object]]:
        log: list[list[object]] = []
        steps = [step for step in STEPS if self.weights[step]]
        weights = [self.weights[step] for step in steps]
        beginning = ["create_file", "create_dataset", "create_dataset", "create_dataset"]
        for number in range(length):
            step = beginning[number] if number < len(beginning) else self.random.choices(steps, weights)[0]
            step = step if self.open or number == 0 else "open_file"
            try:
                log.append([step, getattr(self, step)()])
            except (OSError, RuntimeError, ValueError, LookupError, TypeError, AttributeError, MemoryError) as error:
                # Which kind of OSError depends on an errno in a message, which no connector can be asked to keep.
                log.append([step, "failed", "OSError" if isinstance(error, OSError) else type(error).__name__])
                if "Read only entry modified" in str(error):
                    log.append(
                        ["given up"]
                    )  # a fault in the metadata cache of HDF5 2.0: from here on all that is written fails
                    break
        while self.open:
            try:
                self.open.pop(self.random.randrange(len(self.open))).close()
            except (OSError, RuntimeError) as error:
                log.append(["close", "failed", type(error).__name__])
        return log

    # Files

    def create_file(self) -> object:
        r = self.random
        name = self.fresh("file") + ".h5"
        creation = h5py.h5p.create(h5py.h5p.FILE_CREATE)
        creation.set_obj_track_times(False)
        if r.random() < 0.2:
            creation.set_userblock(r.choice((512, 2048)))
        if r.random() < 0.3:
            pages = h5py.h5f.FSPACE_STRATEGY_PAGE
            strategy = r.choice((pages, h5py.h5f.FSPACE_STRATEGY_AGGR, h5py.h5f.FSPACE_STRATEGY_NONE))
            # HDF5 (2.0.0, natively) may compute for ever when it closes a file that keeps its free pages and has aligned objects.
            persist = r.random() < 0.5 and strategy != pages
            creation.set_file_space_strategy(strategy, persist, r.choice((1, 64)))
        if r.random() < 0.3:
            creation.set_link_creation_order(h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED)
        file = h5py.File(h5py.h5f.create(name.encode(), h5py.h5f.ACC_TRUNC, fcpl=creation, fapl=self.access()))
        self.names.append(name)
        self.open.append(file)
        self.datasets[name], self.groups[name] = [], ["/"]
        return name

    def open_file(self) -> object:
        name = self.random.choice(self.names)
        if len(self.open) > 5:
            return "enough"
        same = [file.mode for file in self.open if file.filename == name]
        mode = self.random.choice(("r", "r+", "r+", "r+")) if not same or self.random.random() < 0.1 else same[0]
        mode = h5py.h5f.ACC_RDONLY if mode == "r" else h5py.h5f.ACC_RDWR
        self.open.append(h5py.File(h5py.h5f.open(name.encode(), mode, fapl=self.access())))
        return name

    def close_file(self) -> object:
        file = self.open.pop(self.random.randrange(len(self.open)))
        name = file.filename
        last = all(other.filename != name for other in self.open)
        content = self.content(file) if last and self.forgetful else name
        file.close()
        return digest(Path(name).read_bytes()) if last and not self.forgetful else content

    def content(self, file: h5py.File) -> object:
        """All that a reader of the file finds."""
        read: list[object] = []
        for path in self.datasets[file.filename]:
            try:
                read.append(digest(file[path][()]))
            except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
                read.append(type(error).__name__)
        return read

    def flush(self) -> object:
        if self.random.random() < 0.5:
            self.file().flush()
        else:
            self.dataset().flush()
        return None

    def file_size(self) -> object:
        return self.file().id.get_filesize()

    def raw_file(self) -> object:
        """After a flush, through the descriptor that HDF5 gives away: what any reader of the file sees."""
        file = self.file()
        file.flush()
        access = file.id.get_access_plist()
        if access.get_driver() != h5py.h5fd.SEC2:
            return "another driver"
        descriptor = file.id.get_vfd_handle()
        return digest(os.pread(descriptor, os.fstat(descriptor).st_size, 0))

    def file_facts(self) -> object:
        file = self.file()
        access, creation = file.id.get_access_plist(), file.id.get_create_plist()
        return [
            file.driver, file.libver, file.mode, file.userblock_size, access.get_sieve_buf_size(), access.get_cache(),
            access.get_alignment(), creation.get_file_space_strategy(), file.id.get_freespace(), repr(file),
        ]  # fmt: skip

    # Groups, links, attributes

    def create_group(self) -> object:
        file = self.file()
        path = f"{self.group(file)}/{self.fresh('group')}"
        file.create_group(path)
        self.groups[file.filename].append(path)
        return path

    def many_groups(self) -> object:
        file = self.file()
        parent = file.require_group(f"{self.group(file)}/{self.fresh('many')}")
        for number in range(self.random.randrange(40)):
            parent.create_group(f"member {number}")
        return len(parent)

    def link(self) -> object:
        file = self.file()
        path = f"{self.group(file)}/{self.fresh('link')}"
        target = self.random.choice(self.datasets[file.filename] + self.groups[file.filename])
        kind = self.random.randrange(3)
        file[path] = (
            file[target]
            if kind == 0
            else h5py.SoftLink(target)
            if kind == 1
            else h5py.ExternalLink(self.random.choice(self.names), target)
        )
        return type(file.get(path, getlink=True)).__name__

    def follow(self) -> object:
        file = self.file()
        group = file[self.group(file)]
        return [[key, type(group.get(key)).__name__] for key in group]

    def move(self) -> object:
        file = self.file()
        paths = self.datasets[file.filename]
        index = self.random.randrange(len(paths))
        target = f"{self.group(file)}/{self.fresh('moved')}"
        file.move(paths[index], target)
        paths[index] = target
        return target

    def copy(self) -> object:
        source, target = self.file(), self.file()
        path = f"{self.group(target)}/{self.fresh('copy')}"
        source.copy(self.random.choice(self.datasets[source.filename]), target, path)
        self.datasets[target.filename].append(path)
        return path

    def delete(self) -> object:
        file = self.file()
        paths = self.datasets[file.filename]
        del file[paths.pop(self.random.randrange(len(paths)))]
        return len(paths)

    def visit(self) -> object:
        found: list[str] = []
        self.file().visititems(lambda name, thing: found.append(f"{name} {thing!r}"))
        return digest(found)

    def set_attribute(self) -> object:
        owner = self.owner()
        name = f"attribute {self.random.randrange(12)}"
        kind = self.random.randrange(5)
        if kind == 0:
            owner.attrs[name] = "text" * self.random.randrange(30)
        elif kind == 1:
            owner.attrs.create(name, self.values((3,), COMPOUND))
        elif kind == 2 and name in owner.attrs:
            owner.attrs.modify(name, self.values((2,), np.dtype("<f8")))
        else:
            dtype = np.dtype(self.random.choice(NUMBERS))
            owner.attrs[name] = self.values((self.random.randrange(1, 200),), dtype)
        return len(owner.attrs)

    def read_attributes(self) -> object:
        owner = self.owner()
        return [[name, digest(owner.attrs[name])] for name in owner.attrs]

    def delete_attribute(self) -> object:
        owner = self.owner()
        del owner.attrs[self.random.choice([*owner.attrs, "no such attribute"])]
        return len(owner.attrs)

    # Datasets

    def create_dataset(self) -> object:
        r = self.random
        file = self.file()
        path = f"{self.group(file)}/{self.fresh('dataset')}"
        rank = r.choice((0, 1, 1, 1, 2, 2, 3))
        most = {0: 1, 1: r.choice((10, 3000, 60000)), 2: r.choice((12, 200)), 3: 24}[rank]
        shape = tuple(r.randrange(most + 1) for _ in range(rank))
        kind = r.random()
        if kind < 0.75:
            dtype = np.dtype(r.choice(NUMBERS))
        elif kind < 0.87:
            dtype = COMPOUND
        else:
            shape = tuple(min(extent, 12) for extent in shape)
            dtype = h5py.string_dtype() if kind < 0.93 else h5py.vlen_dtype(np.dtype("i4"))
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_obj_track_times(False)
        if r.random() < 0.6:
            creation.set_alloc_time(
                r.choice((h5py.h5d.ALLOC_TIME_EARLY, h5py.h5d.ALLOC_TIME_LATE, h5py.h5d.ALLOC_TIME_INCR))
            )
        layout = r.random()
        if r.random() < 0.4:
            # Without fill values HDF5 writes what happens to be in its memory around the elements of a chunk.
            never = h5py.h5d.FILL_TIME_ALLOC if rank and layout < 0.5 else h5py.h5d.FILL_TIME_NEVER
            creation.set_fill_time(r.choice((h5py.h5d.FILL_TIME_ALLOC, never, h5py.h5d.FILL_TIME_IFSET)))
        if dtype.kind in "iuf" and r.random() < 0.3:
            creation.set_fill_value(np.array(r.randrange(1, 100), dtype))
        most_shape = shape
        if rank and layout < 0.5:
            chunk = tuple(r.randint(min(extent, 1 + extent // 20) or 1, max(1, extent)) for extent in shape)
            creation.set_chunk(chunk if np.prod(chunk) > 4 else tuple(max(4, extent) for extent in shape))
            most_shape = tuple(h5py.h5s.UNLIMITED if r.random() < 0.5 else extent + r.randrange(30) for extent in shape)
            most_shape = tuple(max(limit, 1) if limit != h5py.h5s.UNLIMITED else limit for limit in most_shape)
            if r.random() < 0.4 and not dtype.hasobject:
                creation.set_shuffle()
                creation.set_deflate(r.randrange(1, 6))
            if r.random() < 0.3 and not dtype.hasobject:
                creation.set_fletcher32()
        elif layout < 0.6 and np.prod(shape, dtype=int) * dtype.itemsize < 30000:
            creation.set_layout(h5py.h5d.COMPACT)
        elif layout < 0.66 and rank and not dtype.hasobject and np.prod(shape, dtype=int):
            creation.set_external((path.replace("/", "_") + ".raw").encode(), 0, h5py.h5f.UNLIMITED)
        space = h5py.h5s.create_simple(shape, most_shape) if rank else h5py.h5s.create(h5py.h5s.SCALAR)
        made = h5py.h5d.create(file.id, path.encode(), h5py.h5t.py_create(dtype, logical=True), space, creation)
        self.datasets[file.filename].append(path)
        if r.random() < 0.5:
            h5py.Dataset(made)[...] = self.values(shape, dtype)
        return [path, repr(made.shape)]

    def compress(self) -> object:
        """Several chunks, in writes that end where they do, or do not; some of them fit into the cache of chunks."""
        file = self.file()
        group = self.group(file)
        return [self.compressed(file, group) for _ in range(self.random.choice((1, 2, 5)))]

    def compressed(self, file: h5py.File, group: str) -> object:
        r = self.random
        name = self.fresh("compressed")
        rank = r.choice((1, 2, 3))
        chunk = tuple(r.randint(2, {1: 9000, 2: 90, 3: 20}[rank]) for _ in range(rank))
        shape = tuple(extent * r.randint(1, 4) + r.choice((0, 0, 1)) for extent in chunk)
        dtype = r.choice((*map(np.dtype, NUMBERS), COMPOUND))
        creation, access = h5py.h5p.create(h5py.h5p.DATASET_CREATE), h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
        creation.set_obj_track_times(False)
        creation.set_chunk(chunk)
        if r.random() < 0.5:
            creation.set_shuffle()
        creation.set_deflate(r.randrange(10))
        if r.random() < 0.2:
            creation.set_fletcher32()
        if r.random() < 0.5:
            access.set_chunk_cache(r.choice((1, 7, 521)), r.choice((0, 30000, 200000)), r.random())
        most = tuple(h5py.h5s.UNLIMITED if r.random() < 0.7 else extent for extent in shape)
        parent = file[group].id if r.random() < 0.2 else file.id
        path = name if parent is file.id else f"{group}/{name}"
        taken = r.choice(self.datasets[file.filename] or ["none"]) if r.random() < 0.03 else name
        space, kind = h5py.h5s.create_simple(shape, most), h5py.h5t.py_create(dtype, logical=True)
        made = h5py.Dataset(h5py.h5d.create(parent, taken.encode(), kind, space, creation, dapl=access))
        self.datasets[file.filename].append(path)
        for _ in range(r.randrange(4)):
            if r.random() < 0.3:
                made.resize(made.shape[0] + r.choice((1, chunk[0])), 0)
            shape = made.shape
            chosen = self.selection(shape) if r.random() < 0.3 else self.chunks(shape, chunk)
            values = self.values(shape_of(chosen, shape), dtype)
            if r.random() < 0.2:
                values = np.asfortranarray(values)
            made[chosen] = values
            values.view("u1").fill(0) if values.size and values.flags.c_contiguous and not dtype.names else None
        return [path, made.shape]

    def write(self) -> object:
        dataset = self.dataset()
        chosen = self.selection(dataset.shape)
        shape = shape_of(chosen, dataset.shape)
        dtype = dataset.dtype
        if dtype.kind in "iuf" and self.random.random() < 0.3:
            dtype = np.dtype(self.random.choice(NUMBERS))
        values = self.values(shape, dtype)
        dataset[chosen] = values
        # The caller may use its memory at once.
        if not dtype.hasobject and values.size:
            values.view("u1" if values.ndim else values.dtype).fill(
                0
            ) if values.flags.c_contiguous and not dtype.names else None
        return shape

    def write_field(self) -> object:
        file = self.file()
        paths = [path for path in self.datasets[file.filename] if file[path].dtype == COMPOUND]
        dataset = file[self.random.choice(paths)]
        dataset["n"] = self.values(dataset.shape, np.dtype("<i2"))
        return None

    def write_direct(self) -> object:
        dataset = self.dataset()
        if dataset.dtype.hasobject:
            return CRASHES
        chosen = self.selection(dataset.shape)
        shape = shape_of(chosen, dataset.shape)
        memory = self.values(tuple(2 * extent + 1 for extent in shape), dataset.dtype)
        dataset.write_direct(memory, tuple(slice(1, 2 * extent + 1, 2) for extent in shape), chosen)
        return shape

    def write_points(self) -> object:
        dataset = self.dataset()
        if dataset.dtype.hasobject:
            return CRASHES
        extent = dataset.shape[0]
        points = sorted(self.random.sample(range(extent), self.random.randrange(min(extent, 60) + 1)))
        dataset[points] = self.values((len(points), *dataset.shape[1:]), dataset.dtype)
        return len(points)

    def read(self) -> object:
        dataset = self.dataset()
        return digest(dataset[self.selection(dataset.shape)])

    def read_all(self) -> object:
        return digest(self.dataset()[()])

    def read_points(self) -> object:
        dataset = self.dataset()
        extent = dataset.shape[0]
        return digest(dataset[sorted(self.random.sample(range(extent), self.random.randrange(min(extent, 60) + 1)))])

    def read_direct(self) -> object:
        dataset = self.dataset()
        memory = np.zeros(dataset.shape, dataset.dtype)
        chosen = self.selection(dataset.shape)
        dataset.read_direct(memory, chosen, chosen)
        return digest(memory)

    def read_series(self) -> object:
        """Row after row, or every so many rows: what read-ahead waits for."""
        dataset = self.dataset()
        step = self.random.choice((1, 1, 2, 3))
        return [digest(dataset[row]) for row in range(self.random.randrange(3), dataset.shape[0], step)[:40]]

    def write_series(self) -> object:
        dataset = self.dataset()
        for row in range(min(dataset.shape[0], 40)):
            dataset[row] = self.values(dataset.shape[1:], dataset.dtype)
        return None

    def append(self) -> object:
        dataset = self.dataset()
        for _ in range(self.random.randrange(1, 8)):
            rows = self.random.randrange(1, 6)
            if dataset.shape[0] > 5000:
                break
            dataset.resize(dataset.shape[0] + rows, 0)
            dataset[-rows:] = self.values((rows, *dataset.shape[1:]), dataset.dtype)
        return dataset.shape

    def resize(self) -> object:
        dataset = self.dataset()
        dataset.resize(tuple(self.random.randrange(extent + 10) for extent in dataset.shape))
        return dataset.shape

    def direct_chunk(self) -> object:
        dataset = self.dataset()
        if dataset.dtype.hasobject:
            return "left out: its bytes are addresses"
        origin = tuple(
            self.random.randrange(0, extent, chunk) for extent, chunk in zip(dataset.shape, dataset.chunks, strict=True)
        )
        if self.random.random() < 0.5 and not dataset.id.get_create_plist().get_nfilters():
            length = int(np.prod(dataset.chunks)) * dataset.dtype.itemsize
            dataset.id.write_direct_chunk(origin, bytes([self.random.randrange(100)]) * length)
        stored = [dataset.id.get_chunk_info(index).chunk_offset for index in range(dataset.id.get_num_chunks())]
        return digest(dataset.id.read_direct_chunk(origin)) if origin in stored else "not stored"

    def dataset_facts(self) -> object:
        dataset = self.dataset()
        return [
            repr(dataset), dataset.name, dataset.maxshape, dataset.chunks, dataset.id.get_storage_size(),
            dataset.id.get_offset(), dataset.id.get_space_status(), dataset.fletcher32, dataset.compression,
        ]  # fmt: skip

    def chunk_facts(self) -> object:
        dataset = self.dataset()
        number = dataset.id.get_num_chunks()
        return [tuple(dataset.id.get_chunk_info(index)) for index in range(min(number, 20))]

    def virtual(self) -> object:
        file, source = self.file(), self.dataset()
        path = f"{self.group(file)}/{self.fresh('virtual')}"
        layout = h5py.VirtualLayout(source.shape, source.dtype)
        layout[...] = h5py.VirtualSource(source)
        file.create_virtual_dataset(path, layout)
        return digest(file[path][()])

    def reference(self) -> object:
        file, dataset = self.file(), self.dataset()
        path = f"{self.group(file)}/{self.fresh('references')}"
        made = file.create_dataset(path, (2,), h5py.ref_dtype)
        made[0] = file[self.group(file)].ref
        made[1] = dataset.ref
        return [file[made[0]].name, dataset.file[made[1]].name]


ALWAYS = ("create_dataset", "write", "read")
# What tells where things lie in a file. HDF5 puts elements of variable length into a new place when it has dropped the old one.
PLACES = ("file_size", "raw_file", "file_facts", "dataset_facts", "chunk_facts")
STEPS = [name for name in vars(Program) if not name.startswith("_") and name not in ("run", "compressed", "content")]


def run_programs(folder: Path, seed: str, first: int, count: int, length: int, forgetful: bool) -> None:
    # Addresses in reprs and paths in messages must not differ: every program sees its own folder as `.`.
    for number in range(first, first + count):
        place = folder / str(number)
        place.mkdir(parents=True)
        os.chdir(place)
        with open("running", "w") as running:
            running.write(f"seed {seed}, program {number}\n")
        log = Program(f"{seed}/{number}", forgetful).run(length)
        with open("log", "w") as file:
            file.writelines(json.dumps(step, default=repr) + "\n" for step in log)
        os.unlink("running")


def main() -> int:
    faulthandler.enable()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--length", type=int, default=60, help="steps of a program")
    parser.add_argument(
        "--forgetful",
        action="store_true",
        help="HDF5 keeps little metadata in memory; the log has contents, not places",
    )
    arguments = parser.parse_args()
    run_programs(
        arguments.folder.resolve(),
        arguments.seed,
        arguments.first,
        arguments.count,
        arguments.length,
        arguments.forgetful,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
