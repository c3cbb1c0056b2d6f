"""The account of a device that all nodes share, against a simulated network. Needs no Dask."""

from __future__ import annotations

import itertools
import os

import pytest
from dovetail.cluster.learning import LearnedType, choose
from dovetail.cluster.lease import Entry, Lease
from dovetail.cluster.ledger import SECONDS, Grant, Learned, Ledger, Need
from simulated_cluster import DEVICE, Cluster, Learner

SCHEDULES = int(os.environ.get("DOVETAIL_TEST_ROUNDS", "1")) * 300


def random_schedule(seed: int) -> None:
    cluster = Cluster(seed, losses=0.0, drift=0.05)
    random = cluster.random
    cluster.epochs = random.choice([Learner.EPOCHS, Learner.LONG])
    longest = random.choice([1.0, 8.0])
    cluster.losses = random.choice([0.0, 0.05, 0.3])
    cluster.lateness = random.choice([0.01, 1.0, 6.0])
    shares = random.choice([[1 / 3], [0.1, 0.25], [1.0, 0.05], [0.5, 0.4, 0.3, 0.2]])
    learned = random.choice([0.0, 0.0, 0.3, 1.0])
    adaptive = random.choice([0.0, 0.0, 0.5])
    cluster.disk.rate = random.choice([lambda at_once: 1.0, lambda at_once: min(at_once, 6) / (1 + at_once)])
    static: dict[str, list[Entry]] = {}
    numbers = itertools.count()
    nodes = [cluster.join(f"node {next(numbers)}") for _ in range(random.choice([1, 2, 3, 8]))]
    for _ in range(random.randint(5, 40)):
        place = random.randrange(len(nodes))
        node = nodes[place]
        event = random.random()
        if not node.works:
            if event < 0.5:
                nodes[place] = cluster.join(f"node {next(numbers)}")
        elif event < 0.1:
            cluster.kill(node.name)
        elif event < 0.2:
            cluster.cut_off(node.name)
        elif event < 0.4:
            node.reachable = not node.reachable  # the network, and Dask has not noticed
        elif event < 0.5:
            for entry in static.pop(node.name, []):  # a program goes
                node.withdraw(entry, node.lease)
        else:
            for _ in range(random.randint(1, 10)):
                seconds = random.expovariate(1 / random.choice([0.01, 0.1, longest]))
                if random.random() < learned:
                    node.spawn_auto(seconds)
                elif random.random() < adaptive:
                    node.spawn_adaptive(seconds, random.choice(["one", "two"]))
                else:
                    static.setdefault(node.name, []).append(node.spawn(random.choice(shares), seconds))
        cluster.run(cluster.now + random.expovariate(1 / random.choice([0.01, 0.5, 3.0])))
    # No faults from now on; what is on its way may still come late, twice or never.
    cluster.losses = 0.0
    for node in nodes:
        node.reachable = node.works
    cluster.run_until_done(20000.0)
    # Late messages, renewals and ends of leases.
    cluster.run(cluster.now + 200.0)
    assert cluster.granted() == pytest.approx(0.0, abs=1e-6), f"lost for ever: {cluster.ledger.report()}"


def test_nodes_never_use_more_than_the_device_has_and_no_lease_is_lost():
    for seed in range(SCHEDULES):
        try:
            random_schedule(seed)
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def backlog(shares, tasks, seconds, latency=0.001):
    """Every node has tasks enough all the time. Returns the seconds that all of them take, and the cluster."""
    cluster = Cluster(1, losses=0.0, latency=latency)
    for i, share in enumerate(shares):
        node = cluster.join(f"node {i}")
        for _ in range(tasks):
            node.spawn(share, seconds)
    return cluster.run_until_done(1e6), cluster


@pytest.mark.parametrize(("nodes", "share"), [(3, 1 / 3), (3, 1 / 12), (4, 1 / 3), (6, 1.0)])
def test_a_device_is_full_while_nodes_have_tasks(nodes, share):
    tasks, seconds = 60, 0.05
    took, cluster = backlog([share] * nodes, tasks, seconds)
    best = nodes * tasks * seconds * share
    assert took < 1.1 * best
    assert cluster.messages < 5 * nodes * tasks


