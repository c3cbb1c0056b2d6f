"""The agent's side of the ledger in an event loop. The ledger is the real one; Dask's stream between them is replaced. Needs no Dask."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from types import SimpleNamespace

import pytest
from dovetail.cluster import devices
from dovetail.cluster.ledger import Ledger


class Worker:
    """Of Dask, as far as `Devices` knows it, with the ledger behind its stream."""

    id = "node"
    address = "tcp://node"
    status = SimpleNamespace(name="running")

    def __init__(self):
        self.stream_handlers = {}
        self.ledger = Ledger()
        self.ledger.joined(self.id)

    def batched_send(self, message):
        need = json.loads(json.dumps(message))["need"]
        asked = devices.need_of(need)
        for _, grant in self.ledger.need(self.id, asked, time.monotonic()):
            self.tell(list(grant))

    def tell(self, grant):
        handler = self.stream_handlers[devices.GRANT]
        asyncio.get_running_loop().call_soon(lambda: handler(grant=json.loads(json.dumps(grant))))

    @property
    def granted(self):
        (device,) = self.ledger.report()
        return device["nodes"].get(self.id, 0)


class Calls:
    """Tasks of 50 MB/s on a device of 100 MB/s."""

    def __init__(self, of_worker):
        self._devices = of_worker
        self.device = "disk"
        self.began = []
        self.claims = {}

    def add(self, name, *, raises=False, storage_bw=50):
        def begin(error, mb_per_second):
            if raises:
                raise RuntimeError("no runtime")
            self.began.append((name, error, mb_per_second))

        claim = self.claims[name] = devices.Claim(begin)
        self._devices.claim(self.device, storage_bw, "label", claim)

    async def until(self, count):
        while len(self.began) < count:
            await asyncio.sleep(0.001)
        return [name for name, _, _ in self.began]


def told(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "dovetail"]


@pytest.fixture(autouse=True)
def disk(monkeypatch):
    monkeypatch.setattr(devices, "find", lambda name: devices.Device(f"device {name}", name, 100.0, True))


def test_an_agent_that_starts_again_in_its_process_takes_the_leases_over():
    async def program():
        worker = Worker()
        first = devices.of(worker)
        calls = Calls(first)
        for name in ("one", "two", "three"):
            calls.add(name)
        assert await calls.until(2) == ["one", "two"]
        calls.claims["one"].leave()
        assert await calls.until(3)
        calls.claims["three"].leave()
        first.stop()
        while worker.granted != 50:  # a body runs still
            await asyncio.sleep(0.001)
        second = devices.of(worker)
        later = Calls(second)
        later.add("four")
        later.add("five")
        assert await later.until(1) == ["four"]
        assert worker.granted == 100
        calls.claims["two"].leave()
        assert await later.until(2) == ["four", "five"]

    asyncio.run(program())


def test_what_another_version_grants_is_logged_and_ends_no_worker(caplog):
    async def program():
        worker = Worker()
        of_worker = devices.of(worker)
        calls = Calls(of_worker)
        calls.add("one")
        await calls.until(1)
        handler = worker.stream_handlers[devices.GRANT]
        for grant in (
            ["device disk", 1, 0.0, 1.0, "new", []],
            [],
            ["device disk"],
            ["device disk", None, "x", 1.0, []],
        ):
            handler(grant=grant)
        handler(grant=["device disk", -1, 0.0, 1.0, []], new=1)
        calls.add("two")
        await calls.until(2)

    with caplog.at_level(logging.ERROR, "dovetail"):
        asyncio.run(program())
    assert told(caplog) == ["node tcp://node: what the scheduler grants is not understood"] * 3


def test_a_call_that_cannot_begin_gives_its_share_back_and_the_others_begin(caplog):
    async def program():
        worker = Worker()
        calls = Calls(devices.of(worker))
        calls.add("whole", storage_bw=100)
        await calls.until(1)
        for number in range(4):
            calls.add(f"bad {number}", raises=True)
            calls.add(f"good {number}")
        calls.claims["whole"].leave()
        for number in range(4):
            await calls.until(2 + number)
            calls.claims[f"good {number}"].leave()
        while worker.granted:
            await asyncio.sleep(0.001)

    with caplog.at_level(logging.ERROR, "dovetail"):
        asyncio.run(program())
    assert told(caplog) == ["a task that has its share of a device could not begin"] * 4


def test_a_call_on_a_device_that_cannot_be_used_fails_and_does_not_wait(monkeypatch):
    def find(name):
        if name == "nosuch":
            raise ValueError(name)
        return devices.Device(name, name, 0.0, True)

    async def program():
        calls = Calls(devices.of(Worker()))
        calls.add("no bandwidth")
        await calls.until(1)
        calls.add("no bandwidth either")
        await calls.until(2)
        calls.device = "nosuch"
        calls.add("unknown")
        await calls.until(3)
        return [(name, type(error)) for name, error, _ in calls.began]

    monkeypatch.setattr(devices, "find", find)
    assert asyncio.run(program()) == [
        ("no bandwidth", ZeroDivisionError),
        ("no bandwidth either", ZeroDivisionError),
        ("unknown", ValueError),
    ]
