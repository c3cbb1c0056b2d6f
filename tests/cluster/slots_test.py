"""Workers with several slots, and clusters that have none for a while."""

from __future__ import annotations

import logging

import dovetail as dt
import pytest
from conftest import cluster_of
from together import meet, note

pytest.importorskip("distributed", reason="Dask distributed is not installed")


def test_a_program_waits_for_workers_and_says_so_and_limits_hold_among_the_slots_of_a_process(tmp_path, caplog, until):
    (tmp_path / "count").touch()
    with cluster_of(tmp_path, 0, 2) as cluster, dt.Cluster(cluster), caplog.at_level(logging.WARNING, "dovetail"):
        first = dt.task(abs)(-1)
        until(lambda: "the cluster has no workers; 1 calls wait for one" in caplog.messages)
        cluster.scale(1)
        assert first.result() == 1
        assert len([record for record in caplog.records if record.name == "dovetail"]) == 1
        free = dt.task(meet)
        dt.wait([free(str(tmp_path), number, 2) for number in range(2)])  # two slots
        for options in ({"limit": 1}, {"storage_bw": 60, "device": "disk"}):
            body = dt.task(note, **options)
            assert max(dt.wait([body(str(tmp_path / "count"), 0.01) for _ in range(8)])) == 1
