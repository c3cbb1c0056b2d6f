"""A process task works on copies: what its body and the program do to arguments and results, small and large alike."""

from __future__ import annotations

import collections
import decimal
import random

import dovetail as dt
import numpy as np
import pytest
from dovetail import processes, shared_memory

# Items of 8 bytes: the first travels within the message, the second as a file in memory.
SMALL, LARGE = 10, 50_000
assert SMALL * 8 < shared_memory.SMALLEST < LARGE * 8
sizes = pytest.mark.parametrize("size", [SMALL, LARGE])


@pytest.fixture(scope="module", autouse=True)
def pool():
    yield
    processes.kill_all()


@dt.task(process=True)
def total(array):
    return float(array.sum())


@dt.task(process=True)
def same(array):
    return array


@dt.task(process=True)
def ones(size):
    return np.ones(size)


@sizes
def test_a_read_only_array_that_changes_after_all_is_seen_as_it_is(size):
    array = np.ones(size)
    older = array[:]
    array.flags.writeable = False
    assert dt.wait(total(array)) == size
    older[...] = 5
    assert dt.wait(total(array)) == 5 * size
    array.flags.writeable = True
    array[...] = 7
    array.flags.writeable = False
    assert dt.wait(total(array)) == 7 * size


@sizes
def test_a_body_may_write_to_what_it_reads_and_nobody_else_sees_it(size):
    @dt.task(process=True)
    def scribble(array, values):
        array[...] = 9
        values.append(9)
        return float(array.sum()), values

    array, values = np.ones(size), [1]
    for _ in range(4):
        assert dt.wait(scribble(array, values)) == (9 * size, [1, 9])
    assert array.sum() == size and values == [1]
    # What came from a process is sent again as it is.
    made = dt.wait(ones(size))
    for _ in range(4):
        assert dt.wait(scribble(made, [])) == (9 * size, [9])
        assert dt.wait(total(made)) == size
    assert made.sum() == size


@sizes
def test_writing_to_a_result_changes_nothing_that_later_tasks_see(size):
    array = np.ones(size)
    array.flags.writeable = False
    results = dt.wait([same(array) for _ in range(4)])
    for number, result in enumerate(results):
        result[...] = 100 + number
    assert [result[0] for result in results] == [100, 101, 102, 103]
    assert dt.wait([total(array) for _ in range(4)]) == [size] * 4
    first = dt.wait(ones(size))
    second = dt.wait(same(first))
    second[...] = 3
    assert dt.wait(total(first)) == size and dt.wait(total(second)) == 3 * size
    first[0] = 11
    assert second[0] == 3 and dt.wait(total(first)) == size + 10


@sizes
def test_what_a_body_keeps_is_what_it_got(size):
    """A process that remembers an argument is not told what the program writes to it later."""

    @dt.task(process=True)
    def remember(array):
        import builtins

        before = getattr(builtins, "remembered", None)
        builtins.remembered = array
        return None if before is None else float(before.sum())

    processes.kill_all()
    processes.set_size(1)
    try:
        array = dt.wait(ones(size))
        assert dt.wait(remember(array)) is None
        array[...] = 2
        assert dt.wait(remember(array)) == size
        assert dt.wait(remember(array)) == 2 * size
    finally:
        processes.kill_all()
        processes.set_size(0)


