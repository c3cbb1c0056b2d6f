"""What tasks do to arrays, objects and files, and in which order."""

from __future__ import annotations

import errno
import os
import random
import threading
from pathlib import Path

import dovetail as dt
import numpy as np
import pytest


@dt.task(a=dt.INOUT)
def add_to(a, value):
    a += value


@dt.task(a=dt.INOUT)
def scale(a, factor):
    a *= factor


@dt.task(target=dt.OUT)
def copy_to(target, source):
    target[...] = source


def test_overlapping_views_are_ordered_as_a_plain_loop_would():
    """Against the same operations without tasks, on views of all shapes."""
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng = random.Random(seed)
    mine, plain = np.zeros((40, 60)), np.zeros((40, 60))

    def view(array, choice):
        kind, a, b, c, d = choice
        if kind == 0:
            return array[a:b, c:d]
        if kind == 1:
            return array[a:b:2, ::-1]
        if kind == 2:
            return array.T[c:d, a:b]
        return array.reshape(-1)[a * 7 : a * 7 + 500]

    for step in range(400):
        rows, columns = sorted(rng.sample(range(41), 2)), sorted(rng.sample(range(61), 2))
        choice = (rng.randrange(4), *rows, *columns)
        if rng.random() < 0.5:
            add_to(view(mine, choice), step)
            view(plain, choice)[...] += step
        elif rng.random() < 0.7:
            scale(view(mine, choice), 0.5)
            view(plain, choice)[...] *= 0.5
        else:
            copy_to(view(mine, choice), np.float64(step))
            view(plain, choice)[...] = step
    assert dt.wait(mine) is mine
    assert (mine == plain).all()


def test_a_reader_sees_the_array_before_a_later_writer():
    array = np.zeros(10)

    @dt.io
    def read_late(a, gate):
        gate.wait()
        return a.sum()

    gate = threading.Event()
    first = read_late(array, gate)
    add_to(array, 1)
    gate.set()
    assert dt.wait(first) == 0
    assert dt.wait(array).sum() == 10


def test_blocks_of_one_matrix_that_do_not_overlap_run_beside_each_other():
    meet = threading.Barrier(2)
    matrix = np.zeros((8, 1000))

    @dt.io(block=dt.INOUT)
    def both(block):
        meet.wait()
        block += 1

    both(matrix[:, :500])
    both(matrix[:, 500:])
    assert dt.wait(matrix).all()


def test_arrays_of_dates_bytes_and_nothing():
    dates = np.zeros(4, "datetime64[s]")
    data = bytearray(4)

    @dt.task(a=dt.INOUT, b=dt.INOUT)
    def change(a, b):
        a += np.timedelta64(5, "s")
        b[0] += 1

    for _ in range(20):
        change(dates, data)
    assert dt.wait(dates)[0] == np.datetime64(100, "s")
    assert dt.wait(data)[0] == 20
    assert dt.wait(np.zeros(0)).size == 0


def test_objects_are_ordered_by_identity():
    class Thing:
        total = 0

    things, log = [Thing(), Thing()], []

    @dt.task(thing=dt.INOUT)
    def bump(thing, by):
        thing.total = thing.total * 2 + by

    @dt.task(values=dt.INOUT)
    def append(values, x):
        values.append(x)

    expected = [0, 0]
    for i in range(100):
        bump(things[i % 2], i)
        expected[i % 2] = expected[i % 2] * 2 + i
        append(log, i)
    dt.wait(things)
    assert [thing.total for thing in things] == expected
    assert dt.wait(log) == list(range(100))


def test_a_list_that_is_changed_orders_what_is_in_it():
    arrays = [np.zeros(5) for _ in range(3)]

    @dt.task(values=dt.INOUT)
    def change_all(values):
        for value in values:
            value += 1

    for _ in range(20):
        change_all(arrays)
        add_to(arrays[1], 10)
    dt.wait(arrays)
    assert [array[0] for array in arrays] == [20, 220, 20]


def test_commutative_tasks_exclude_each_other_in_any_order():
    counter = [0]
    inside = []

    @dt.io(counter=dt.COMMUTATIVE)
    def bump(counter):
        inside.append(1)
        seen = counter[0]
        assert len(inside) == 1
        counter[0] = seen + 1
        inside.pop()

    for _ in range(200):
        bump(counter)
    assert dt.wait(counter) == [200]


def test_a_future_that_is_changed_is_changed_before_later_readers():
    @dt.task
    def make():
        return [0]

    @dt.task(values=dt.INOUT)
    def append(values, x):
        values.append(x)

    @dt.task
    def total(values):
        return sum(values)

    values = make()
    for i in range(50):
        append(values, i)
    assert dt.wait(total(values)) == sum(range(50))
    assert dt.wait(values) == [0, *range(50)]


