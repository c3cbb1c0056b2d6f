"""Each of the names that the other programs do not use, with what it promises."""

import os
import sys
import threading

from pycompss.api.api import (
    TaskGroup,
    compss_barrier,
    compss_cancel_group,
    compss_delete_object,
    compss_get_number_of_resources,
    compss_start,
    compss_stop,
    compss_wait_on,
    compss_wait_on_directory,
    compss_wait_on_file,
)
from pycompss.api.constraint import constraint
from pycompss.api.parameter import (
    COLLECTION_FILE_INOUT,
    COLLECTION_FILE_OUT,
    COLLECTION_IN_DELETE,
    COMMUTATIVE,
    CONCURRENT,
    DICTIONARY_IN_DELETE,
    DICTIONARY_OUT,
    DIRECTORY,
    DIRECTORY_INOUT,
    FILE,
    FILE_COMMUTATIVE,
    FILE_CONCURRENT,
    IN_DELETE,
    OUT,
    Cache,
    Keep_rename,
    Type,
    Weight,
)
from pycompss.api.task import task

COUNT = 3


@task(values=OUT)
def fill(values):
    values[:] = [1, 2, 3]


@task(path={Type: FILE, Cache: False, Keep_rename: True, Weight: "1.0"}, returns=1)
def read(path):
    with open(path) as file:
        return file.read()


@task(path=FILE_COMMUTATIVE)
def append_in_any_order(path, text):
    with open(path, "a") as file:
        file.write(text)


@task(path=FILE_CONCURRENT)
def append_concurrently(path, text):
    with open(path, "a") as file:
        file.write(text)


@task(folder=DIRECTORY_INOUT)
def add(folder, name):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w") as file:
        file.write(name)


@task(folder=DIRECTORY, returns=1)
def names_in(folder):
    return sorted(os.listdir(folder))


@task(paths=COLLECTION_FILE_OUT)
def write_all(paths):
    for path in paths:
        with open(path, "w") as file:
            file.write("a")


@task(paths=COLLECTION_FILE_INOUT)
def append_all(paths):
    for path in paths:
        with open(path, "a") as file:
            file.write("b")


@task(values=COLLECTION_IN_DELETE, table=DICTIONARY_IN_DELETE, one=IN_DELETE, returns=1)
def use(values, table, one):
    return sum(values) + sum(table.values()) + one[0]


@task(table=DICTIONARY_OUT)
def tabulate(table):
    for key in table:
        table[key] = [key]


@task(counter=COMMUTATIVE)
def count(counter):
    counter[0] += 1


@task(counter=CONCURRENT)
def count_concurrently(counter):
    counter[0] += 1


attempts = []


@task(returns=1, on_failure="RETRY", is_replicated=True, is_distributed=True, cache_returns=False)
def third_time():
    attempts.append(None)
    if len(attempts) < 3:
        raise OSError("not yet")
    return len(attempts)


@constraint(memory_size=1, computing_units="$UNITS")
@task(returns="COUNT")
def three():
    return 1, 2, 3


@task(returns="$RESULTS")
def two():
    return 1, 2


@task(returns=1)
def held(gate):
    gate.wait()
    return "ran"


@task(returns=1)
def behind(value):
    return value


def text_of(path):
    with open(path) as file:
        return file.read()


def main(folder):
    compss_start()
    os.chdir(folder)
    values = []
    fill(values)
    print("OUT", compss_wait_on(values))
    with open("plain", "w") as file:
        file.write("text")
    print("FILE", compss_wait_on(read("plain")))
    for number in range(4):
        append_in_any_order("commuted", str(number))
        append_concurrently("concurrent", str(number))
    compss_wait_on_file("commuted", "concurrent")
    print("FILE_COMMUTATIVE", "".join(sorted(text_of("commuted"))))
    print("FILE_CONCURRENT", "".join(sorted(text_of("concurrent"))))
    add("folder", "one")
    add("folder", "two")
    print("DIRECTORY_INOUT", compss_wait_on(names_in("folder")))
    compss_wait_on_directory("folder")
    paths = ["x", "y"]
    write_all(paths)
    append_all(paths)
    compss_barrier()
    print("COLLECTION_FILE", [text_of(path) for path in paths])
    print("IN_DELETE", compss_wait_on(use([1, 2], {"a": 3}, [4])))
    table = {"a": [], "b": []}
    tabulate(table)
    print("DICTIONARY_OUT", compss_wait_on(table))
    counter = [0]
    for _ in range(20):
        count(counter)
        count_concurrently(counter)
    print("COMMUTATIVE", compss_wait_on(counter))
    print("RETRY", compss_wait_on(third_time()))
    print("returns", len(three()), len(two()))
    gate = threading.Event()
    with TaskGroup("cancelled", False):
        first = held(gate)
        rest = behind(first)
    compss_cancel_group("cancelled")
    gate.set()
    print("compss_cancel_group", compss_wait_on(rest))
    print("compss_delete_object", compss_delete_object(values), compss_delete_object(values, counter))
    print("compss_get_number_of_resources", compss_get_number_of_resources())
    compss_stop()


if __name__ == "__main__":
    main(sys.argv[1])