def test_a_node_alone_does_not_ask_for_each_task():
    _, cluster = backlog([0.25], 400, 0.05)
    assert cluster.messages < 80  # for 5 seconds and the end of a queue


def test_a_node_alone_does_not_ask_again_when_the_next_task_comes_at_once():
    cluster = Cluster(1, losses=0.0)
    node = cluster.join("node")
    for count in range(1, 40):
        node.spawn(1.0, 0.01)
        cluster.run(cluster.now + 0.012)
        assert node.begun == count
    assert cluster.messages <= 4


def test_a_node_that_stops_gives_back_what_its_tasks_do_not_use():
    cluster = Cluster(1, losses=0.0)
    node = cluster.join("node")
    node.spawn(0.25, 0.01)
    node.spawn(0.5, 10.0)
    node.spawn(0.75, 10.0)
    cluster.run(0.1)
    node.lease.stop()
    cluster.run(0.2)
    (device,) = cluster.ledger.report()
    assert device["nodes"] == {"node": 150.0} and not device["waiting"]
    cluster.run(30.0)
    assert node.begun == 2


def test_a_node_that_hangs_gets_no_more_and_what_it_got_since_returns():
    cluster = Cluster(1, losses=0.0)
    hangs, *others = (cluster.join(name) for name in ("hangs", "one", "two"))
    for node in (hangs, *others):
        for _ in range(400):
            node.spawn(0.5, 0.1)
    cluster.run(2.0)
    while not hangs.running:
        cluster.run(cluster.now + 0.01)
    hangs.alive = False  # but its process is there
    cluster.run(cluster.now + 1.0)
    assert cluster.amounts()["hangs"] == 1.0  # it was its turn
    cluster.run(cluster.now + SECONDS)
    assert cluster.amounts()["hangs"] <= 0.5 and "hangs" not in cluster.ledger.report()[0]["waiting"]
    begun = sum(node.begun for node in others)
    cluster.run(cluster.now + 10.0)
    assert sum(node.begun for node in others) - begun >= 90
    assert cluster.amounts()["hangs"] <= 0.5


def test_a_node_that_was_silent_keeps_only_what_it_uses():
    """The ledger may have given the rest away."""
    now, sent = [0.0], []
    lease = Lease(DEVICE, "disk", 100.0, lambda: now[0], sent.append)
    for silent, keeps in ((0.8, 1.0), (SECONDS + 1.0, 0.5)):
        lease.enter(Entry(lambda: None, 0.5 if not sent else 1e-6))
        lease.granted(Grant(DEVICE, sent[-1].number, 1.0, 1.0))
        now[0] += silent
        lease.tick()
        assert sent[-1].keeps == pytest.approx(keeps, abs=1e-5)
        lease.granted(Grant(DEVICE, sent[-1].number, 1.0, 1.0))


def test_the_ledger_makes_no_room_for_a_task_that_is_withdrawn():
    cluster = Cluster(1, losses=0.0)
    busy, large = cluster.join("busy"), cluster.join("large")
    for _ in range(600):
        busy.spawn(0.25, 0.1)
    cluster.run(1.0)
    entry = large.spawn(1.0, 0.1)
    cluster.run(1.01)
    assert "large" in cluster.ledger.report()[0]["waiting"]
    large.withdraw(entry, large.lease)
    cluster.run(1.02)
    assert "large" not in cluster.ledger.report()[0]["waiting"]
    begun = busy.begun
    cluster.run(3.02)
    assert busy.begun - begun >= 0.95 * 4 * 2.0 / 0.1


def test_a_grant_that_is_lost_after_its_task_was_withdrawn_returns():
    """The node uses nothing, and so does not renew."""
    cluster = Cluster(1, losses=0.0)
    first, second = cluster.join("first"), cluster.join("second")
    first.spawn(1.0, 1.0)
    cluster.run(0.1)
    entry = second.spawn(0.5, 1.0)
    cluster.run(0.2)
    second.reachable = False
    second.withdraw(entry, second.lease)
    cluster.run(1.3)
    assert cluster.ledger.report()[0]["nodes"]["second"] == 150.0
    second.reachable = True
    cluster.run(5.0)
    assert not cluster.granted()