def test_the_same_thing_twice_in_one_call():
    array = np.ones(4)

    @dt.task(a=dt.INOUT)
    def both(a, b):
        a += b

    for _ in range(3):
        both(array, array)
    assert dt.wait(array)[0] == 8


@pytest.mark.parametrize("value", [1, "text", 2.5, b"bytes"])
def test_what_cannot_change_cannot_be_written(value):
    with pytest.raises(TypeError, match="argument 'a' is declared as written"):
        add_to(value, 1)


def test_a_read_only_array_cannot_be_written():
    array = np.zeros(3)
    array.flags.writeable = False
    with pytest.raises(ValueError, match="argument 'a' .* read-only"):
        add_to(array, 1)


@dt.task(path=dt.FILE_OUT)
def write(path, text):
    with open(path, "w") as file:
        file.write(text)


@dt.io(path=dt.FILE_INOUT)
def append(path, text):
    with open(path, "a") as file:
        file.write(text)


@dt.io(path=dt.FILE_IN)
def read(path):
    with open(path) as file:
        return file.read()


@pytest.mark.parametrize("wrap", [str, Path, os.fsencode, dt.File])
def test_a_path_with_a_zero_byte_is_refused_and_not_cut(tmp_path, monkeypatch, wrap):
    """By the call, before anything runs."""
    monkeypatch.chdir(tmp_path)
    ran = []

    @dt.task(path=dt.FILE_OUT)
    def body(path):
        ran.append(path)

    @dt.task(path=dt.FILE_OUT, process=True)
    def elsewhere(path):
        pass

    for task in (body, elsewhere):
        with pytest.raises(ValueError, match=r"argument 'path' .*a\\x00b.*null byte"):
            task(wrap("a\0b"))
    with pytest.raises(TypeError, match="argument 'path' .* must be a path, not a value of type 'int'"):
        body(3)
    dt.barrier()
    assert not ran and not os.listdir()


