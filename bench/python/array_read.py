"""A file read into an array of its size, past the page cache: by `dt.open(path).pread`, and by fio.

The array lies in memory from `dt.empty`, or (`askew`) from NumPy, which direct transfers cannot use as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

BLOCK = 1 << 20


def prepare(path: Path, size: int) -> None:
    """A file with contents that can be checked, as it lies on the disk."""
    import numpy as np

    if path.exists() and path.stat().st_size == size:
        return
    words = np.arange(BLOCK // 8, dtype=np.int64)
    with open(path, "wb") as file:
        for block in range(size // BLOCK):
            file.write((words + block).tobytes())
        file.flush()
        os.fsync(file.fileno())


def read_with_dovetail(path: Path, size: int, repeat: int, askew: bool = False) -> tuple[list[float], str]:
    import dovetail as dt
    import numpy as np

    array = np.zeros(size // 8, np.int64) if askew else dt.empty(size // 8, np.int64)
    array[:] = 0

    @dt.task(into=dt.OUT)
    def read(file: dt.OpenFile, into: np.ndarray) -> int:
        return file.pread(into, 0)

    samples: list[float] = []
    with dt.open(path, "r", direct="always") as file:
        for _ in range(repeat + 1):
            start = time.perf_counter()
            count = dt.wait(read(file, array))
            samples.append(size / (time.perf_counter() - start) / 1e6)
            if count != size:
                return samples, f"{count} bytes instead of {size}"
    blocks = array.reshape(-1, BLOCK // 8)
    good = (blocks[:, 0] == np.arange(len(blocks))).all() and (blocks[:, -1] - blocks[:, 0] == BLOCK // 8 - 1).all()
    return samples[1:], "" if good else "the array does not hold the file"


def read_with_fio(path: Path, size: int, repeat: int) -> tuple[list[float], str]:
    # The best of two usual ways; reading only, so the file stays as it is.
    samples = []
    for _ in range(repeat):
        best = 0.0
        for block, depth in (("1m", 8), ("256k", 32)):
            command = ["fio", "--name=read", f"--filename={path}", f"--size={size}", "--rw=read", f"--bs={block}"]
            command += ["--direct=1", "--ioengine=io_uring", f"--iodepth={depth}", "--readonly", "--output-format=json"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            report = json.loads(done.stdout[done.stdout.index("{") :])
            best = max(best, report["jobs"][0]["read"]["bw_bytes"] / 1e6)
        samples.append(best)
    return samples, ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runtime", choices=("dovetail", "dovetail_askew", "fio"), required=True)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--folder", type=Path, default=Path("."))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    path = arguments.folder / f"dovetail-bench-array-{arguments.megabytes}"
    size = arguments.megabytes << 20
    prepare(path, size)
    if arguments.runtime == "fio":
        samples, wrong = read_with_fio(path, size, arguments.repeat)
    else:
        samples, wrong = read_with_dovetail(path, size, arguments.repeat, arguments.runtime == "dovetail_askew")
    if arguments.json:
        print(json.dumps({"correct": not wrong, "wrong": wrong, "metrics": {"mb_per_second": samples}}))
    else:
        print(f"{arguments.runtime}: {sorted(samples)[len(samples) // 2]:.0f} MB/s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
