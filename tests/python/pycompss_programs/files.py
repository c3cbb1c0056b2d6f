"""Files and folders: written, appended to, read, waited for, deleted."""

import os
import sys

from pycompss.api.api import (
    compss_delete_file,
    compss_file_exists,
    compss_open,
    compss_wait_on,
    compss_wait_on_directory,
    compss_wait_on_file,
)
from pycompss.api.IO import IO
from pycompss.api.parameter import (
    COLLECTION_FILE_IN,
    DIRECTORY_IN,
    DIRECTORY_OUT,
    FILE_IN,
    FILE_INOUT,
    FILE_OUT,
    Depth,
    Type,
)
from pycompss.api.task import task


@IO()
@task(path=FILE_OUT)
def write(path, text):
    with open(path, "w") as file:
        file.write(text)


@task(path=FILE_INOUT)
def append(path, text):
    with open(path, "a") as file:
        file.write(text)


@task(path={Type: FILE_IN}, returns=1)
def read(path):
    with open(path) as file:
        return file.read()


@task(paths={Type: COLLECTION_FILE_IN, Depth: 1}, returns=int)
def total_size(paths):
    return sum(os.path.getsize(path) for path in paths)


@task(varargs_type=FILE_IN, returns=int)
def lengths(*paths):
    return sum(len(open(path).read()) for path in paths)


@task(folder=DIRECTORY_OUT)
def fill(folder, number):
    os.makedirs(folder)
    for i in range(number):
        with open(os.path.join(folder, str(i)), "w") as file:
            file.write(str(i))


@task(folder=DIRECTORY_IN, returns=list)
def names(folder):
    return sorted(os.listdir(folder))


def main():
    folder = sys.argv[1]
    paths = [os.path.join(folder, f"part-{i}") for i in range(4)]
    for i, path in enumerate(paths):
        write(path, f"begin {i}\n")
        for k in range(3):
            append(path, f"{k}")
    print(repr(compss_wait_on(read(paths[2]))))
    sizes = total_size(paths), lengths(*paths)
    print(compss_wait_on(*sizes))
    with compss_open(paths[1]) as file:
        print(repr(file.read()))
    append(paths[0], "!")
    with compss_open(paths[0], "a") as file:
        file.write("?")
    print(compss_wait_on_file(*paths) == paths, repr(compss_wait_on(read(paths[0]))))
    compss_delete_file(paths[3])
    print(compss_file_exists(*paths), compss_file_exists(paths[3]))
    inner = os.path.join(folder, "inner")
    fill(inner, 3)
    print(compss_wait_on(names(inner)))
    fill(inner + "2", 2)
    print(compss_wait_on_directory(inner + "2") == inner + "2", sorted(os.listdir(inner + "2")))


if __name__ == "__main__":
    main()
