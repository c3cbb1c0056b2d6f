"""Sequential bandwidth of a folder's file system, in MB/s (10^6 bytes): direct and buffered, reading and writing."""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path

BLOCK = 1 << 20


def _transfer(path: Path, flags: int, size: int, writing: bool) -> float:
    with mmap.mmap(-1, BLOCK) as buffer:  # page aligned, as O_DIRECT asks
        buffer[:] = os.urandom(4096) * (BLOCK // 4096)
        descriptor = os.open(path, flags, 0o600)
        try:
            if not flags & os.O_DIRECT and not writing:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            start = time.perf_counter()
            for offset in range(0, size, BLOCK):
                done = os.pwritev(descriptor, [buffer], offset) if writing else os.preadv(descriptor, [buffer], offset)
                if done != BLOCK:
                    raise OSError(f"{path}: {done} of {BLOCK} bytes transferred at offset {offset}")
            if writing:
                os.fdatasync(descriptor)
            return size / (time.perf_counter() - start) / 1e6
        finally:
            os.close(descriptor)


def measure(folder: Path, size_mb: int) -> dict[str, float]:
    """Write and read `size_mb` MiB each way in blocks of 1 MiB at depth 1; buffered writes end with fdatasync."""
    file = folder / "bandwidth"
    size = size_mb * BLOCK
    result = {}
    try:
        for name, direct in (("direct", os.O_DIRECT), ("buffered", 0)):
            # Written once before the clock starts: what is measured is the device, not the allocation of blocks.
            result[f"{name} write"] = _transfer(file, os.O_WRONLY | os.O_CREAT | direct, size, True)
            result[f"{name} read"] = _transfer(file, os.O_RDONLY | direct, size, False)
    finally:
        file.unlink(missing_ok=True)
    return result