@sizes
def test_results_that_are_passed_on_are_those_of_a_plain_loop(size):
    """Random writes and calls, against the same without processes."""
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng = random.Random(seed)

    @dt.task(process=True)
    def combine(a, b):
        a += 1  # its own copy
        return a + 2 * b

    @dt.task(process=True, a=dt.INOUT)
    def scale(a, factor):
        a *= factor

    arrays = [np.arange(size) % 7.0 for _ in range(4)]
    plain = [array.copy() for array in arrays]
    for _ in range(40):
        i, j, k = (rng.randrange(4) for _ in range(3))
        choice, at = rng.randrange(4), rng.randrange(size)
        if choice == 0:
            arrays[i] = dt.wait(combine(arrays[j], arrays[k]))
            plain[i] = plain[j] + 1 + 2 * plain[k] if j != k else 3 * (plain[j] + 1)
        elif choice == 1:
            scale(arrays[i], 0.5)
            dt.wait(arrays[i])
            plain[i] *= 0.5
        elif choice == 2:
            arrays[i][at:] = at
            plain[i][at:] = at
        else:
            part = slice(at // 2, at)
            assert dt.wait(total(arrays[i][part])) == pytest.approx(plain[i][part].sum())
        if i != j:
            plain[j] = plain[j].copy() if plain[j] is plain[i] else plain[j]
        assert all((a == b).all() for a, b in zip(arrays, plain, strict=True))


def test_a_result_is_sent_again_as_it_is_until_it_is_written_to():
    made = dt.wait(ones(LARGE))
    assert shared_memory.file_with(made) is not None
    file, offset = shared_memory.file_with(made[1000:2000])
    assert offset == 8000 and shared_memory.file_with(made.reshape(100, -1).T)[0] is file
    made[-1] = 4
    assert shared_memory.file_with(made) is None
    assert shared_memory.file_with(made[:1000])[0] is file
    assert dt.wait(total(made)) == LARGE + 3
    assert dt.wait(total(made[::-1])) == LARGE + 3


def test_an_array_can_be_shared_once_for_all_tasks():
    source = np.asfortranarray(np.arange(2.0 * LARGE).reshape(2, -1))
    array = dt.shared(source)
    assert array.flags.f_contiguous and (array == source).all()
    file, _ = shared_memory.file_with(array)
    assert dt.wait([total(array) for _ in range(8)]) == [source.sum()] * 8
    assert shared_memory.file_with(array)[0] is file
    array[0, 0] = 5
    assert dt.wait(total(array)) == source.sum() + 5 and source[0, 0] == 0
    assert dt.wait(total(dt.shared(np.ones(3)))) == 3
    assert dt.shared([]).size == 0
    with pytest.raises(TypeError, match="Python objects"):
        dt.shared(np.array([object()]))


def test_the_file_of_a_result_cannot_be_changed():
    import os

    file, _ = shared_memory.file_with(dt.wait(ones(LARGE)))
    with pytest.raises(PermissionError):
        os.pwrite(file.descriptor, b"x", 0)


def test_arrays_of_all_layouts_arrive_as_they_are():
    seed = random.randrange(1 << 30)
    print("seed", seed)
    base = np.random.default_rng(seed).integers(0, 1 << 40, (60, 40, 30))
    records = np.zeros(5000, [("a", "i4"), ("b", "f8", (3,))])
    records["a"] = np.arange(5000)
    for array in (
        base,
        base.T,
        base[::2, ::-1],
        base.transpose(1, 0, 2),
        base.astype(">i8"),
        base.astype("datetime64[s]"),
        base > 1 << 39,
        records,
        records[::3],
        np.asarray(base.sum()),
        np.broadcast_to(np.arange(5000.0), (10, 5000)),
    ):
        back = dt.wait(same(array))
        assert back.dtype == array.dtype and back.shape == array.shape and (back == array).all()
        assert back.flags.writeable


@pytest.mark.parametrize("size", [3, LARGE])
def test_every_kind_of_argument_that_a_task_changes_is_changed_here_or_refused(size):
    @dt.task(process=True, x=dt.INOUT)
    def change(x):
        if isinstance(x, np.ndarray):
            x[0] = 5
        elif isinstance(x, tuple):
            x[0][0] = 5
        elif isinstance(x, decimal.Context):
            x.prec = 5
        elif isinstance(x, dict):
            x["a"] = 5
        elif isinstance(x, set):
            x.add(5)
        else:
            x.append(5)

    class Special(np.ndarray):
        pass

    objects = np.array([{}] * size, object)
    change(objects)
    assert dt.wait(objects)[0] == 5
    special = np.zeros(size).view(Special)
    change(special)
    assert dt.wait(special)[0] == 5
    gaps = np.zeros((size, 2))[:, 1]
    change(gaps)
    assert dt.wait(gaps)[0] == 5 and gaps.base[:, 0].sum() == 0
    pair = (np.zeros(size), "text")
    change(pair)
    assert dt.wait(pair)[0][0] == 5
    queue = collections.deque([1], maxlen=7)
    change(queue)
    assert list(dt.wait(queue)) == [1, 5] and queue.maxlen == 7
    table = collections.defaultdict(list, {"b": 1})
    change(table)
    assert dt.wait(table) == {"a": 5, "b": 1} and table["new"] == []
    things = {1}
    change(things)
    assert dt.wait(things) == {1, 5}
    with pytest.raises(dt.TaskFailed, match="argument 'x' of task 'change' .*'Context' cannot be brought up to"):
        dt.wait(change(decimal.Context()))


@sizes
def test_a_task_that_fails_leaves_its_arguments_as_they_were(size):
    @dt.task(process=True, a=dt.INOUT, retries=1)
    def half(a):
        first = a[0]
        a[...] = 9
        raise ValueError(f"began with {first}")

    for array in (np.ones(size), dt.wait(ones(size))):
        with pytest.raises(dt.TaskFailed, match=r"began with 1\.0"):
            dt.wait(half(array))
        assert array.sum() == size
