"""Multiplies matrices of blocks, each changed in place by a chain of tasks."""

import sys

import numpy as np
from pycompss.api.api import compss_barrier, compss_wait_on
from pycompss.api.parameter import INOUT
from pycompss.api.task import task


@task(returns=np.ndarray)
def make(size, seed):
    return np.random.default_rng(seed).random((size, size))


@task(returns=1)
def zeros(size):
    return np.zeros((size, size))


@task(c=INOUT)
def multiply(a, b, c):
    c += a @ b


def main(blocks, size):
    a = [[make(size, 10 * i + j) for j in range(blocks)] for i in range(blocks)]
    b = [[make(size, 100 + 10 * i + j) for j in range(blocks)] for i in range(blocks)]
    # Both ways to begin: an object of the program, and a task's result that other tasks change.
    c = [[np.zeros((size, size)) if j % 2 else zeros(size) for j in range(blocks)] for i in range(blocks)]
    for i in range(blocks):
        for j in range(blocks):
            for k in range(blocks):
                multiply(a[i][k], b[k][j], c[i][j])
    compss_barrier()
    a, b = compss_wait_on(a, b)
    c = compss_wait_on(c)
    expected = np.block(a) @ np.block(b)
    print("equal", bool(np.allclose(np.block(c), expected)), np.block(c).shape)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
