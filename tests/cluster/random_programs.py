"""Random programs of tasks on objects, arrays and their regions, files, containers of futures and failures."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import dovetail as dt
import numpy as np

_OBJECTS, _FILES, _CELLS = 4, 3, 48
_LARGE = 200_000  # numbers, more than a message of a batch takes
_RECORD = 8


class Failing(ValueError):
    """What a body raises on purpose."""


def _work(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def append(target: list[Any], source: list[Any], x: Any, fails: bool, seconds: float) -> Any:
    _work(seconds)
    if fails:
        raise Failing(f"append {x}")
    target.append((len(source), x))
    return len(target)


def mix(target: Any, source: Any, x: int, fails: bool, seconds: float) -> float:
    _work(seconds)
    if fails:
        raise Failing(f"mix {x}")
    target *= 3
    target += x + source.sum() % 7
    target %= 10007
    return float(target.sum())


def add(target: Any, x: int, seconds: float) -> None:
    _work(seconds)
    target += x


def turn(target: Any, x: int, seconds: float) -> float:
    _work(seconds)
    target[:] = target[::-1] + x
    return float(target[0])


def write(path: str, text: str, fails: bool, seconds: float) -> int:
    with open(path, "w") as file:
        file.write(text[: len(text) // 2])
        file.flush()
        _work(seconds)
        if fails:
            raise Failing(f"write {text}")
        file.write(text[len(text) // 2 :])
    return len(text)


def patch(path: str, place: int, x: int, seconds: float) -> int:
    """May run again, since it does not depend on what it changes."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        _work(seconds)
        os.pwrite(descriptor, b"%08d" % x, place * _RECORD)
        return os.fstat(descriptor).st_size >= (place + 1) * _RECORD
    finally:
        os.close(descriptor)


def read(path: str, seconds: float) -> str:
    _work(seconds)
    return Path(path).read_text() if os.path.exists(path) else "nothing"


def total(values: list[Any], named: dict[str, Any], seconds: float) -> float:
    _work(seconds)
    return sum(map(float, values)) + sum(map(float, named.values()))


class Program:
    """The same for the same seed, wherever it runs. seconds: that a body takes at most. A device "disk" of 100 MB/s must be there."""

    def __init__(self, seed: int, length: int, seconds: float) -> None:
        self._seed = seed
        self._length = length
        self._seconds = seconds

    def run(self, folder: Path) -> list[str]:
        """What it leaves: objects, array, files, and the end of each task."""
        folder.mkdir()
        choose = random.Random(self._seed)
        objects: list[list[Any]] = [[] for _ in range(_OBJECTS)]
        array = np.arange(_CELLS)
        large = np.arange(_LARGE)
        paths = [str(folder / f"file{i}") for i in range(_FILES)]
        futures: list[Any] = []
        numbers: list[Any] = [1]
        for i in range(self._length):
            seconds = choose.random() * self._seconds
            fails = choose.random() < 0.05
            options: dict[str, Any] = {"io": choose.random() < 0.3, "priority": choose.randrange(3)}
            if choose.random() < 0.2:
                options["limit"] = choose.randint(1, 3)
            if choose.random() < 0.2:
                options |= {"storage_bw": choose.choice([20, 60, 100]), "device": "disk"}
            kind = choose.randrange(6) if choose.random() < 0.95 else 6
            if kind == 0:
                target, source = choose.sample(range(_OBJECTS), 2)
                call = dt.task(append, target=dt.INOUT, **options)
                future = call(objects[target], objects[source], choose.choice(numbers[-5:]), fails, seconds)
                numbers.append(future)
            elif kind == 1:
                begin, other = choose.randrange(_CELLS - 8), choose.randrange(_CELLS - 8)
                target, source = array[begin : begin + choose.randint(1, 8)], array[other : other + 4]
                if np.shares_memory(target, source):
                    source = source.copy() * 0
                if choose.random() < 0.3:
                    future = dt.task(add, target=dt.COMMUTATIVE, **options)(target, i, seconds)
                else:
                    future = dt.task(mix, target=dt.INOUT, **options)(target, source, i, fails, seconds)
                    numbers.append(future)
            elif kind == 2:
                future = dt.task(write, path=dt.FILE_OUT, **options)(
                    choose.choice(paths), f"{i:08}" * 3, fails, seconds
                )
            elif kind == 3:
                call = dt.task(patch, path=dt.FILE_INOUT, retries=50, **options)
                future = call(choose.choice(paths), choose.randrange(6), i, seconds)
            elif kind == 4:
                future = dt.task(read, path=dt.FILE_IN, **options)(choose.choice(paths), seconds)
            elif kind == 6:
                begin = choose.randrange(_LARGE // 4)
                call = dt.task(turn, target=dt.INOUT, **options)
                future = call(large[begin : begin + _LARGE * 3 // 4], i, seconds)
            else:
                values = choose.sample(numbers, min(len(numbers), 3))
                future = dt.task(total, **options)(values, {"last": numbers[-1]}, seconds)
                numbers.append(future)
            futures.append(future)
        ends = [_end(future) for future in futures]
        dt.barrier()
        left = [_text(Path(path)) for path in paths]
        return [*ends, repr(objects), repr(array.tolist()), large.tobytes().hex(), *left]


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else "nothing"


def _end(future: Any) -> str:
    try:
        return repr(future.result())
    except dt.TaskFailed as error:
        # If two of those that it needs have failed, any of them may be named.
        return f"{error.label} cancelled" if error.cancelled else f"{error.label} {error.__cause__!r}"
