"""`dt.read_file`: all bytes of a file, in tasks and elsewhere."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import sys
import threading
from pathlib import Path

import dovetail as dt
import pytest

read = dt.task(dt.read_file)
# One byte of a file more or less than what another way of reading or of making the object takes.
SIZES = [0, 1, 4095, 4096, 128 << 10, (128 << 10) + 1, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, (9 << 20) + 5]


def pattern(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def same(left: bytes, right: bytes) -> bool:
    """pytest would print both in full."""
    return left == right


@pytest.mark.parametrize("size", SIZES)
def test_all_bytes_come_wherever_they_are_read(tmp_path, size):
    path = tmp_path / "file"
    path.write_bytes(pattern(size))
    assert same(dt.read_file(path), pattern(size))
    for _ in range(3):  # what is known of the folder differs
        assert same(dt.wait(read(str(path))), pattern(size))
        assert same(dt.wait(dt.io(dt.read_file)(path)), pattern(size))
    plain = path.read_bytes()
    assert sys.getsizeof(dt.read_file(path)) == sys.getsizeof(plain)


def test_a_thousand_files_in_one_task_and_in_a_task_each(tmp_path):
    paths = [tmp_path / str(number) for number in range(1000)]
    for path in paths:
        path.write_text(path.name * 7)
    expected = [path.name.encode() * 7 for path in paths]

    @dt.task
    def all_of_them():
        return [dt.read_file(path) for path in paths]

    assert dt.wait([read(path) for path in paths]) == expected
    assert dt.wait(all_of_them()) == expected


def test_what_has_no_size_before_it_is_read_comes_whole():
    number = Path("/proc/sys/kernel/pid_max")  # ends at every offset but the first
    maps = Path("/proc/self/smaps")
    for take in (dt.read_file, lambda path: dt.wait(read(path))):
        assert int(take(number)) == int(number.read_text()) > 9
        taken = take(maps)
        assert len(taken) > 4096
        assert taken.endswith(b"\n")
        assert b"[stack]" in taken
        assert take("/dev/null") == b""


def test_what_cannot_be_read_is_named(tmp_path):
    (tmp_path / "present").write_bytes(b"x")
    for _ in range(2):
        for path, number in ((tmp_path / "missing", errno.ENOENT), (tmp_path, errno.EISDIR)):
            with pytest.raises(OSError, match=str(path)) as raised:
                dt.read_file(path)
            assert raised.value.errno == number
            with pytest.raises(dt.TaskFailed, match=str(path)) as failed:
                dt.wait(read(path))
            assert isinstance(failed.value.__cause__, OSError)
            assert failed.value.__cause__.errno == number
        assert dt.wait(read(tmp_path / "present")) == b"x"
    with pytest.raises(FileNotFoundError):
        dt.read_file(tmp_path / "missing")
    with pytest.raises(OSError, match="zero byte"):
        dt.read_file("a\0b")
    with pytest.raises(TypeError):
        dt.read_file(3)  # type: ignore[arg-type]


def test_more_bytes_than_there_is_memory_for_is_an_error_that_leaves_all_well(tmp_path):
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 39, before[1]))
    try:
        with pytest.raises(MemoryError):
            dt.read_file(path)
        with pytest.raises(dt.TaskFailed) as failed:
            dt.wait(read(path))
        assert isinstance(failed.value.__cause__, MemoryError)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert dt.wait(read("/dev/null")) == b""


def test_the_only_worker_runs_others_while_a_task_reads(tmp_path):
    """The writer is a task of the same worker, which can begin only when the reader pauses. The object grows as the bytes come."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    begun = threading.Event()

    @dt.task
    def take():
        begun.set()
        return dt.read_file(fifo)

    @dt.task
    def give():
        with dt.open(fifo, "r+") as file:
            file.pwrite(pattern(1_000_001))

    with dt.Runtime(workers=1):
        taken = take()
        begun.wait()
        give()
        assert same(dt.wait(taken), pattern(1_000_001))


def test_other_threads_go_on_while_a_thread_reads(tmp_path):
    """Of a FIFO whose other end opens only when the reading thread lets go of the interpreter."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    taken = []
    reader = threading.Thread(target=lambda: taken.append(dt.read_file(fifo)))
    reader.start()
    with fifo.open("wb") as file:
        file.write(b"abc")
    reader.join()
    assert taken == [b"abc"]


def test_a_coroutine_awaits_a_task_that_reads(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")

    async def body() -> bytes:
        return await read(tmp_path / "file")

    assert asyncio.run(body()) == b"abc"
    assert dt.wait(dt.task(body)()) == b"abc"
