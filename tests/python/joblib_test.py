"""The backend of joblib: the same results as its own backends, in threads and in processes."""

from __future__ import annotations

import threading

import dovetail as dt
import pytest

joblib = pytest.importorskip("joblib")


@pytest.fixture(autouse=True)
def registered():
    dt.register_joblib()
    dt.register_joblib()


def distance(a, b):
    return abs(a - b)


def nested(count):
    return sum(joblib.Parallel(n_jobs=2)(joblib.delayed(distance)(n, 1) for n in range(count)))


def refuse(number):
    if number == 30:
        raise LookupError(number)
    return number


CALLS = [
    lambda: joblib.Parallel()(joblib.delayed(distance)(n, 50) for n in range(200)),
    lambda: joblib.Parallel(batch_size=7, pre_dispatch="all")(joblib.delayed(distance)(n, b=3) for n in range(100)),
    lambda: joblib.Parallel()(joblib.delayed(nested)(n) for n in range(6)),
    lambda: list(joblib.Parallel(return_as="generator")(joblib.delayed(distance)(n, 2) for n in range(20))),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("options", [{}, {"process": True}])
def test_results_are_those_of_other_backends(call, options):
    with joblib.parallel_config(backend="threading", n_jobs=2):
        expected = call()
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert call() == expected
    with joblib.parallel_config(backend="dovetail", n_jobs=2, **options):
        assert call() == expected
        with pytest.raises(LookupError, match="30"):
            joblib.Parallel()(joblib.delayed(refuse)(n) for n in range(100))
        assert call() == expected


def test_calls_are_tasks_and_no_more_than_n_jobs_at_once():
    lock, now, most = threading.Lock(), [0], [0]

    def body():
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        for _ in range(1000):
            pass
        with lock:
            now[0] -= 1
        return dt.in_task()

    with joblib.parallel_config(backend="dovetail", n_jobs=2):
        assert all(joblib.Parallel(batch_size=1)(joblib.delayed(body)() for _ in range(100)))
    assert most[0] <= 2


def test_in_a_task_on_one_worker():
    """joblib sleeps on the worker while it waits, so that its calls must run elsewhere."""

    @dt.task
    def total(count):
        with joblib.parallel_config(backend="dovetail", n_jobs=2):
            return sum(joblib.Parallel()(joblib.delayed(distance)(n, 0) for n in range(count)))

    with dt.Runtime(workers=1):
        assert dt.wait([total(10), total(20)], timeout=120) == [45, 190]


def test_number_of_jobs():
    with dt.Runtime(workers=3), joblib.parallel_config(backend="dovetail"):
        assert joblib.Parallel(n_jobs=-1)._effective_n_jobs() == 3
        assert joblib.Parallel(n_jobs=-2)._effective_n_jobs() == 2
        assert joblib.Parallel(n_jobs=5)._effective_n_jobs() == 5
        with pytest.raises(ValueError, match="n_jobs == 0"):
            joblib.Parallel(n_jobs=0)(joblib.delayed(distance)(n, 0) for n in range(3))
