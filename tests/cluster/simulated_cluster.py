"""Nodes, a ledger and a network between them on a virtual clock. Messages come twice, late or never; nodes are killed, cut off and replaced."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable

from dovetail.cluster.learning import LearnedType, Progress, Task
from dovetail.cluster.lease import Entry, Lease
from dovetail.cluster.ledger import ROUNDING, SECONDS, Grants, Learned, Ledger
from dovetail.cluster.tuning import TunedTask, TunedType

DEVICE = "a device"
TICK = 0.25
MOST_EVENTS = 400_000
"""Of one cluster: what sends messages for ever ends."""


class Clock:
    """Of one machine: it began at another time and runs at another rate. rate: seconds of it in a second."""

    def __init__(self, cluster: Cluster, rate: float) -> None:
        self.rate = rate
        self._cluster = cluster
        self._offset = cluster.random.uniform(0.0, 1e5)

    def __call__(self) -> float:
        return self._offset + self.rate * self._cluster.now


class Learner:
    """Stands for a runtime that learns a type of tasks by `auto`: in epochs of so many tasks, of which the last one is not registered."""

    EPOCHS = (4, 2, 1)
    LONG = (16, 16, 8, 8, 4, 4, 2, 1)
    REGISTRY = (Learned(0.25, 4, 0.5), Learned(0.5, 2, 0.2))

    def __init__(self, epochs: tuple[int, ...] = EPOCHS) -> None:
        self.ended = 0
        self._epochs = epochs

    def progress(self) -> Progress:
        before = 0
        for epoch in self._epochs:
            before += epoch
            if self.ended < before:
                return Progress(epoch, ())
        return Progress(1, self.REGISTRY)


class Disk:
    """Serves all tasks that are on it alike. rate: seconds of work per second, with so many at once."""

    def __init__(self, cluster: Cluster, rate: Callable[[int], float]) -> None:
        self.rate = rate
        self.ended = 0
        self._cluster = cluster
        self._left: dict[Entry, tuple[float, Callable[[], None]]] = {}
        self._advanced = 0.0
        self._plans = itertools.count()
        self._plan = 0

    def serve(self, entry: Entry, work: float, end: Callable[[], None]) -> None:
        self._advance()
        self._left[entry] = work, end
        self._plan_next()

    def drop(self, entry: Entry) -> None:
        self._advance()
        self._left.pop(entry, None)
        self._plan_next()

    def _advance(self) -> None:
        passed = self._cluster.now - self._advanced
        self._advanced = self._cluster.now
        if self._left:
            done = passed * self.rate(len(self._left)) / len(self._left)
            self._left = {entry: (left - done, end) for entry, (left, end) in self._left.items()}

    def _plan_next(self) -> None:
        plan = self._plan = next(self._plans)
        if self._left:
            entry = min(self._left, key=lambda entry: self._left[entry][0])
            seconds = max(self._left[entry][0], 0.0) * len(self._left) / self.rate(len(self._left))
            self._cluster.after(seconds, lambda: self._end(entry) if plan == self._plan else None)

    def _end(self, entry: Entry) -> None:
        self._advance()
        end = self._left.pop(entry)[1]
        self.ended += 1
        self._plan_next()
        end()


class Node:
    def __init__(self, cluster: Cluster, name: str, rate: float) -> None:
        self.name = name
        self.cluster = cluster
        self.alive = True
        self.is_replaced = False
        self.reachable = True
        self.silent_since = 0.0
        self.waiting = 0
        self.running: dict[Entry, bool] = {}
        """Bodies; False: the ledger has given their share away, since it took this node for dead."""
        self.begun = 0
        self.learned_here = 0
        self.lease = Lease(DEVICE, "disk", 300.0, Clock(cluster, rate), self.send)
        self.ticks = False
        self.learner = Learner(cluster.epochs)
        self.learned = LearnedType("a type", self.lease, self.learner.progress)
        self.tuned = TunedType("a type", self.lease)

    @property
    def works(self) -> bool:
        return self.alive and self.name in self.cluster.ledger._members

    def send(self, need):
        self.cluster.message(lambda: self.reachable and self.alive, lambda: self.cluster.hears(self.name, need))

    def spawn(self, share: float, seconds: float) -> Entry:
        def begin() -> None:
            assert not self.is_replaced, f"{self.name} begins a task, and the ledger has given its share away"
            self.waiting -= 1
            self.begun += 1
            self.running[entry] = True
            self.cluster.check()
            self.cluster.after(seconds, end)

        def end() -> None:
            if self.alive:
                del self.running[entry]
                self.lease.leave(entry)
                self.tick_soon()

        self.waiting += 1
        entry = Entry(begin, share)
        self.lease.enter(entry)
        self.tick_soon()
        return entry

    def spawn_adaptive(self, work: float, label: str = "a type") -> TunedTask:
        """On the cluster's disk."""

        def begin() -> None:
            assert not self.is_replaced, f"{self.name} begins a task, and the ledger has given its share away"
            self.waiting -= 1
            self.begun += 1
            self.running[task] = True
            self.cluster.check()
            self.cluster.disk.serve(task, work, end)

        def end() -> None:
            if self.alive:
                del self.running[task]
                of_type.leave(task)
                self.tick_soon()

        self.waiting += 1
        of_type = self.lease.types.get(TunedType(label, self.lease).key) or TunedType(label, self.lease)
        task = TunedTask(of_type, begin)
        of_type.enter(task)
        self.tick_soon()
        return task

    def withdraw(self, entry: Entry, holder: Lease | TunedType) -> None:
        """Its program needs it no more."""
        if holder.withdraw(entry):  # others may begin in it
            self.waiting -= 1

    def spawn_auto(self, seconds: float) -> None:
        def begin() -> None:
            assert not self.is_replaced, f"{self.name} begins a task, and the ledger has given its share away"
            self.waiting -= 1
            self.begun += 1
            self.running[task] = True
            if task.is_learning:
                self.cluster.check_alone(self)
                # Of the share of the node that learns, which is all of the device.
                task.share = 1 / self.learner.progress().at_once
                self.learned_here += 1
            self.cluster.check()
            self.cluster.after(seconds, end)

        def end() -> None:
            if self.alive:
                del self.running[task]
                self.learner.ended += task.is_learning
                self.learned.leave(task)
                self.tick_soon()

        self.waiting += 1
        task = Task(self.learned, begin, begin)
        self.learned.enter(task)
        self.tick_soon()

    def tick_soon(self) -> None:
        if not self.ticks:
            self.ticks = True
            self.cluster.after(TICK, self.tick)

    def tick(self) -> None:
        self.ticks = self.alive and self.lease.tick()
        if self.ticks:
            self.cluster.after(TICK, self.tick)


