"""Computation of scenarios: `python -m flitwatch_research.campaign SEED USERS SCENARIO...` writes observations and truth into the cache folder."""

from __future__ import annotations

import sys

from threadpoolctl import threadpool_limits

from flitwatch_research.campaign import cache
from flitwatch_research.campaign.simulate import build_campaign
from flitwatch_research.campaign.variants import find_variant


def main(seed: int, users: int, scenarios: list[str]) -> None:
    """Simulate each scenario; they share the history of one seed, which is computed once."""
    # The matrix products are small: a second thread doubles the CPU time without any gain.
    with threadpool_limits(1):
        # Variants with the same history of jobs are adjacent, as only the last ones are kept in memory.
        for scenario in sorted(scenarios, key=lambda name: repr(find_variant(name).demand)):
            observed, truth = cache.record_paths(scenario, seed, users)
            campaign, true = build_campaign(scenario, seed, users)
            cache.save_record(truth, true)
            cache.save_record(observed, campaign)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