def test_a_node_that_stops_tells_that_nothing_waits_there():
    cluster = Cluster(1, losses=0.0)
    busy, stops = cluster.join("busy"), cluster.join("stops")
    busy.spawn(1.0, 2.0)
    cluster.run(0.1)
    stops.spawn(1.0, 1.0)
    cluster.run(0.2)
    stops.lease.stop()
    cluster.run(0.3)
    assert not cluster.ledger.report()[0]["waiting"]


def test_one_node_learns_alone_and_all_use_what_it_has_found():
    cluster = Cluster(1, losses=0.0)
    nodes = [cluster.join(f"node {number}") for number in range(3)]
    for node in nodes:
        for _ in range(40):
            node.spawn_auto(0.1)
    cluster.run_until_done(1000.0)
    assert sorted(node.learned_here for node in nodes) == [0, 0, sum(Learner.EPOCHS)]
    assert all(node.learned.registry == Learner.REGISTRY for node in nodes)
    # 4 + 2 + 1 tasks in three epochs, and then two at once all the time.
    assert cluster.now < 1.1 * (0.3 + 113 / 2 * 0.1)
    late = cluster.join("late")
    late.spawn_auto(0.1)
    cluster.run_until_done(1000.0)
    assert late.begun == 1 and not late.learned_here


def test_types_and_devices_that_nobody_uses_are_forgotten():
    cluster = Cluster(1, losses=0.0)
    node = cluster.join("node")
    needs = []
    send = node.lease._send
    node.lease._send = lambda need: (needs.append(need), send(need))
    labels = 500
    for number in range(labels):
        node.learned = LearnedType(f"label {number}", node.lease, node.learner.progress)
        node.spawn_auto(0.001)
        cluster.run(cluster.now + 0.05)
    cluster.run(cluster.now + 5.0)
    assert node.begun == labels and not node.lease.types
    assert sum(len(need.types) for need in needs) < 4 * labels
    assert max(len(need.types) for need in needs) < 10
    cluster.kill("node")
    cluster.run(cluster.now + 5.0)
    assert cluster.ledger.report()[0]["nodes"] == {}  # it keeps what was learned
    other = Ledger()
    other.joined("node")
    other.need("node", Need(DEVICE, 1, 0.0, 1.0, 1.0, "disk", 100.0), 0.0)
    other.removed("node")
    assert other.report()
    other.tick(SECONDS + 1.0)
    assert not other.report()


def test_a_type_that_is_forgotten_learns_no_more_when_the_ledger_knows_it():
    cluster = Cluster(1, losses=0.0)
    node = cluster.join("node")
    for _ in range(10):
        node.spawn_auto(0.1)
    cluster.run_until_done(10.0)
    cluster.run(20.0)
    assert not node.lease.types
    learned = node.learned_here
    node.learned = LearnedType("a type", node.lease, Learner().progress)
    for _ in range(4):
        node.spawn_auto(0.1)
    cluster.run_until_done(10.0)
    assert node.begun == 14 and node.learned_here == learned == sum(Learner.EPOCHS)


def test_what_was_found_while_the_scheduler_did_not_answer_is_told_later():
    cluster = Cluster(1, losses=0.0)
    first, second = cluster.join("first"), cluster.join("second")
    for _ in range(sum(Learner.EPOCHS)):
        first.spawn_auto(1.0)
    cluster.run(1.0)
    first.reachable = False
    cluster.run(4.5)
    assert first.learned.registry and not first.running
    first.reachable = True
    cluster.run(10.0)
    second.spawn_auto(0.1)
    cluster.run_until_done(10.0)
    assert not second.learned_here


def test_another_node_learns_when_the_first_has_no_more_tasks_or_dies():
    cluster = Cluster(1, losses=0.0)
    few, dies, last = (cluster.join(name) for name in ("few", "dies", "last"))
    for node, tasks in ((few, 3), (dies, 20), (last, 20)):
        for _ in range(tasks):
            node.spawn_auto(0.1)
        cluster.run(cluster.now + 0.02)
    cluster.run(0.25)
    assert few.begun == few.learned_here == 3 and dies.learned_here
    cluster.kill("dies")
    cluster.run_until_done(1000.0)
    assert last.learned_here == sum(Learner.EPOCHS) and last.begun == 20


