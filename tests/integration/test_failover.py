"""Loss of the database server and its Patroni under a feed: the standby takes over, and the counts are exact afterwards."""

from __future__ import annotations

import os

import pytest
from integration import patroni_cluster

from flitwatch_ops.stack.daemon import free_port


@pytest.mark.system("faults")
@pytest.mark.integration
@pytest.mark.system("faults")
@pytest.mark.skipif(bool(patroni_cluster.lacking()), reason=patroni_cluster.lacking())
@pytest.mark.timeout(300)
def test_nothing_is_lost_when_a_standby_takes_over() -> None:
    from integration.campaign import Setting, failover

    report = failover(Setting("cluster", free_port()), 1)
    assert not report.ended_early
    assert (report.lost, report.duplicated, report.crashed) == (0, 0, []) and report.values > 0
    assert report.kills == {"primary": 1} and len(report.recoveries_s) == 1


# Kills under load, a full disk, stepped clocks and a cut network: `flitwatch up` with its supervisor loses and doubles nothing.


@pytest.mark.integration
@pytest.mark.system("faults")
@pytest.mark.timeout(600)
def test_nothing_is_lost_over_kills_a_full_disk_stepped_clocks_and_a_cut_network() -> None:
    from integration.campaign import Setting, chaos
    from integration.hosts import can_be_had

    report = chaos(Setting("embedded", free_port()), int(os.environ.get("FLITWATCH_CHAOS_SHORT", "6")), seed=3)
    assert (report.lost, report.duplicated, report.crashes) == (0, 0, 0) and report.values > 0
    assert report.endless_heads > 0 and report.stops == 5
    assert len(report.recoveries_s) >= 6 and report.network_cuts == (2 if can_be_had() else 0)
