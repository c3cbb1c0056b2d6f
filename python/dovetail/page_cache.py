"""How much of a file is in the page cache."""

from __future__ import annotations

import ctypes
import mmap

PAGE = mmap.PAGESIZE
_CACHESTAT = 451
_LIBC = ctypes.CDLL(None)


class _Range(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("length", ctypes.c_uint64))


class _Pages(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_uint64) for name in ("cached", "dirty", "written_back", "evicted", "recently_evicted")
    )


def cached_pages(descriptor: int, offset: int, count: int) -> int | None:
    """Pages of so many bytes from there, more than none, that are in memory. None: the kernel cannot say (before Linux 6.5), or does not to this user."""
    asked, pages = _Range(offset, count), _Pages()
    failed = _LIBC.syscall(_CACHESTAT, descriptor, ctypes.byref(asked), ctypes.byref(pages), 0)
    return None if failed else int(pages.cached)


def pages_of(count: int) -> int:
    """Pages of so many bytes from the beginning of a file."""
    return -(-count // PAGE)
