"""A file in memory takes large writes as fast as they are copied. A program that does nothing but write then writes them itself,
behind the queue, and leaves the same file."""

from __future__ import annotations

from pathlib import Path

import support

# Large datasets, some of them overwritten in part, between small ones and attributes that are queued.
PROGRAM = """
import random, sys
import h5py, numpy as np
choose = random.Random(sys.argv[2])
noise = np.frombuffer(choose.randbytes(48_000_000), "u1")
with h5py.File(sys.argv[1], "w") as file:
    large = []
    for number in range(40):
        values = noise[number : number + choose.choice([1, 2, 3, 4, 40]) * 1_000_003]
        large.append(file.create_dataset(f"large {number}", data=values))
        large[-1].attrs["number"] = number
        if number % 3 == 0:
            file[f"small {number}"] = values[:1000]
        if number % 5 == 0:
            other = choose.choice(large)
            begin = choose.randrange(other.shape[0] // 2)
            other[begin : begin + 400_000] = number
        if number % 7 == 0:
            file.flush()
        if number % 11 == 0:
            other = choose.choice(large)
            begin = choose.randrange(other.shape[0] // 2)
            print(number, int(other[begin : begin + 700_000].sum(dtype="u8")))
"""


def test_what_the_program_writes_itself_has_its_place_among_the_others(python: str, tmp_path: Path) -> None:
    seed = support.seed()
    clock = {"LD_PRELOAD": str(support.CLOCK)}
    native, dovetail = (tmp_path / name for name in ("native.h5", "dovetail.h5"))
    expected = support.run_python(PROGRAM, native, seed, python=python, environment=support.clean(**clock)).expect(0)
    environment = support.under_dovetail(DOVETAIL_HDF5_REPORT="1", **clock)
    ended = support.run_python(PROGRAM, dovetail, seed, python=python, environment=environment).expect(0)
    print(ended.errors)  # how many were: that depends on how fast this machine is
    assert ended.output == expected.output
    assert native.read_bytes() == dovetail.read_bytes()
