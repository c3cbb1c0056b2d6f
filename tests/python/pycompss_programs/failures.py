"""Policies for failures; the argument says which."""

import os
import sys
import time

from pycompss.api.api import TaskGroup, compss_barrier, compss_barrier_group, compss_open, compss_wait_on
from pycompss.api.exceptions import COMPSsException
from pycompss.api.on_failure import on_failure
from pycompss.api.parameter import FILE_OUT, INOUT
from pycompss.api.task import task


@task(returns=int)
def flaky(folder):
    number = len(os.listdir(folder))
    with open(os.path.join(folder, str(number)), "w"):
        pass
    if number < 2:
        raise OSError(f"try {number}")
    return number


@task(returns=1, on_failure="IGNORE")
def ignored():
    raise ValueError("not important")


@on_failure(management="IGNORE", returns=-1, values=[0])
@task(values=INOUT, returns=int)
def replaced(values):
    values.append(99)
    raise ValueError("half done")


@task(path=FILE_OUT, on_failure="IGNORE")
def unwritten(path):
    raise OSError("no file")


@task(returns=1, on_failure="CANCEL_SUCCESSORS")
def doomed():
    raise KeyError("gone")


@task(returns=1)
def after(value):
    return value


@task(returns=1, on_failure="FAIL")
def fatal():
    raise RuntimeError("the end")


@task(returns=1, time_out=1, on_failure="IGNORE")
def endless():
    time.sleep(600)


@task(returns=1, time_out="30")
def in_time(value):
    return value + 1


@task()
def raising(text):
    raise COMPSsException(text)


@task(returns=1)
def one():
    return 1


def policies(folder):
    print("retried", compss_wait_on(flaky(folder)))
    print("ignored", compss_wait_on(ignored()))
    values = [1]
    result = replaced(values)
    print("replaced", compss_wait_on(result), compss_wait_on(values))
    path = folder + ".empty"
    unwritten(path)
    with compss_open(path) as file:
        print("empty", repr(file.read()))
    lost = after(after(doomed()))
    print("cancelled", compss_wait_on(lost), compss_wait_on([lost, one()]))
    compss_barrier()
    print("limit", compss_wait_on(endless()), compss_wait_on(in_time(1)))


def groups():
    with TaskGroup("good"):
        results = [one() for _ in range(3)]
    print("good", compss_wait_on(results))
    try:
        with TaskGroup("bad"):
            one()
            raising("from a task")
        print("not reached")
    except COMPSsException as error:
        print("caught", error)
    with TaskGroup("later", False):
        raising("later")
    try:
        compss_barrier_group("later")
        print("not reached")
    except COMPSsException as error:
        print("caught", error)
    compss_barrier()
    print("end")


if __name__ == "__main__":
    if sys.argv[1] == "policies":
        policies(sys.argv[2])
    elif sys.argv[1] == "groups":
        groups()
    elif sys.argv[1] == "fatal":
        value = fatal()
        print(compss_wait_on(value))
        print("not reached")
    else:
        fatal()
        print("last line")
