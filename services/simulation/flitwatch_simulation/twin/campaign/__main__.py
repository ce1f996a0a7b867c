"""Make scenarios: `python -m flitwatch_simulation.twin.campaign SEED USERS SCENARIO...` writes observations and truth into the cache folder."""

from __future__ import annotations

import sys

from threadpoolctl import threadpool_limits

from flitwatch_simulation.twin.campaign import cache
from flitwatch_simulation.twin.campaign.simulate import build


def main(seed: int, users: int, scenarios: list[str]) -> None:
    """Simulate each scenario; they share the history of one seed, which is made once."""
    # The products are small: a second thread doubles the CPU time and gains nothing.
    with threadpool_limits(1):
        for scenario in scenarios:
            observed, truth = cache.places(scenario, seed, users)
            campaign, true = build(scenario, seed, users)
            cache.save(truth, true)
            cache.save(observed, campaign)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
