"""How much of each device the nodes of a cluster may use: the account of one device for all of them, and the messages about it.

Pure: no Dask, no clock, no thread. `ledger_plugin` runs it in the scheduler, and `lease` is the node's side. All amounts are fractions of a device.

*Why the sum holds.* A node uses no more than it was granted. It tells what it keeps (`Need`) after it has cut its own limit to that, and accepts only
answers to its last `Need`. So what the ledger has written down for a node is never less than what the node may use, whichever messages are lost,
late or doubled. What a removed node had is free when its lease has ended, which is `SECONDS` after the node sent its last `Need`, or earlier.

From a member that says nothing for so long the ledger takes back what it has granted since that `Need`, and grants it no more until it is heard of:
a node that hangs would get the device bit by bit. If it lives, and began tasks with that, the device has more than its share until these end.

A *node* is one process, whose name no other process ever has. One that was removed does not come back.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .level import FIRST, Ended, Level

PROTOCOL = 2
"""Of the messages: programs whose numbers differ do not understand each other."""
SECONDS = 3.0
"""A node that has had no answer for so long begins no more tasks on the device."""
MARGIN = 0.5
"""Clocks do not run equally fast: the ledger gives away what a removed node had so much later."""
_MOST_TYPES = 256
"""Of tasks, on one device. Programs may make a label for each task."""
_MOST_TURNS = 64
"""In which a node gets all that it wants, if it is free."""
TUNED = "adaptive "
"""So begin the names of types of `adaptive`."""
ROUNDING = 1e-9
"""Of sums of fractions that fill a device exactly."""


class Learned(NamedTuple):
    """Of a type of tasks under `auto`: what was found with one constraint."""

    share: float
    """Of the device, for each task."""
    at_once: int
    seconds: float
    """That a task took."""


class OfType(NamedTuple):
    """Of a type of tasks whose share is learned."""

    type: str
    ready: int
    """Tasks that wait: in a `Need` those of the node, in a `Grant` those of all other nodes."""
    registry: tuple[Learned, ...] = ()
    """Of `auto`. Empty: not known."""
    ended: tuple[Ended, ...] = ()
    """Of `adaptive`, in a `Need`: since the one before."""


class Need(NamedTuple):
    """What a node tells the ledger of one device."""

    device: str
    number: int
    """How many the node had sent of this device."""
    keeps: float
    """The node has cut what it may use to this."""
    step: float
    """What its next task takes; 0: none waits."""
    wants: float
    """What the tasks take that run or wait, at most 1."""
    name: str
    """What the node calls the device."""
    bandwidth: float
    """MB/s that the device has, as the node knows it."""
    types: tuple[OfType, ...] = ()
    """Those of which tasks wait in the node, or of which it has found something."""


class Grant(NamedTuple):
    """What the ledger answers, and tells later when there is more."""

    device: str
    number: int
    """Of the `Need` that it answers."""
    amount: float
    """What the node may use, until its lease ends."""
    fair: float
    """Others wait: what the node has above this it gives back as its tasks end. 1: it may keep all."""
    types: tuple[OfType, ...] = ()
    """What is known of those that the node has named."""
    at_once: int = FIRST
    """How many tasks of `adaptive` the cluster runs at once: each takes as large a share."""
    change: int = 0
    """Of that number: how often it was another one."""


Grants = list[tuple[str, Grant]]
"""Nodes, and what they are to be told."""


@dataclass(slots=True)
class _Account:
    """Of one node."""

    number: int
    keeps: float
    step: float
    wants: float
    heard: float
    amount: float
    told: tuple[float, float] = (0.0, 1.0)
    """Amount and fair share."""
    ready: dict[str, int] = field(default_factory=dict)
    """Of the types that it has named: tasks that wait."""

    @property
    def waits(self) -> bool:
        return self.step > 0 and self.amount + ROUNDING < self.wants and self.amount + self.step <= 1 + ROUNDING


@dataclass(slots=True)
class _Device:
    name: str = ""
    bandwidth: float = 0.0
    accounts: dict[str, _Account] = field(default_factory=dict)
    queue: dict[str, None] = field(default_factory=dict)
    """Nodes that wait, the first of them first."""
    holders: dict[str, _Account] = field(default_factory=dict)
    """Those that may use some of it: few, however many nodes there are."""
    wanting: set[str] = field(default_factory=set)
    """Those that use it or wait."""
    ready: Counter[str] = field(default_factory=Counter)
    """Of each type, tasks that wait in all nodes."""
    learned: dict[str, tuple[Learned, ...]] = field(default_factory=dict)
    level: Level = field(default_factory=Level)
    ending: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Nodes that were removed: what they had, and until when they may use it."""