def test_a_node_asks_what_is_known_before_it_learns_and_tells_what_it_has_found():
    cluster = Cluster(1, losses=0.0)
    first, second = cluster.join("first"), cluster.join("second")
    for _ in range(sum(Learner.EPOCHS)):
        first.spawn_auto(0.1)
    cluster.run_until_done(10.0)  # and no task is left
    second.spawn(1.0, 0.1)
    cluster.run_until_done(10.0)  # the whole device is at hand
    second.spawn_auto(0.1)
    cluster.run_until_done(10.0)
    assert first.learned_here == sum(Learner.EPOCHS) and not second.learned_here


def test_what_others_wait_for_counts_and_a_turn_to_learn_is_given_up_when_it_is_known():
    cluster = Cluster(1, losses=0.0)
    holder, node = cluster.join("holder"), cluster.join("node")
    holder.spawn(1.0, 100.0)
    node.spawn_auto(0.1)
    cluster.run(0.3)
    assert cluster.ledger.report()[0]["waiting"] == ["node"] and node.lease._asks()[0] == 1.0
    registry = (Learned(0.25, 4, 0.4), Learned(0.5, 2, 0.25))
    for others, share in ((0, 0.5), (3, 0.25)):
        node.learned.told(registry, others)
        node.learned.proceed()
        assert node.lease._asks()[0] == share


def test_the_constraint_is_that_of_the_paper():
    # A remainder is one more group, and of equal times the highest constraint counts.
    equal = (Learned(0.25, 4, 0.5), Learned(0.5, 2, 0.25))
    assert [choose(equal, ready) for ready in (0, 1, 2, 3, 4, 8)] == [0.5] * 6
    better = (Learned(0.25, 4, 0.4), Learned(0.5, 2, 0.25))
    for ready in range(1, 30):
        assert choose(better, ready) == objective(ready)
    assert {choose(better, ready) for ready in range(1, 30)} == {0.25, 0.5}