def test_opening_a_path_with_a_zero_byte_is_refused_and_not_cut(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for mode in ("r", "w", "a", "x"):
        with pytest.raises(OSError, match="zero byte") as raised:
            dt.open("a\0b", mode)
        assert raised.value.errno == errno.EINVAL
    assert not os.listdir()
    for name in ("trace", "config"):
        with pytest.raises((ValueError, OSError), match=rf"{name}.*a\\(x0)?0b"):
            dt.Runtime(**{name: "a\0b"}).start()
    assert not os.listdir()


def test_files_are_ordered_whatever_way_their_path_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("folder")
    os.symlink("folder", "link")
    write("folder/a.txt", "0")
    texts = []
    for i in range(1, 20):
        append(tmp_path / "folder" / "a.txt", str(i % 10))
        texts.append(read("link/../folder/./a.txt"))
    write(os.path.join("link", "a.txt"), "new")
    last = read(dt.File("folder/a.txt"))
    assert dt.wait(texts) == ["".join(str(k % 10) for k in range(i + 1)) for i in range(1, 20)]
    assert dt.wait(last) == "new"


def test_a_relative_name_means_the_same_file_before_and_after_it_is_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = threading.Event()
    go_on = threading.Event()

    @dt.io(path=dt.FILE_INOUT)
    def make(path):
        with open(path, "w") as file:
            made.set()
            go_on.wait()
            file.write("all of it")

    make("made.txt")
    made.wait()
    text = read("made.txt")
    write("other.txt", "0")
    dt.wait(read("other.txt"))  # what came before, and waited for nothing, has begun
    go_on.set()
    assert dt.wait(text) == "all of it"


def test_file_objects_take_the_direction_of_their_parameter(tmp_path):
    @dt.io(target=dt.INOUT)
    def grow(target):
        with open(target, "a") as file:
            file.write("x")

    target = dt.File(tmp_path / "grown")
    for _ in range(30):
        grow(target)
    assert dt.wait(target) is target
    assert (tmp_path / "grown").read_text() == "x" * 30
    assert dt.File("a") == dt.File("./a") and hash(dt.File("a")) == hash(dt.File("./a"))


def test_a_file_parameter_must_be_a_path():
    with pytest.raises(TypeError, match="argument 'path' .* must be a path"):
        write(3, "x")


def test_transfers_through_the_engine(tmp_path):
    path = tmp_path / "data"
    seed = random.randrange(1 << 30)
    print("seed", seed)
    data = np.random.default_rng(seed).integers(0, 256, 1 << 20, np.uint8)

    @dt.task
    def write_block(file, i):
        return file.pwrite(data[i << 14 : (i + 1) << 14], i << 14)

    @dt.task(into=dt.OUT)
    def read_block(file, into, i):
        return file.pread(into, i << 14)

    with dt.open(path, "w") as file:
        assert dt.wait([write_block(file, i) for i in range(64)]) == [1 << 14] * 64
        assert file.size == path.stat().st_size == 1 << 20
        back = np.zeros_like(data)
        for i in range(64):
            read_block(file, back[i << 14 : (i + 1) << 14], i)
        assert (dt.wait(back) == data).all()
        # Outside of tasks; past the end there is less.
        tail = np.zeros(100, np.uint8)
        assert file.pread(tail, (1 << 20) - 10) == 10
        file.pwrite_durable(np.arange(5, dtype=np.int64), 8)
        file.fsync()
        file.truncate(48)
    assert file.closed
    assert np.fromfile(path, np.int64)[1:].tolist() == list(range(5))


def test_arrays_for_direct_transfers_are_aligned():
    array = dt.empty((3, 5), "f4")
    assert array.shape == (3, 5) and array.dtype == np.float32 and array.flags.c_contiguous
    assert array.ctypes.data % 4096 == 0
    assert dt.empty(7).shape == (7,)


def test_an_open_file_that_is_written_orders_its_tasks(tmp_path):
    @dt.task(file=dt.INOUT)
    def double(file):
        value = np.zeros(1, np.int64)
        file.pread(value, 0)
        value = value * 2 + 1
        file.pwrite(value, 0)

    with dt.open(tmp_path / "n", "w") as file:
        file.pwrite(np.zeros(1, np.int64), 0)
        for _ in range(20):
            double(file)
        dt.wait(file)
        value = np.zeros(1, np.int64)
        file.pread(value)
        assert value[0] == (1 << 20) - 1


def test_errors_of_files_name_the_file_and_what_is_wrong(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothere"):
        dt.open(tmp_path / "nothere", "r")
    with pytest.raises(ValueError, match="mode must be one of"):
        dt.open(tmp_path / "x", "z")
    with pytest.raises(ValueError, match="direct must be"):
        dt.open(tmp_path / "x", "w", direct="perhaps")
    (tmp_path / "r").write_bytes(b"abc")
    with dt.open(tmp_path / "r", "r") as file:
        with pytest.raises(OSError, match="offset 7") as error:
            file.pwrite(b"abc", 7)
        assert error.value.errno == 9
        with pytest.raises(ValueError, match="contiguous"):
            file.pread(np.zeros((4, 4))[:, ::2], 0)
        with pytest.raises(ValueError, match="written to"):
            file.pread(b"const", 0)
        with pytest.raises(TypeError, match="'list'"):
            file.pread([1], 0)
        with pytest.raises(ValueError, match="negative"):
            file.pread(bytearray(3), -1)

        @dt.task(label="write it")
        def body():
            file.pwrite(b"abc", 7)

        with pytest.raises(dt.TaskFailed, match="write it.*offset 7") as failure:
            dt.wait(body())
        assert isinstance(failure.value.__cause__, OSError)
    with pytest.raises(OSError, match="r"):
        file.pread(bytearray(3), 0)


@pytest.mark.parametrize("direct", ["never", "automatic"])
@pytest.mark.parametrize("askew", [0, 16])
def test_large_transfers_are_cut_up_and_put_together(tmp_path, direct, askew):
    size = (33 << 20) + 12_345
    memory = np.zeros(size + 8192, np.uint8)
    begin = -memory.ctypes.data % 4096 + askew
    array = memory[begin : begin + size]
    expected = np.resize(np.arange(size // 8 + 1, dtype=np.int64).view(np.uint8), size)

    @dt.task
    def write(file):
        return file.pwrite(expected, 4096)

    @dt.task(into=dt.OUT)
    def read(file, into):
        return file.pread(into, 4096)

    @dt.io(into=dt.OUT)
    def read_on_an_executor(file, into):
        return file.pread(into, 4096)

    with dt.open(tmp_path / "large", "w", direct=direct) as file:
        assert dt.wait(write(file)) == size
        for way in (read, read_on_an_executor, lambda file, into: file.pread(into, 4096)):
            array[:] = 0
            assert dt.wait(way(file, array)) == size
            assert (array == expected).all()
        array[:] = 7
        assert file.pwrite(array, 4096) == size
        # At the end of the file there is less.
        array[:] = 1
        assert file.pread(array, 4096 + (20 << 20)) == size - (20 << 20)
        assert (array[: size - (20 << 20)] == 7).all()
    with dt.open(tmp_path / "large", "r") as file, pytest.raises(OSError, match="pwrite.*large"):
        file.pwrite(array, 0)
