"""Nodes that share a device: what they use adds up over the cluster. The nodes are processes of this machine with addresses of their own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import dovetail as dt
import pytest
from conftest import PATIENT
from dovetail.cluster import devices
from dovetail.cluster.call import Function, Job
from dovetail.cluster.dispatcher import Dispatcher
from together import meet, note

CONFIG = """
[[device]]
name = "parallel"
paths = ["{folder}"]
read = 100
write = 100
shared = true
[[device]]
name = "other"
read = 100
write = 100
shared = true
"""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """Three, of one slot each."""
    distributed = pytest.importorskip("distributed", reason="Dask distributed is not installed")
    import dask

    folder = tmp_path_factory.mktemp("shared")
    config = folder / "dovetail.toml"
    config.write_text(CONFIG.format(folder=folder))
    workers = {
        number: {
            "cls": distributed.Nanny,
            "options": {
                "nthreads": 1,
                "host": f"127.0.0.{number}",
                "dashboard_address": None,
                "env": {"DOVETAIL_CONFIG": str(config)},
            },
        }
        for number in (1, 2, 3)
    }
    scheduler = {
        "cls": distributed.Scheduler,
        "options": {"host": "127.0.0.1", "port": 0, "dashboard_address": "127.0.0.1:0"},
    }
    with (
        dask.config.set({**PATIENT, "distributed.scheduler.allowed-failures": 2}),
        distributed.SpecCluster(workers=workers, scheduler=scheduler) as cluster,
    ):
        yield cluster


@pytest.fixture
def cluster(nodes):
    with dt.Cluster(nodes) as used:
        yield used


@pytest.mark.parametrize("io", [True, False], ids=["io", "computing"])
def test_static_constraints_add_up_over_the_nodes(cluster, tmp_path, io):
    (tmp_path / "count").touch()

    def body(path, seconds):
        return note(path, seconds), os.getpid()

    task = dt.task(body, io=io, storage_bw=30, device="parallel")
    ended = dt.wait([task(str(tmp_path / "count"), 0.01) for _ in range(40)])
    assert max(count for count, _ in ended) <= 3
    assert len({process for _, process in ended}) == 3
    # And three do run at once, which wait for each other.
    dt.wait([dt.task(meet, io=io, storage_bw=30, device="parallel")(str(tmp_path), i, 3) for i in range(3)])


def test_constraints_of_different_size_add_up_and_a_large_one_has_its_turn(cluster, tmp_path):
    """One that asks for more than the device has runs alone."""
    (tmp_path / "count").touch()
    small, large = (dt.io(note, storage_bw=bw, device="parallel", label=f"{bw} MB/s") for bw in (25, 1000))
    counts = [small(str(tmp_path / "count"), 0.01) for _ in range(20)]
    alone = [large(str(tmp_path / "count"), 0.01) for _ in range(2)]
    counts += [small(str(tmp_path / "count"), 0.01) for _ in range(20)]
    assert dt.wait(alone) == [1, 1]
    assert max(dt.wait(counts)) <= 4


def test_one_node_learns_for_all(cluster, tmp_path):
    """`auto` begins with four at once, as many as a node with one slot has places."""
    (tmp_path / "count").touch()

    def body(path, seconds):
        from dovetail import _core

        kinds = {
            kind["constraint"] for device in json.loads(_core.admission_report())["devices"] for kind in device["types"]
        }
        return note(path, seconds), os.getpid(), "auto" in kinds

    task = dt.io(body, storage_bw="auto", device="parallel", label="learned")
    ended = dt.wait([task(str(tmp_path / "count"), 0.02) for _ in range(60)])
    assert max(count for count, _, _ in ended) <= 4
    assert len({process for _, process, _ in ended}) == 3
    assert len({process for _, process, learns in ended if learns}) == 1
    # Another program learns nothing, and its tasks add up with static ones.
    counts = [task(str(tmp_path / "count"), 0.01) for _ in range(10)]
    static = dt.io(note, storage_bw=25, device="parallel", label="static")
    alone = [static(str(tmp_path / "count"), 0.01) for _ in range(10)]
    assert max(*(count for count, _, _ in dt.wait(counts)), *dt.wait(alone)) <= 4


def test_a_killed_node_gives_its_lease_back(cluster, tmp_path, until, caplog):
    def first_stays(folder):
        path = os.path.join(folder, "process")
        if not os.path.exists(path):
            with open(path + ".new", "w") as file:
                file.write(str(os.getpid()))
            os.rename(path + ".new", path)
            while True:
                time.sleep(0.01)

    task = dt.io(first_stays, storage_bw=100, device="parallel")
    futures = [task(str(tmp_path)) for _ in range(9)]
    until((tmp_path / "process").exists)
    until(lambda: len(cluster.devices()[0]["waiting"]) == 2)
    (device,) = cluster.devices()
    assert (device["name"], device["mb_per_second"], device["device"]) == ("parallel", 100, "shared device parallel")
    assert sorted(device["nodes"].values()) == [0, 0, 100]
    os.kill(int((tmp_path / "process").read_text()), signal.SIGKILL)
    dt.wait(futures)
    told = [record.getMessage() for record in caplog.records if "has gone" in record.getMessage()]
    (holder,) = [address for address, amount in device["nodes"].items() if amount]
    assert told == [f"node {holder} has gone: its 100 MB/s of device 'parallel' return when its lease has ended"]


def test_an_agent_that_starts_again_in_its_process_gets_shares(nodes):
    import distributed

    def use():
        with dt.Cluster(nodes):
            dt.wait([dt.io(abs, storage_bw=50, device="parallel")(-1) for _ in range(9)])

    use()
    use()
    with distributed.Client(nodes, set_as_default=False) as client:
        client.unregister_worker_plugin("dovetail")
    use()


def test_calls_of_a_driver_that_has_gone_hold_nothing(nodes, tmp_path, until):
    def stay(folder, number):
        open(os.path.join(folder, str(number)), "w").close()
        while not os.path.exists(os.path.join(folder, "open")):
            time.sleep(0.005)

    cluster = dt.Cluster(nodes).start()
    task = dt.task(stay, io=True, storage_bw=50, device="parallel", on_failure="ignore")
    futures = [task(str(tmp_path), number) for number in range(30)]
    until(lambda: len(list(tmp_path.iterdir())) == 2)
    cluster.stop()
    (tmp_path / "open").touch()
    with pytest.raises(dt.TaskFailed):
        dt.wait(futures)
    with dt.Cluster(nodes) as cluster:
        until(lambda: not cluster.devices()[0]["nodes"])
        dt.wait(dt.io(abs, storage_bw=100, device="parallel")(-1))
    assert len(list(tmp_path.iterdir())) == 3  # two of 30, and the file that lets them go


def test_calls_that_wait_for_a_share_leave_their_slots_when_their_driver_goes(nodes, tmp_path, until):
    def stay(path):
        open(path + " begun", "w").close()
        while not os.path.exists(path):
            time.sleep(0.005)

    cluster = dt.Cluster(nodes).start()
    options = {"storage_bw": 100, "device": "parallel", "on_failure": "ignore"}
    dt.io(stay, **options)(str(tmp_path / "open"))
    until((tmp_path / "open begun").exists)
    for number in range(6):
        dt.task(abs, **options)(number)
    until(lambda: len(cluster.devices()[0]["waiting"]) == 2)  # and the third node for itself
    cluster.stop()
    with dt.Cluster(nodes):
        dt.wait([dt.task(meet)(str(tmp_path), i, 3) for i in range(3)])  # in three slots
        (tmp_path / "open").touch()
    with dt.Cluster(nodes) as cluster:
        until(lambda: not cluster.devices()[0]["nodes"])


def test_computing_tasks_that_wait_for_a_share_hold_no_slot(nodes, tmp_path, until):
    """Neither tasks without a share nor those of another device wait behind them, nor do tasks of Dask."""
    import distributed

    def stay(path):
        open(path + " begun", "w").close()
        while not os.path.exists(path):
            time.sleep(0.005)

    path = str(tmp_path / "open")
    with dt.Cluster(nodes) as cluster, distributed.Client(nodes, set_as_default=False) as client:
        dt.io(stay, storage_bw=100, device="parallel")(path)
        until((tmp_path / "open begun").exists)
        shares = [dt.task(abs, storage_bw=50, device="parallel")(-number) for number in range(40)]
        # One of them may go to the node that has the device, which then does not ask.
        until(lambda: len(cluster.devices()[0]["waiting"]) >= 2)
        dt.wait([dt.task(meet)(str(tmp_path), number, 3) for number in range(3)])  # in all slots
        assert dt.wait(dt.task(abs, storage_bw=50, device="other")(-1)) == 1
        assert client.submit(abs, -2, pure=False).result() == 2
        assert not any(share.done() for share in shares)
        open(path, "w").close()
        assert dt.wait(shares) == list(range(40))


def test_no_more_computing_tasks_with_a_share_run_than_there_are_slots(cluster, tmp_path):
    (tmp_path / "count").touch()
    shares = dt.task(note, storage_bw=10, device="parallel")
    others = dt.task(note)
    futures = [each(str(tmp_path / "count"), 0.01) for _ in range(20) for each in (shares, others)]
    assert max(dt.wait(futures)) <= 3


def test_the_level_of_adaptive_holds_for_the_cluster(cluster, tmp_path):
    """It begins with four at once, where three nodes for themselves would begin with twelve."""
    (tmp_path / "count").touch()
    task = dt.io(note, storage_bw="adaptive", device="parallel")
    first = dt.wait([task(str(tmp_path / "count"), 0.05) for _ in range(12)])
    assert max(first) <= 4
    # More of them sleep as fast as few do, so the level rises.
    assert max(dt.wait([task(str(tmp_path / "count"), 0.2) for _ in range(80)])) > 4


def test_a_message_that_fails_does_not_keep_leases_from_returning(caplog):
    """Of a scheduler whose stream to one worker is broken."""
    pytest.importorskip("distributed", reason="Dask distributed is not installed")
    from dovetail.cluster.ledger import Need
    from dovetail.cluster.ledger_plugin import LedgerPlugin

    sent = []

    async def program():
        broken = True

        def send(worker, message):
            if broken and worker == "waits":
                raise OSError("broken")
            sent.append((worker, message["grant"][2]))

        workers = {name: SimpleNamespace(server_id=f"id of {name}") for name in ("first", "second", "waits")}
        scheduler = SimpleNamespace(workers=workers, stream_handlers={}, worker_send=send)
        plugin = LedgerPlugin()
        plugin.start(scheduler)
        for device, holder in (("disk", "first"), ("tape", "second")):
            for name in (holder, "waits"):
                plugin._need(name, f"id of {name}", [*Need(device, 1, 0.0, 1.0, 1.0, device, 100.0)])
        # Both are removed, and the first lease has ended.
        plugin.remove_worker(scheduler, "first")
        plugin._ledger.tick = lambda now: plugin._ledger.__class__.tick(plugin._ledger, plugin._ledger.next_end())
        plugin.remove_worker(scheduler, "second")
        for left in (1, 0):
            plugin._timer.cancel()
            plugin._tick()
            assert (plugin._timer is not None) == bool(left)
            broken = False

    asyncio.run(program())
    assert ("waits", 1.0) in sent
    assert "could not be given to the others" in caplog.text


def test_a_node_of_another_version_is_told_of_once_and_what_is_new_is_passed_over(caplog):
    pytest.importorskip("distributed", reason="Dask distributed is not installed")
    from dovetail.cluster.ledger import Need
    from dovetail.cluster.ledger_plugin import LedgerPlugin

    sent = []
    scheduler = SimpleNamespace(
        workers={name: SimpleNamespace(server_id=name) for name in ("same", "other")},
        stream_handlers={},
        worker_send=lambda worker, message: sent.append(worker),
    )
    plugin = LedgerPlugin()
    plugin.start(scheduler)
    need = [*Need("disk", 1, 0.0, 1.0, 1.0, "disk", 100.0)]
    for _ in range(3):
        plugin._need("other", "other", [*need[:-1], "new", ()])
    plugin._need("same", "same", need, new=1)
    assert sent == ["same"]
    (told,) = [record.getMessage() for record in caplog.records if record.name == "dovetail"]
    assert told.startswith("node other: what it says of a device is not understood: install")


def test_a_scheduler_that_closes_waits_for_no_lease():
    pytest.importorskip("distributed", reason="Dask distributed is not installed")
    from dovetail.cluster.ledger import Need
    from dovetail.cluster.ledger_plugin import LedgerPlugin

    async def program():
        workers = {"node": SimpleNamespace(server_id="node")}
        scheduler = SimpleNamespace(workers=workers, stream_handlers={}, worker_send=lambda *_: None)
        plugin = LedgerPlugin()
        plugin.start(scheduler)
        await plugin.close()
        plugin._need("node", "node", [*Need("disk", 1, 0.0, 1.0, 1.0, "disk", 100.0)])
        plugin.remove_worker(scheduler, "node")
        assert not plugin._timer.cancelled()
        await plugin.close()
        assert plugin._timer.cancelled()

    asyncio.run(program())


def test_a_program_does_not_use_a_ledger_of_another_version():
    pytest.importorskip("distributed", reason="Dask distributed is not installed")

    async def register_plugin(plugin, name):
        plugins[name] = plugin

    async def run_on_scheduler(function):
        return function(SimpleNamespace(plugins=plugins))

    plugins = {}
    client = SimpleNamespace(register_plugin=register_plugin, run_on_scheduler=run_on_scheduler)
    asyncio.run(Dispatcher._keep_ledger(SimpleNamespace(_client=client)))
    for other in (SimpleNamespace(protocol=-1), SimpleNamespace()):

        async def registered_before(plugin, name, other=other):
            plugins[name] = other

        client.register_plugin = registered_before
        with pytest.raises(RuntimeError, match=r"by protocol (-1|None), and this program needs \d+: install the same"):
            asyncio.run(Dispatcher._keep_ledger(SimpleNamespace(_client=client)))


# Which devices are the same. Needs no Dask.


def key_of(monkeypatch, name, folder, shared=False, configured=False, kernel="one", mount=("nfs4", "server:/export")):
    monkeypatch.setattr(devices.mounts, "source_of", lambda number: mount)
    monkeypatch.setattr(devices.Path, "read_text", lambda path: kernel)
    return devices._key(name, folder, shared, configured)


def test_devices_are_the_same_by_name_by_what_is_mounted_or_on_one_kernel(monkeypatch, tmp_path):
    folder = str(tmp_path / "not there yet")

    def key(*args, **options):
        return key_of(monkeypatch, *args, **options)

    named = key("scratch", folder, shared=True, configured=True)
    assert named == key("scratch", "/", shared=True, configured=True, kernel="two")
    assert named != key("other", folder, shared=True, configured=True)
    mounted = key("/mnt", folder, shared=True)
    assert mounted == key("/data", "/proc", shared=True, kernel="two")
    assert mounted != key("/mnt", folder, shared=True, mount=("nfs4", "server:/other"))
    local = key("/", folder)
    assert local == key("/tmp", str(tmp_path))
    assert local != key("/", folder, kernel="two") and local != key("/proc", "/proc")
    assert key("disk", folder, configured=True) != key("disk", folder, configured=True, kernel="two")
    assert key("link", None, shared=True, configured=True) == "shared device link"


def test_a_device_is_found_by_name_or_path(monkeypatch, tmp_path):
    config = tmp_path / "dovetail.toml"
    config.write_text(CONFIG.format(folder=tmp_path))
    monkeypatch.setenv("DOVETAIL_CONFIG", str(config))
    found = devices.find("parallel")
    assert found == devices.find(str(tmp_path / "a" / "file")) == ("shared device parallel", "parallel", 100.0, True)
    with pytest.raises(ValueError, match="nosuch"):
        devices.find("nosuch")


LABELS = """
import sys
import dovetail as dt
from dovetail.cluster import devices

