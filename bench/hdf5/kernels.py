"""The kernels `write` and `read` of kernels.c as a script of h5py that knows of nothing; same options, same output."""

from __future__ import annotations

import argparse
import json
import resource
import time

import h5py
import numpy as np

VARIABLES = 8


def compute(milliseconds: int) -> float:
    """Until so much processor time has passed; what it took by the clock."""
    begin, until = time.perf_counter(), time.thread_time() + milliseconds / 1000
    while milliseconds and time.thread_time() < until:
        np.sqrt(np.arange(1000.0)).sum()
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", choices=("write", "read"), required=True)
    parser.add_argument("--file", required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--particles", type=int, default=131072)
    parser.add_argument("--compute", type=int, default=0, metavar="MS")
    parser.add_argument("--flush", action="store_true")
    parser.add_argument("--deflate", type=int, default=0, metavar="LEVEL")
    options = parser.parse_args()
    values = [np.arange(options.particles, dtype="f4") + variable for variable in range(VARIABLES)]
    if options.deflate:  # what is to be compressed is no easier than measured values are
        noise = np.random.default_rng(1).random(options.particles, dtype="f4")
        values = [noise + variable for variable in range(VARIABLES)]
    stored = (
        {"chunks": (options.particles,), "shuffle": True, "compression": options.deflate} if options.deflate else {}
    )
    computed = 0.0
    begin = time.perf_counter()
    if options.kernel == "write":
        with h5py.File(options.file, "w") as file:
            for step in range(options.steps):
                group = file.create_group(f"Step#{step}")
                for variable in range(VARIABLES):
                    values[variable][0] = step
                    group.create_dataset(f"variable {variable}", data=values[variable], **stored)
                if options.flush:
                    file.flush()
                computed += compute(options.compute)
    else:
        with h5py.File(options.file) as file:
            for step in range(options.steps):
                for variable in range(VARIABLES):
                    read = file[f"Step#{step}/variable {variable}"][()]
                    if read[0] != step or read[-1] != values[variable][-1]:
                        raise SystemExit(f"step {step}, variable {variable} is wrong")
                computed += compute(options.compute)
    total = time.perf_counter() - begin
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps({"total": total, "compute": computed, "io": total - computed, "cpu": used.ru_utime + used.ru_stime})
    )


if __name__ == "__main__":
    main()