def objective(ready):
    times = {0.25: -(-ready // 4) * 0.4, 0.5: -(-ready // 2) * 0.25}
    return min(times, key=lambda share: (round(times[share], 6), -share))


def test_what_is_free_goes_to_those_who_wait_in_turn():
    ledger = Ledger()
    for node in ("has it", "one", "two"):
        ledger.joined(node)
    ask = Need(DEVICE, 1, 0.0, 0.25, 1.0, "disk", 100.0)
    for node in ("has it", "one", "two"):
        ledger.need(node, ask, 0.0)
    assert ledger.report()[0]["waiting"] == ["one", "two"]
    grants = ledger.need("has it", Need(DEVICE, 2, 0.0, 0.0, 0.0, "disk", 100.0), 0.0)
    assert {node: grant.amount for node, grant in grants} == {"has it": 0.0, "one": 0.5, "two": 0.5}


@pytest.mark.parametrize("step", [0.1, 1e-3, 1e-6, 1e-8])
def test_a_message_takes_few_turns_however_small_the_steps_are(monkeypatch, step):
    turns = []
    place = Ledger._place
    monkeypatch.setattr(Ledger, "_place", staticmethod(lambda *args: (turns.append(args[1]), place(*args))))
    ledger = Ledger()
    for node in ("has it", "one", "two"):
        ledger.joined(node)
        ledger.need(node, Need(DEVICE, 1, 0.0, 1.0 if node == "has it" else step, 1.0, "disk", 5000.0), 0.0)
    turns.clear()
    grants = dict(ledger.need("has it", Need(DEVICE, 2, 0.0, 0.0, 0.0, "disk", 5000.0), 0.0))
    assert len(turns) < 140
    # And both have had their turns.
    assert grants["one"].amount == pytest.approx(0.5, abs=max(step, 0.02))
    assert grants["one"].amount + grants["two"].amount == pytest.approx(1.0)


def test_large_tasks_are_not_passed_over_for_ever_and_all_nodes_have_their_turn():
    cluster = Cluster(1, losses=0.0)
    small, large = cluster.join("small"), cluster.join("large")
    for _ in range(1000):
        small.spawn(0.1, 0.05)
    cluster.run(1.0)
    for _ in range(3):
        large.spawn(1.0, 0.05)
    cluster.run(2.0)
    assert large.begun == 3
    begun = small.begun
    other = cluster.join("other")
    for _ in range(1000):
        other.spawn(0.1, 0.05)
    cluster.run(4.0)
    assert other.begun == pytest.approx(small.begun - begun, rel=0.2)


def test_a_node_that_is_cut_off_begins_nothing_when_its_lease_has_ended():
    cluster = Cluster(1, losses=0.0)
    node = cluster.join("node")
    for _ in range(1000):
        node.spawn(0.5, 0.1)
    cluster.run(1.0)
    node.reachable = False
    cluster.run(1.0 + SECONDS)
    begun = node.begun
    cluster.run(1.5 + 2 * SECONDS)
    assert node.lease.is_cut_off() and not node.lease.is_cut_off()  # told once
    cluster.run(20.0)
    assert node.begun == begun and not node.running
    node.reachable = True
    cluster.run(21.5)
    assert node.begun > begun


def test_a_node_that_learns_begins_nothing_when_its_lease_has_ended():
    cluster = Cluster(1, losses=0.0)
    cluster.epochs = (4,) * 20
    node = cluster.join("node")
    for _ in range(200):
        node.spawn_auto(1.0)
    cluster.run(2.5)
    assert node.begun == node.learned_here > 4
    node.reachable = False
    cluster.run(2.5 + SECONDS)
    begun = node.begun
    cluster.run(3.0 + 2 * SECONDS)
    assert node.lease.is_cut_off() and not node.lease.is_cut_off()  # told once
    cluster.run(20.0)
    assert node.begun == begun and not node.running
    node.reachable = True
    cluster.run_until_done(1000.0)
    assert node.begun == 200 and 80 <= node.learned_here < 200


def test_a_node_that_is_cut_off_while_it_learns_is_no_longer_there_when_another_has_the_device():
    cluster = Cluster(1, losses=0.0)
    gone, other = cluster.join("gone"), cluster.join("other")
    for _ in range(20):
        gone.spawn_auto(5.0)
    cluster.run(0.5)
    cluster.cut_off("gone")
    other.spawn(1.0, 3.0)
    cluster.run(30.0)
    assert other.begun == 1 and gone.begun == gone.learned_here == 4


def test_a_node_whose_clock_is_slow_has_begun_its_last_task_when_the_ledger_gives_its_share_away():
    cluster = Cluster(1, losses=0.0)
    cluster.clock.rate = 1.05
    slow, other = cluster.join("slow", rate=0.95), cluster.join("other")
    for _ in range(2000):
        slow.spawn(1.0, 0.01)
    cluster.run(0.5)
    other.spawn(1.0, 100.0)
    cluster.cut_off("slow")
    cluster.run(20.0)
    assert other.begun == 1 and slow.waiting


def test_what_a_removed_node_had_returns_when_its_lease_has_ended():
    cluster = Cluster(1, losses=0.0)
    dies, lives = cluster.join("dies"), cluster.join("lives")
    dies.spawn(1.0, 1000.0)
    cluster.run(0.1)
    lives.spawn(1.0, 1.0)
    cluster.run(0.5)
    cluster.kill("dies")
    cluster.run(2.0)
    assert not lives.begun
    cluster.run(5.0)
    assert lives.begun


def test_a_node_that_nobody_knows_gets_nothing():
    ledger = Ledger()
    need = Need(DEVICE, 1, 0.0, 0.5, 0.5, "disk", 100.0)
    assert ledger.need("node", need, 0.0) == []
    ledger.joined("node")
    ((node, grant),) = ledger.need("node", need, 0.0)
    assert (node, grant.amount, grant.fair) == ("node", 0.5, 1.0)
    assert ledger.report()[0]["nodes"] == {"node": 50.0}
    ledger.removed("node")
    assert ledger.need("node", need._replace(number=2), 0.0) == []
    assert ledger.next_end() == pytest.approx(SECONDS, abs=1.0)
    assert ledger.report()[0]["returning"] == {"node": 50.0}
