"""Counts words: a task for each block of a text, and a tree of merging tasks."""

import sys

from pycompss.api.api import compss_wait_on
from pycompss.api.constraint import constraint
from pycompss.api.parameter import *  # noqa: F403
from pycompss.api.task import task


@constraint(computing_units="1", app_software="none")
@task(file_path=FILE_IN, returns=list)  # noqa: F405
def read_block(file_path, first, size):
    with open(file_path) as file:
        return file.read().split()[first : first + size]


@task(returns=dict)
def count(words):
    counted = {}
    for word in words:
        counted[word] = counted.get(word, 0) + 1
    return counted


@task(returns=dict, priority=True)
def merge(*counts):
    total = {}
    for counted in counts:
        for word, number in counted.items():
            total[word] = total.get(word, 0) + number
    return total


def main():
    path, size = sys.argv[1], int(sys.argv[2])
    with open(path) as file:
        words = len(file.read().split())
    partial = [count(read_block(path, first, size)) for first in range(0, words, size)]
    while len(partial) > 1:
        partial = [merge(*partial[i : i + 3]) for i in range(0, len(partial), 3)]
    result = compss_wait_on(partial[0])
    for word in sorted(result):
        print(word, result[word])


if __name__ == "__main__":
    main()
