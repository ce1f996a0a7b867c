"""The database's server is lost with its Patroni under a feed: the standby takes over, and the counts are exact afterwards."""

from __future__ import annotations

import pytest
from integration import patroni_cluster

from flitwatch_ops.stack.daemon import free_port

pytestmark = pytest.mark.system("faults")


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