class Cluster:
    """drift: how much faster or slower than real time a clock may run."""

    def __init__(
        self, seed: int, *, losses: float, latency: float = 0.002, lateness: float = 1.0, drift: float = 0.0
    ) -> None:
        self.random = random.Random(seed)
        self.now = 0.0
        self.losses = losses
        self.latency = latency
        self.lateness = lateness
        self.drift = drift
        self.epochs = Learner.EPOCHS
        self.disk = Disk(self, lambda at_once: 1.0)
        self.ledger = Ledger()
        self.clock = Clock(self, self.random_rate())
        self.nodes: dict[str, Node] = {}
        self.messages = 0
        self.taken_back: dict[str, float] = {}
        """From nodes that seemed to hang, and may have begun tasks with it that have not ended."""
        self._passed = 0
        self._numbers = itertools.count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []

    def random_rate(self) -> float:
        return self.random.uniform(1 - self.drift, 1 + self.drift)

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._numbers), act))

    def message(self, passes: Callable[[], bool], arrive: Callable[[], None]) -> None:
        self.messages += 1
        if not passes():
            return
        copies = 1
        if self.random.random() < self.losses:
            copies = self.random.choice([0, 0, 2, 3])
        for _ in range(copies):
            late = self.random.random() < self.losses
            delay = self.random.uniform(0.5, 1.5) * self.latency + late * self.random.expovariate(1 / self.lateness)
            self.after(delay, lambda late=late: arrive() if passes() or late else None)

    def hears(self, name, need):
        before = self.amounts()
        self.nodes[name].silent_since = self.now
        grants = self.ledger.need(name, need, self.clock())
        for other, amount in self.amounts().items():
            if other != name and amount < before.get(other, 0.0) - ROUNDING:
                assert self.nodes[other].silent_since + SECONDS < self.now
                self.taken_back[other] = self.taken_back.get(other, 0.0) + before[other] - amount
        self.tell(grants)

    def tell(self, grants: Grants) -> None:
        for name, grant in grants:
            node = self.nodes[name]
            self.message(
                lambda node=node: node.reachable and node.alive,
                lambda node=node, grant=grant: node.lease.granted(grant),
            )
        self.check()

    # Faults

    def join(self, name: str, rate: float | None = None) -> Node:
        node = self.nodes[name] = Node(self, name, self.random_rate() if rate is None else rate)
        self.ledger.joined(name)
        return node

    def kill(self, name: str) -> None:
        node = self.nodes[name]
        node.alive = False
        for entry in node.running:
            self.disk.drop(entry)
        node.running.clear()
        self.remove(name)

    def remove(self, name: str) -> None:
        self.ledger.removed(name)
        self.tick_at_end()

    def tick_at_end(self) -> None:
        end = self.ledger.next_end()
        if end is not None:
            # No earlier than the clock shows it, whichever way that was rounded.
            self.after(max((end - self.clock()) / self.clock.rate, 0.0) + 1e-6, self.tick)

    def tick(self) -> None:
        returning = self.returning()
        grants = self.ledger.tick(self.clock())
        left = self.returning()
        for name in returning - left:
            node = self.nodes[name]
            node.running = dict.fromkeys(node.running, False)
            node.is_replaced = True
        self.tell(grants)
        self.tick_at_end()

    def returning(self) -> set[str]:
        return {name for device in self.ledger.report() for name in device["returning"]}

    def cut_off(self, name: str) -> None:
        """Dask believes it dead, and it lives, but hears of nobody."""
        self.nodes[name].reachable = False
        self.remove(name)

    # Running

    def amounts(self) -> dict[str, float]:
        devices = self.ledger._devices.values()
        return {name: account.amount for device in devices for name, account in device.accounts.items()}

    def used(self) -> float:
        return sum(entry.share for node in self.nodes.values() for entry, counts in node.running.items() if counts)

    def check(self) -> None:
        self.taken_back = {name: taken for name, taken in self.taken_back.items() if self.nodes[name].running}
        most = 1 + 3 * ROUNDING + sum(self.taken_back.values())
        assert self.used() <= most, f"the nodes use {self.used()} of the device at {self.now}"

    def check_alone(self, node: Node) -> None:
        for other in self.nodes.values():
            alone = other is node or other.name in self.taken_back or not any(other.running.values())
            assert alone, f"{node.name} does not learn alone"

    def _step(self) -> None:
        self._passed += 1
        assert self._passed < MOST_EVENTS, f"{MOST_EVENTS} events, at {self.now}: {self.ledger.report()}"
        self.now, _, act = heapq.heappop(self._events)
        act()

    def run(self, until: float) -> None:
        while self._events and self._events[0][0] <= until:
            self._step()
        self.now = max(self.now, until)

    def run_until_done(self, most: float) -> float:
        """Until all tasks of all that live are over. Returns when."""
        end = self.now + most
        while any(node.works and (node.waiting or node.running) for node in self.nodes.values()):
            if not self._events or self.now >= end:
                break
            self._step()
        else:
            return self.now
        raise AssertionError(f"tasks wait for ever: {self.ledger.report()}")

    def granted(self) -> float:
        return sum(sum(device["nodes"].values()) + sum(device["returning"].values()) for device in self.ledger.report())
