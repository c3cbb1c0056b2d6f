"""`dt.prefetch`: parts of a file come into the page cache in the background."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import threading

import dovetail as dt
import pytest
from dovetail import prefetch_status

MEBIBYTE = 1 << 20
C_LIBRARY = ctypes.CDLL(None, use_errno=True)
C_LIBRARY.mmap.restype = ctypes.c_void_p
C_LIBRARY.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
C_LIBRARY.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
C_LIBRARY.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)


def pages_of(path, offset: int, length: int) -> list[int]:
    """For each page of the range, whether it is in memory: 0 or 1."""
    descriptor = os.open(path, os.O_RDONLY)
    address = C_LIBRARY.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, offset)
    os.close(descriptor)
    pages = ctypes.create_string_buffer(length // 4096)
    assert C_LIBRARY.mincore(address, length, pages) == 0
    C_LIBRARY.munmap(address, length)
    return [page & 1 for page in pages.raw[: length // 4096]]


def cached(path, offset: int, length: int) -> int:
    """Bytes of the range that are in memory, in whole pages."""
    return 4096 * sum(pages_of(path, offset, length))


def wait_until_cached(path, offset: int, length: int) -> None:
    """Until each page has been there at some time: a kernel may drop any of them meanwhile."""
    seen = pages_of(path, offset, length)
    while not all(seen):
        seen = [page | now for page, now in zip(seen, pages_of(path, offset, length), strict=True)]
        os.sched_yield()


@pytest.fixture
def cold(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(os.urandom(4 * MEBIBYTE))
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if cached(path, 0, 4 * MEBIBYTE) != 0:
        pytest.skip("this file system keeps its files in memory")
    return path


def test_the_ranges_come_and_no_others(cold, monkeypatch):
    monkeypatch.setenv("DOVETAIL_PREFETCH_GAP_KB", "0")
    with dt.open(cold, "r") as file:
        dt.prefetch(file, ((offset, 65536) for offset in (3 * MEBIBYTE, 0)))
        wait_until_cached(cold, 0, 65536)
        wait_until_cached(cold, 3 * MEBIBYTE, 65536)
        assert cached(cold, 65536, MEBIBYTE) == 0


def test_a_task_has_all_of_a_file_brought(cold):
    @dt.task
    def ask(file):
        dt.prefetch(file)

    with dt.open(cold, "r") as file:
        ask(file).result()
        wait_until_cached(cold, 0, 4 * MEBIBYTE)


def test_what_a_task_declares_comes_while_it_waits_for_a_result(cold, monkeypatch):
    monkeypatch.setenv("DOVETAIL_PREFETCH_TASKS", "1")
    go = threading.Event()

    @dt.task
    def compute():
        go.wait()
        return 7

    @dt.task
    def read(file: dt.IN, result):
        return result

    with dt.Runtime(workers=2), dt.open(cold, "r") as file:
        answer = read(file, compute())
        wait_until_cached(cold, 0, 4 * MEBIBYTE)
        go.set()
        assert answer.result() == 7


def test_a_worker_process_may_ask_and_keeps_the_file_open_meanwhile(cold, monkeypatch):
    monkeypatch.setenv("DOVETAIL_PREFETCH_GAP_KB", "0")

    def ask(path, look):
        with dt.open(path, "r") as file:
            dt.prefetch(file, [(0, 65536), (MEBIBYTE, 65536)])
            look(path, 0, 65536)
            look(path, MEBIBYTE, 65536)
        return os.getpid()

    assert dt.task(process=True)(ask)(str(cold), wait_until_cached).result() != os.getpid()
    assert cached(cold, 2 * MEBIBYTE, MEBIBYTE) == 0


@pytest.mark.parametrize("ranges", [[(-1, 10)], [(0, -1)], [(0, 10), (5, -5)]])
def test_negative_numbers_are_refused(cold, ranges):
    with dt.open(cold, "r") as file, pytest.raises(ValueError, match="must not be negative"):
        dt.prefetch(file, ranges)


def test_what_no_file_can_have_is_refused(cold):
    with dt.open(cold, "r") as file, pytest.raises(OSError, match="prefetch") as error:
        dt.prefetch(file, [(1, (1 << 63) - 1)])
    assert error.value.errno == errno.EINVAL
    assert str(cold) in str(error.value)


def test_a_closed_file_is_refused(cold):
    file = dt.open(cold, "r")
    file.close()
    with pytest.raises(OSError) as error:
        dt.prefetch(file, [(0, 10)])
    assert error.value.errno == errno.EBADF


def test_what_are_no_ranges_is_refused(cold):
    with dt.open(cold, "r") as file:
        for ranges in (1, [1, 2], [("a", 1)], [(1 << 70, 1)]):
            with pytest.raises(TypeError):
                dt.prefetch(file, ranges)
        with pytest.raises(ValueError, match="unpack"):
            dt.prefetch(file, [(0, 1, 2)])
        with pytest.raises((AttributeError, TypeError)):
            dt.prefetch(str(cold), [(0, 1)])


def test_what_was_brought_is_shown(cold):
    before = _asked_for()
    with dt.open(cold, "r") as file:
        dt.prefetch(file, [(0, MEBIBYTE)])
        wait_until_cached(cold, 0, MEBIBYTE)
        while _asked_for() - before < MEBIBYTE:
            os.sched_yield()
    assert _asked_for() - before == MEBIBYTE


def _asked_for() -> int:
    """Bytes that `dovetail prefetch status` shows of this process for calls of `dt.prefetch`."""
    found = [one for one in prefetch_status._programs() if one.process == os.getpid()]
    return sum(way.asked for one in found for way in one.ways if way.way == "what the program asks for")
