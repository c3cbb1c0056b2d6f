"""Collections whose items are made by tasks, dictionaries, methods, several results, options."""

from pycompss.api.api import compss_delete_object, compss_wait_on
from pycompss.api.local import local
from pycompss.api.parameter import (
    COLLECTION_IN,
    COLLECTION_INOUT,
    COLLECTION_OUT,
    COMMUTATIVE,
    CONCURRENT,
    DICTIONARY_IN,
    DICTIONARY_INOUT,
    IN,
    IN_DELETE,
    Depth,
    Type,
)
from pycompss.api.task import task


class Cell:
    def __init__(self, value=0):
        self.value = value

    @task()
    def add(self, number):
        self.value += number

    @task(returns=int, target_direction=IN)
    def doubled(self):
        return 2 * self.value

    @classmethod
    @task(returns=1)
    def made(cls, value):
        return cls(value)

    @staticmethod
    @task(returns=int)
    def square(value):
        return value * value


@task(cells=COLLECTION_OUT)
def fill(cells):
    for i in range(len(cells)):
        cells[i] = Cell(10 * i)


@task(rows={Type: COLLECTION_INOUT, Depth: 2})
def grow(rows):
    for row in rows:
        for i, cell in enumerate(row):
            row[i] = Cell(cell.value + 1)


@task(cells=COLLECTION_IN, returns=1)
def total(cells):
    return sum(cell.value for cell in cells)


@task(cell=IN_DELETE, returns=1)
def value_of(cell):
    return cell.value


@task(table=DICTIONARY_INOUT)
def extend(table, key):
    table[key] = Cell(len(table))


@task(table=DICTIONARY_IN, returns=(int, list))
def describe(table):
    return len(table), sorted(table)


@task(log=COMMUTATIVE)
def note(log, text):
    log.append(text)


@task(log=CONCURRENT)
def note_too(log, text):
    log.append(text)


@task()
def inferred(a, b=2, *rest, **options):
    if options:
        return a, b
    return a + b, sum(rest)


@local
def shown(cell, factor=1):
    return cell.value * factor


def main():
    cells = [Cell() for _ in range(4)]
    fill(cells)
    cells[2].add(5)
    print(compss_wait_on(total(cells)), compss_wait_on(value_of(cells[2])), compss_wait_on(value_of(cells[3])))
    print([cell.value for cell in compss_wait_on(cells)])
    rows = [[Cell(1), Cell(2)], [Cell(3), Cell.made(4)]]
    grow(rows)
    grow(rows)
    print([[cell.value for cell in row] for row in compss_wait_on(rows)])

    table = {}
    for key in "ba":
        extend(table, key)
    number, keys = describe(table)
    print(compss_wait_on(number), compss_wait_on(keys), [cell.value for cell in compss_wait_on(table).values()])

    log = []
    for i in range(6):
        (note if i % 2 else note_too)(log, i)
    log = compss_wait_on(log)
    print(sorted(log), compss_delete_object(log))

    cell = Cell(3)
    cell.add(4)
    result = cell.doubled()
    cell.add(1)
    print(compss_wait_on(result), compss_wait_on(cell).value, shown(cell, factor=2))
    print(compss_wait_on(Cell.square(7)), compss_wait_on(inferred(1, 2, 3, 4)), compss_wait_on(inferred(1, b=5, c=6)))


if __name__ == "__main__":
    main()
