"""The twin's two modes on the same jobs: loads correlate, and so do the slowdowns of runs."""

from __future__ import annotations

from flitwatch_domain.generators import build_dragonfly
from flitwatch_research.agreement import measure_agreement


def test_modes_rank_the_same_mixes_alike() -> None:
    """Eight mixes of a six-group machine, seed 3; on the machine of the campaigns see docs/benchmarks/twin.md."""
    found = measure_agreement(3, 8, build_dragonfly(6, io_routers_per_group=4), ("milc-128", "amg-128"))
    assert found["router_load_correlation"]["median"] > 0.75
    assert found["group_load_correlation"]["median"] > 0.9
    for application in found["applications"].values():
        assert application["slowdown_rank_correlation"] > 0.7
        assert application["slowdown_median_campaign"] > 0 and application["slowdown_median_per_second"] > 0