with dt.Runtime(workers=1):
    dt.wait([dt.io(abs, storage_bw=50, device="parallel", label=f"label {number}")(-1) for number in range(300)])
    late = dt.io(abs, storage_bw="auto", device="parallel", label="late")
    for _ in range(100):
        dt.wait(late(-1))
    parallel = devices.find("parallel")
    found = devices.progress(parallel, "late", ())
    assert found.registry and 0 < found.registry[0].share <= 1, found
    assert devices.progress(parallel, "late", (1.0, 2.0, 2.0)) == (1, ())
"""


def test_a_process_that_has_seen_many_labels_knows_what_it_learns(tmp_path):
    """It learns all later ones as one type. A node that did not see the end of that had the device alone for ever."""
    config = tmp_path / "dovetail.toml"
    config.write_text(CONFIG.format(folder=tmp_path))
    environment = {**os.environ, "DOVETAIL_CONFIG": str(config), "XDG_STATE_HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", LABELS], env=environment, check=True, timeout=200)


def test_only_numbers_are_static_constraints():
    assert [devices.fixed(text) for text in (20, "20", " 2 0 ", 0.5)] == [20, 20, 20, 0.5]
    others = (None, "none", "auto", "auto(2,256,2)", "adaptive", "0", -1, "nan", "inf", "x")
    assert not any(devices.fixed(text) for text in others)


def test_only_calls_that_ask_the_ledger_are_sent_alone(monkeypatch):
    """The others are given back if they wait, and go in batches."""

    def batch_of(storage_bw):
        function = Function(dt.Task(abs, storage_bw=storage_bw), "driver", lambda job: None)
        function.seconds = 0.0001
        jobs = [Job(None, function, (number,), {}) for number in range(30)]
        return len(Dispatcher._batch(SimpleNamespace(_threads={"node": 3}), jobs))

    def unknown(name, measured):
        raise ValueError(name)

    learned = ("auto", "auto(2,256,2)", "adaptive", " adaptive")
    for shared in (False, True):
        monkeypatch.setattr(
            devices._core, "storage_device", lambda name, measured, shared=shared: (name, (), 1.0, shared, True)
        )
        assert [batch_of(constraint) for constraint in (None, "none")] == [10, 10]
        assert [batch_of(constraint) for constraint in (20, "20")] == [1, 1]
        assert {batch_of(constraint) for constraint in learned} == {1 if shared else 10}
    monkeypatch.setattr(devices._core, "storage_device", unknown)  # nodes may know it
    assert {batch_of(constraint) for constraint in learned} == {1}


def test_a_claim_is_left_or_withdrawn_once():
    begun = []
    claim = devices.Claim(lambda *how: begun.append(how))
    assert claim.withdraw() and not claim.withdraw()
    entry = devices.Entry(lambda: begun.append("entry"))
    lease = SimpleNamespace(enter=lambda entry: entry.begin(), withdraw=lambda entry: False)
    claim.enter(lease, entry)
    claim.go(OSError())
    assert not begun
    claim = devices.Claim(lambda *how: begun.append(how))
    claim.enter(lease, entry)
    assert begun == ["entry"] and not claim.withdraw()
    claim = devices.Claim(lambda *how: begun.append(how))
    error = OSError()
    claim.go(error)
    assert begun == ["entry", (error, None)] and not claim.withdraw()
    claim.leave()  # it has none