class Ledger:
    """Not thread-safe. `now` is in seconds, of any clock that never goes back. Methods return what is to be sent."""

    def __init__(self) -> None:
        self._members: set[str] = set()
        self._devices: dict[str, _Device] = {}

    def joined(self, node: str) -> None:
        self._members.add(node)

    def removed(self, node: str) -> list[tuple[str, float]]:
        """Names of devices, and what it has of them in MB/s. That returns when its lease has ended: call `tick` then (`next_end`)."""
        had = []
        self._members.discard(node)
        for device in self._devices.values():
            account = device.accounts.pop(node, None)
            device.queue.pop(node, None)
            device.holders.pop(node, None)
            device.wanting.discard(node)
            if account is not None:
                device.ready -= Counter(account.ready)
            if account is not None and account.amount > 0:
                device.ending[node] = account.amount, account.heard + SECONDS + MARGIN
                had.append((device.name, account.amount * device.bandwidth))
        self._forget_devices()
        return had

    def need(self, node: str, need: Need, now: float) -> Grants:
        if node not in self._members:
            return []
        device = self._devices.setdefault(need.device, _Device())
        account = device.accounts.get(node)
        if account is None or need.number > account.number:
            device.name, device.bandwidth = need.name, need.bandwidth
            ready = {of_type.type: of_type.ready for of_type in need.types}
            device.ready += Counter(ready)
            if account is not None:
                device.ready -= Counter(account.ready)
            account = device.accounts[node] = _Account(
                need.number, need.keeps, need.step, need.wants, now, need.keeps, ready=ready
            )
            for of_type in need.types:
                if of_type.registry:
                    self._learn(device, of_type)
                for ended in of_type.ended:
                    device.level.ended(of_type.type, ended)
            device.level.decide(sum(count for name, count in device.ready.items() if name.startswith(TUNED)))
        # Else it has come twice or late: the answer to the last one may have been lost.
        account.heard = now
        self._place(device, node, account)
        self._take_back(device, now)
        return self._grants(need.device, device, answers=node)

    def tick(self, now: float) -> Grants:
        grants: Grants = []
        for name, device in self._devices.items():
            ended = [node for node, (_, until) in device.ending.items() if until <= now]
            for node in ended:
                del device.ending[node]
            if ended:
                self._take_back(device, now)
                grants += self._grants(name, device)
        self._forget_devices()
        return grants

    def _forget_devices(self) -> None:
        """Those of hosts that have gone."""
        self._devices = {
            name: device
            for name, device in self._devices.items()
            if device.accounts or device.ending or device.learned or device.level.change
        }

    def next_end(self) -> float | None:
        """When `tick` has something to do."""
        return min((until for device in self._devices.values() for _, until in device.ending.values()), default=None)

    def report(self) -> list[dict[str, Any]]:
        """The devices, and what the nodes may use of them in MB/s."""
        return [
            {
                "device": key,
                "name": device.name,
                "mb_per_second": device.bandwidth,
                "nodes": {
                    node: account.amount * device.bandwidth
                    for node, account in device.accounts.items()
                    if account.amount > 0 or account.step > 0
                },
                "waiting": list(device.queue),
                "returning": {node: amount * device.bandwidth for node, (amount, _) in device.ending.items()},
                "at_once": device.level.at_once,
            }
            for key, device in self._devices.items()
        ]

    @staticmethod
    def _learn(device: _Device, found: OfType) -> None:
        if found.type not in device.learned and len(device.learned) >= _MOST_TYPES:
            del device.learned[next(iter(device.learned))]  # it is learned again if there are such tasks
        device.learned.setdefault(found.type, found.registry)

    @staticmethod
    def _known(device: _Device, account: _Account) -> tuple[OfType, ...]:
        return tuple(
            OfType(name, device.ready[name] - ready, device.learned.get(name, ()))
            for name, ready in account.ready.items()
        )

    @staticmethod
    def _place(device: _Device, node: str, account: _Account) -> None:
        """Where it belongs by what it has and wants."""
        if account.waits:
            device.queue.setdefault(node)
        else:
            device.queue.pop(node, None)
        if account.amount > 0:
            device.holders[node] = account
        else:
            device.holders.pop(node, None)
        if account.wants > 0:
            device.wanting.add(node)
        else:
            device.wanting.discard(node)

    def _take_back(self, device: _Device, now: float) -> None:
        """From nodes that hang. Those that wait ask all the time, so this is called in time."""
        for node in [*device.queue, *device.holders]:
            account = device.accounts[node]
            if account.heard + SECONDS + MARGIN <= now and (account.step > 0 or account.amount > account.keeps):
                account.amount, account.step = account.keeps, 0.0
                self._place(device, node, account)

    def _grants(self, name: str, device: _Device, answers: str | None = None) -> Grants:
        """Gives what is free to those that wait, in turn. The first is waited for, or a large step might never be free."""
        free = 1 + ROUNDING - sum(account.amount for account in device.holders.values())
        free -= sum(amount for amount, _ in device.ending.values())
        while device.queue:
            node = next(iter(device.queue))
            account = device.accounts[node]
            if account.step > free:
                break
            # Turns are few, however small the steps are: the scheduler does nothing else meanwhile.
            missing = min(account.wants / _MOST_TURNS, account.wants - account.amount)
            given = min(max(account.step, missing), free)
            account.amount += given
            free -= given
            del device.queue[node]
            self._place(device, node, account)
        grants = []
        equal, first = self._fair(device)
        told_now = dict(device.holders)
        if answers is not None:
            told_now[answers] = device.accounts[answers]
        for node, account in told_now.items():
            fair = equal if first is None or node == first else 0.0
            amount, told = account.told
            is_less_fair = fair < told and account.amount > fair
            if node == answers or account.amount > amount or is_less_fair:
                account.told = account.amount, fair
                known = self._known(device, account)
                level = device.level
                grants.append(
                    (node, Grant(name, account.number, account.amount, fair, known, level.at_once, level.change))
                )
        return grants

    @staticmethod
    def _fair(device: _Device) -> tuple[float, str | None]:
        """What each may keep; and the node that alone may, if its step is so large that the others must make room."""
        if not device.queue:
            return 1.0, None
        first = next(iter(device.queue))
        equal = 1 / len(device.wanting)
        return equal, first if device.accounts[first].step > equal + ROUNDING else None
