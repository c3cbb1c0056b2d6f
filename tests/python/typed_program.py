"""What type checkers say of programs: `types_test.py` gives this to mypy (and to pyright where it is). Lines with `# wrong` must be errors, others not."""

import asyncio
from collections.abc import Iterator
from typing import assert_type

import dovetail as dt


@dt.task
def double(x: int) -> int:
    return 2 * x


@dt.task(label="join", retries=2, retry_on=OSError, retry_delay=0.1, time_limit=5, limit=3)
def join(a: str, b: str = "", *, times: int = 1) -> str:
    return (a + b) * times


@dt.io
def length(path: str) -> int:
    return len(path)


@dt.io(path=dt.FILE_IN)
def first(path: str) -> bytes:
    return path.encode()[:1]


@dt.task
def total(numbers: list[int]) -> int:
    return sum(numbers)


@dt.task(returns=2)
def split(x: int) -> tuple[int, str]:
    return x, str(x)


@dt.task(stream=8)
def count(end: int) -> Iterator[int]:
    yield from range(end)


@dt.task
async def later(x: int) -> str:
    await asyncio.sleep(0)
    return str(x)


class Counter:
    def __init__(self) -> None:
        self.value = 1

    @dt.task
    def plus(self, x: int) -> int:
        return self.value + x


def main() -> None:
    assert_type(double(1), dt.Future[int])
    assert_type(double(double(1)), dt.Future[int])
    assert_type(join("a", join("b")), dt.Future[str])
    assert_type(total([double(1), double(2)]), dt.Future[int])
    assert_type(length("path"), dt.Future[int])
    assert_type(first("path").result(timeout=1), bytes)
    assert_type(later(1), dt.Future[str])
    number, text = split(1)
    assert_type(number, dt.Future[int])
    assert_type(text.result(), str)
    assert_type(Counter().plus(1), dt.Future[int])
    assert_type(Counter().plus(double(1)), dt.Future[int])
    assert_type(list(count(3)), list[int])
    assert_type(dt.wait(double(1)), int)
    assert_type(dt.wait([double(1)], timeout=5), list[int])
    assert_type(list(dt.map(double, [1])), list[int])
    assert_type(next(iter(dt.as_completed([double(1)]))), dt.Future[int])
    assert_type(dt.read_file("path"), bytes)
    assert_type(dt.task(dt.read_file)("path"), dt.Future[bytes])
    with dt.Executor(2) as executor:
        assert_type(executor.submit(len, "word").result(), int)
    double("a")  # wrong
    join("a", times="b")  # wrong
    length()  # wrong
    dt.read_file(3)  # wrong
    Counter().plus("a")  # wrong
    dt.task(lable="a")(len)  # wrong
    dt.io(retries="a")(len)  # wrong
    double(1).result() + "a"  # wrong
    split(1)[0].result() + "a"  # wrong
    executor.submit(len)  # wrong
