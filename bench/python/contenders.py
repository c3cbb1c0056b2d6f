"""The runtimes, each as its own documentation uses it. Those of the standard library know no dependencies. So the
contender waits for the futures among the arguments before the call, as a program on them has to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Dovetail:
    process = False

    def __init__(self, workers: int) -> None:
        import dovetail

        self.dovetail = dovetail
        self.runtime = dovetail.Runtime(workers=workers).start()

    def task(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.dovetail.task(process=self.process)(function)

    def results(self, futures: list[Any]) -> list[Any]:
        return self.dovetail.wait(futures)

    def mapped(self, function: Callable[..., Any], items: Any) -> Any:
        return self.dovetail.map(function, items)

    def close(self) -> None:
        self.runtime.stop()


class DovetailProcesses(Dovetail):
    process = True

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        from dovetail import processes

        processes.set_size(workers)


class _Executor:
    executor: Any

    def task(self, function: Callable[..., Any]) -> Callable[..., Any]:
        from concurrent.futures import Future

        def submit(*arguments: Any) -> Any:
            return self.executor.submit(function, *[a.result() if isinstance(a, Future) else a for a in arguments])

        return submit

    def results(self, futures: list[Any]) -> list[Any]:
        return [future.result() for future in futures]

    def mapped(self, function: Callable[..., Any], items: Any) -> Any:
        return self.executor.map(function, items)

    def close(self) -> None:
        self.executor.shutdown()


class ThreadPool(_Executor):
    def __init__(self, workers: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self.executor = ThreadPoolExecutor(workers)


class ProcessPool(_Executor):
    def __init__(self, workers: int) -> None:
        from concurrent.futures import ProcessPoolExecutor

        self.executor = ProcessPoolExecutor(workers)


class Loky(_Executor):
    def __init__(self, workers: int) -> None:
        from loky import ProcessPoolExecutor

        self.executor = ProcessPoolExecutor(workers)


class Parsl:
    def __init__(self, workers: int) -> None:
        import parsl
        from parsl.config import Config
        from parsl.executors.threads import ThreadPoolExecutor

        self.parsl = parsl
        parsl.load(Config(executors=[ThreadPoolExecutor(max_threads=workers)], initialize_logging=False))

    def task(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.parsl.python_app(function)

    def results(self, futures: list[Any]) -> list[Any]:
        return [future.result() for future in futures]

    def close(self) -> None:
        self.parsl.dfk().cleanup()


class Dask:
    def __init__(self, workers: int) -> None:
        from distributed import Client

        self.client = Client(processes=False, n_workers=1, threads_per_worker=workers, dashboard_address=None)

    def task(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments: self.client.submit(function, *arguments, pure=False)

    def results(self, futures: list[Any]) -> list[Any]:
        return self.client.gather(futures)

    def close(self) -> None:
        self.client.close()


class Ray:
    def __init__(self, workers: int) -> None:
        import ray

        self.ray = ray
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, configure_logging=False)

    def task(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.ray.remote(function).remote

    def results(self, futures: list[Any]) -> list[Any]:
        return self.ray.get(futures)

    def close(self) -> None:
        self.ray.shutdown()


CONTENDERS = {
    "dovetail": Dovetail,
    "dovetail_processes": DovetailProcesses,
    "thread_pool": ThreadPool,
    "process_pool": ProcessPool,
    "loky": Loky,
    "parsl": Parsl,
    "dask": Dask,
    "ray": Ray,
}
