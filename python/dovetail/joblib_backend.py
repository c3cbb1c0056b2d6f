"""A backend of joblib: `dt.register_joblib()`, then `joblib.parallel_config(backend="dovetail")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import joblib
from joblib.parallel import AutoBatchingMixin, ParallelBackendBase

from . import _core, runtime
from .executor import Executor
from .future import Future


class Backend(AutoBatchingMixin, ParallelBackendBase):  # type: ignore[misc]
    """Runs the calls of `joblib.Parallel` as tasks: in threads of this process, or with `process=True` in worker processes.

    n_jobs: how many batches run at once; negative numbers count from the number of workers, as in joblib.
    """

    supports_retrieve_callback = True

    def __init__(self, *arguments: Any, process: bool = False, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._process = process
        self._executor: Executor | None = None
        self._n_jobs = 1
        self.uses_threads = self.supports_sharedmem = not process

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is None:
            return 1
        return n_jobs if n_jobs > 0 else max(runtime.workers() + 1 + n_jobs, 1)

    def configure(self, n_jobs: int | None = 1, parallel: Any = None, **_options: Any) -> int:
        self.parallel = parallel
        self._n_jobs = self.effective_n_jobs(n_jobs)
        # joblib waits by sleeping, which blocks the worker of a task that calls it. What it waits for must not need that worker.
        self._executor = Executor(self._n_jobs, io=_core.in_task(), process=self._process)
        return self._n_jobs

    def submit(self, func: Callable[[], Any], callback: Callable[[Future[Any]], None] | None = None) -> Future[Any]:
        assert self._executor is not None
        future = self._executor.submit(func)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Future[Any]) -> Any:
        return out.result()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        self.terminate(cancel=True)
        if ensure_ready:
            self.configure(self._n_jobs, self.parallel)

    def terminate(self, cancel: bool = False) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=cancel)
            self._executor = None


def register() -> None:
    """Tells joblib of the backend. Again is no error."""
    joblib.register_parallel_backend("dovetail", Backend)
