"""`dt.Cluster` and `DOVETAIL_CLUSTER`: connects the program to a cluster."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

from .. import _core, elsewhere, runtime

if TYPE_CHECKING:
    from ..tasks import Task
    from .dispatcher import Dispatcher

_lock = threading.RLock()


class Cluster:
    """The tasks that are made in the block run on a cluster of Dask `distributed`.

        with dt.Cluster("tcp://scheduler:8786"):
            ...

    cluster: the address of a scheduler, a cluster of Dask (`LocalCluster`, `SLURMCluster`, ...) or a `distributed.Client`. It belongs to the caller,
    and lives on.
    security: a `distributed.Security` for TLS, where only an address is given.
    timeout: seconds to wait for the scheduler.

    Leaving the block waits for all tasks, as `dt.Runtime` does. One cluster is in use at a time, by all threads of the program. Raises
    `ImportError` if `distributed` is not installed, and `OSError` if the scheduler does not answer. docs/cluster.md has the rules.
    """

    def __init__(self, cluster: Any, *, security: Any = None, timeout: float = 30.0) -> None:
        self.address = _address(cluster)
        self._security = security if security is not None else getattr(cluster, "security", None)
        self._timeout = timeout
        self._dispatcher: Dispatcher | None = None
        self._functions: weakref.WeakKeyDictionary[Task[..., Any], _core.Signature] = weakref.WeakKeyDictionary()

    def start(self) -> Cluster:
        """Connects; new tasks run on the cluster until `stop`."""
        try:
            import distributed  # noqa: F401
        except ImportError as error:
            raise ImportError(f"a cluster needs Dask: pip install 'dovetail[cluster]' ({error})") from error
        from .dispatcher import Dispatcher

        with _lock:
            if self._dispatcher is not None:
                raise RuntimeError("this cluster has been started already")
            if elsewhere.current is not None and not isinstance(elsewhere.current, _Later):
                raise RuntimeError("the program uses a cluster already, and may use one at a time")
            self._dispatcher = Dispatcher(self.address, self._security, self._timeout)
            elsewhere.current = self
        return self

    def stop(self) -> None:
        """Leaves the cluster. Tasks that have not ended fail."""
        with _lock:
            dispatcher, self._dispatcher = self._dispatcher, None
            self._functions.clear()  # they refer to the dispatcher
            if elsewhere.current is self:
                elsewhere.current = None
        if dispatcher is not None:
            dispatcher.close()

    def devices(self) -> list[dict[str, Any]]:
        """The devices for which tasks had a static `storage_bw`, or a learned one if they are shared, as the scheduler accounts for them. Each is a dict:

        `name`; `device`, by which the cluster tells it from others of that name; `mb_per_second`, as the last node that asked knows it; `nodes`: what
        each worker process may use of it, in MB/s, by address; `waiting`: the processes that wait for more, the next one first; `returning`: MB/s of workers
        that have gone, whose leases have not ended; `at_once`: how many tasks of `adaptive` the cluster runs. Raises `RuntimeError`
        unless the cluster has been started. Raises `OSError` if it does not answer within the `timeout` of the cluster, or the program leaves meanwhile.
        """
        dispatcher = self._dispatcher
        if dispatcher is None:
            raise RuntimeError("this cluster has not been started, or has been stopped")
        return dispatcher.devices()

    def __enter__(self) -> Cluster:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                _core.barrier()
        finally:
            self.stop()

    def signature_of(self, made: Task[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> _core.Signature:
        from . import refusal

        if made._standalone:
            return made._signature  # of an executor, whose functions refer to it
        signature = self._functions.get(made)
        if signature is None:
            signature = self._make_signature(made)
        refusal.refuse_arguments(made.label, args, kwargs)
        return signature

    def _make_signature(self, made: Task[..., Any]) -> _core.Signature:
        from . import refusal
        from .call import Function

        refusal.refuse_task(made)
        dispatcher = self._dispatcher
        if dispatcher is None:
            raise RuntimeError("this cluster has been stopped")
        with _lock:
            function = Function(made, dispatcher.id, dispatcher.submit)
            signature = self._functions[made] = made.signature_elsewhere(function)
        return signature


class _Later:
    """The cluster that `DOVETAIL_CLUSTER` names, which the first task connects to."""

    def __init__(self, address: str) -> None:
        self.address = address

    def signature_of(self, made: Task[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> _core.Signature:
        with _lock:
            if elsewhere.current is self:
                use(self.address)
            there = elsewhere.current
        assert there is not None
        return there.signature_of(made, args, kwargs)


def use(address: str) -> Cluster:
    """Connects the program to a cluster until it ends."""
    cluster = Cluster(address).start()

    def end() -> None:
        runtime._stop_all()
        cluster.stop()

    # Later than that of the threads that Dask has started, so that it is called before: they must be there for the last tasks.
    runtime._register(end)
    return cluster


def use_later(address: str) -> None:
    """As `use`, when there is a task."""
    elsewhere.current = _Later(address)


def _address(cluster: Any) -> str:
    if isinstance(cluster, str):
        address = cluster
    else:
        scheduler = getattr(cluster, "scheduler", None)
        found = getattr(cluster, "scheduler_address", None) or getattr(scheduler, "address", None)
        if not isinstance(found, str):
            raise TypeError(
                f"a cluster is the address of a scheduler, a cluster of Dask or a distributed.Client, not {cluster!r}"
            )
        address = found
    if address.startswith("inproc://"):
        raise ValueError(
            "the workers of this cluster are threads of the program, and Dovetail's need processes: LocalCluster(processes=True)"
        )
    if "://" not in address:
        address = f"tcp://{address}"
    return address


def of_environment() -> None:
    """What `DOVETAIL_CLUSTER` says."""
    address = os.environ.get("DOVETAIL_CLUSTER")
    if address:
        use_later(address)
