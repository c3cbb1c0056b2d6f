"""`adaptive` on a device that all nodes share, against simulated disks and a simulated network. Needs no Dask."""

from __future__ import annotations

import pytest
from dovetail.cluster.ledger import TUNED
from dovetail.cluster.level import FIRST, Ended, Level
from simulated_cluster import DEVICE, Cluster, Disk

SECONDS = 0.1


def congests(best, penalty=0.5):
    """Full with `best` at once; each more costs."""
    return lambda at_once: min(at_once, best) / best / (1 + penalty * max(0, at_once - best) / best)


def on(rate, nodes, tasks, seed=1, seconds=lambda random: SECONDS, **network):
    """All tasks are there at the beginning. Yields what the level is as each task ends, and so far."""
    cluster = Cluster(seed, losses=0.0, **network)
    cluster.disk = Disk(cluster, rate)
    for number in range(nodes):
        node = cluster.join(f"node {number}")
        for _ in range(tasks):
            node.spawn_adaptive(seconds(cluster.random))
    return cluster


def levels(cluster, tasks):
    """The level when each of the next tasks ends."""
    seen = []
    for ended in range(cluster.disk.ended + 1, cluster.disk.ended + tasks + 1):
        while cluster.disk.ended < ended:
            cluster._step()
        seen.append(level(cluster).at_once)
    return seen


def level(cluster):
    return cluster.ledger._devices[DEVICE].level if cluster.ledger._devices else Level()


def share_of_good(seen, rate, best):
    return sum(rate(at_once) >= 0.9 * rate(best) for at_once in seen) / len(seen)


@pytest.mark.parametrize("nodes", [3, 6])
@pytest.mark.parametrize("best", [1, 2, 4, 8])
def test_the_level_is_found_for_the_whole_cluster_in_twenty_tasks_a_node(best, nodes):
    rate = congests(best)
    cluster = on(rate, nodes, 400)
    found = max(20 * nodes, 30 * best)  # a level is known when it has been full for a while
    levels(cluster, found)
    # And but for looks at its neighbours it stays there.
    seen = levels(cluster, 300 * nodes)
    assert sorted(seen)[len(seen) // 2] == best
    assert share_of_good(seen, rate, best) > 0.9
    for node in cluster.nodes.values():
        assert node.lease.at_once in (best - 1, best, best + 1)


def test_tasks_of_adaptive_take_as_long_as_with_the_best_number():
    tasks, nodes = 1000, 3
    cluster = on(congests(4), nodes, tasks)
    assert nodes * tasks * SECONDS > 0.9 * cluster.run_until_done(1e6)
    # Without: each node for itself would begin with four at once.
    assert congests(4)(12) < 0.6


@pytest.mark.parametrize(
    "network", [{"latency": 0.02}, {"drift": 0.05}], ids=["slow messages", "clocks of different rate"]
)
def test_the_level_is_found_whatever_the_network_and_the_clocks_are(network):
    rate = congests(8)
    cluster = on(rate, 3, 500, **network)
    levels(cluster, 300)
    assert share_of_good(levels(cluster, 900), rate, 8) > 0.85


def test_tasks_that_scatter_need_more_of_them():
    rate = congests(4)
    cluster = on(rate, 3, 1000, seconds=lambda random: SECONDS * random.uniform(0.4, 1.6))
    levels(cluster, 400)
    assert share_of_good(levels(cluster, 2000), rate, 4) > 0.6


def test_a_device_that_changes_is_noticed():
    cluster = on(congests(8), 3, 1500)
    assert levels(cluster, 400)[-1] in (7, 8, 9)
    for rate, best in ((congests(2), 2), (lambda at_once: 4 * congests(8)(at_once), 8)):
        cluster.disk._advance()
        cluster.disk.rate = rate
        cluster.disk._plan_next()
        levels(cluster, 900)
        assert share_of_good(levels(cluster, 300), rate, best) > 0.8


def test_types_of_other_size_share_one_level():
    rate = congests(4)
    cluster = Cluster(1, losses=0.0)
    cluster.disk = Disk(cluster, rate)
    for number in range(3):
        node = cluster.join(f"node {number}")
        for place in range(400):
            label = cluster.random.choice(["small", "large"])
            node.spawn_adaptive({"small": 0.04, "large": 0.3}[label], label)
            assert place or node.lease.types
    levels(cluster, 150)
    assert share_of_good(levels(cluster, 800), rate, 4) > 0.85
    small, large = (level(cluster)._units[TUNED + label].work for label in ("small", "large"))
    assert large / small == pytest.approx(7.5, rel=0.25)


def test_a_burst_leaves_a_level_that_is_known_and_the_next_begins_with_it():
    rate = congests(4)
    cluster = on(rate, 3, 60)
    cluster.run_until_done(1e6)
    cluster.run(cluster.now + 10.0)
    held = level(cluster).at_once
    assert rate(held) >= 0.9
    late = cluster.join("late")
    began = late.begun
    for _ in range(60):
        late.spawn_adaptive(SECONDS)
    cluster.run(cluster.now + 0.05)
    assert late.begun - began == held == late.lease.at_once


def test_static_and_adaptive_tasks_add_up():
    cluster = Cluster(1, losses=0.0)
    cluster.disk = Disk(cluster, congests(8))
    static, tuned = cluster.join("static"), cluster.join("tuned")
    for _ in range(400):
        static.spawn(0.25, SECONDS)
        tuned.spawn_adaptive(SECONDS)
    cluster.run_until_done(1e6)  # the cluster checks the sum whenever one begins
    assert static.begun == tuned.begun == 400


def test_levels_of_a_device_that_all_know_outlive_its_nodes():
    cluster = on(congests(2), 1, 100)
    cluster.run_until_done(1e6)
    found = level(cluster).at_once
    assert found != FIRST
    cluster.kill("node 0")
    cluster.run(cluster.now + 10.0)
    other = cluster.join("other")
    other.spawn_adaptive(SECONDS)
    cluster.run_until_done(10.0)
    assert other.lease.at_once == found


# What a level learns from


def told(at, rate, tasks=4, change=None):
    seconds = at.at_once / rate * tasks
    at.ended("type", Ended(at.change if change is None else change, tasks, seconds, seconds**2 / tasks))
    at.decide(100)


def test_tasks_of_an_earlier_level_teach_nothing_and_those_that_fill_one_are_skipped():
    at = Level()
    for _ in range(20):
        told(at, 1.0, change=-1)
    assert at.at_once == FIRST and not at.change
    told(at, 1.0, tasks=FIRST)
    assert not at._known
    told(at, 1.0, tasks=3)
    assert (at.at_once, at.change) == (FIRST // 2, 1)


def test_a_level_above_what_waits_is_not_tried():
    at = Level()
    rates = {FIRST: 2.0, FIRST // 2: 1.0}
    for _ in range(30):
        seconds = at.at_once / rates[at.at_once]
        at.ended("type", Ended(at.change, 1, seconds, seconds**2))
        at.decide(1)
    assert at.at_once == FIRST
    at.decide(100)
    assert at.at_once == 2 * FIRST


def test_a_level_that_too_few_tasks_fill_is_given_up():
    at = Level()
    while at.at_once != 2 * FIRST:
        told(at, float(at.at_once))
    at.decide(1)
    assert at.at_once == 2 * FIRST
    at.decide(0)
    assert at.at_once == FIRST and at.searches


def test_what_is_kept_does_not_grow_with_labels():
    at = Level()
    for number in range(2000):
        at.ended(f"label {number}", Ended(at.change, 1, 0.1, 0.01))
        at.decide(100)
    assert len(at._units) <= 65 and len(at._known) < 100
