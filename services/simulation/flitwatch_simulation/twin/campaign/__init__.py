"""Campaign mode: named, seeded sets of about 200 runs over four simulated months, with a truth by counterfactual.

`generate` gives what estimators may see, `generate_truth` what only scoring may.
"""

from __future__ import annotations

from flitwatch_domain.errors import BadRequest
from flitwatch_simulation.twin.campaign import cache
from flitwatch_simulation.twin.campaign.dataset import (
    COMPONENTS,
    COUNTER_NAMES,
    IO_NAMES,
    PLACEMENT_NAMES,
    SYS_NAMES,
    Campaign,
    CampaignTruth,
)

SCENARIOS: tuple[str, ...] = ("amg-128", "amg-512", "milc-128", "milc-512", "minivite-128", "umt-128", "long-milc")

__all__ = [
    "COMPONENTS",
    "COUNTER_NAMES",
    "IO_NAMES",
    "PLACEMENT_NAMES",
    "SCENARIOS",
    "SYS_NAMES",
    "Campaign",
    "CampaignTruth",
    "generate",
    "generate_truth",
]


def generate(scenario: str, seed: int, users: int = 300) -> Campaign:
    """The observations of a scenario.

    Sets of one seed and number of users share the machine, its users and their jobs. Kept under the cache folder by scenario, seed,
    users and code version.

    Raises
    ------
    BadRequest
        For an unknown scenario, a negative seed, or fewer than 40 users.
    """
    return _made(scenario, seed, users)[0]


def generate_truth(scenario: str, seed: int, users: int = 300) -> CampaignTruth:
    """The truth of the same scenario, for scoring only; raises as `generate` does."""
    return _made(scenario, seed, users)[1]


def _made(scenario: str, seed: int, users: int) -> tuple[Campaign, CampaignTruth]:
    if scenario not in SCENARIOS:
        raise BadRequest(f"there is no scenario {scenario!r}", advice=f"Choose one of {', '.join(SCENARIOS)}.")
    if seed < 0 or not 40 <= users <= 20_000:
        raise BadRequest(
            f"seed {seed} and {users} users are out of range", advice="A seed is at least 0; users are 40 to 20000."
        )
    name = f"{scenario}-{seed}-{users}-{cache.code_version()}.npz"
    folder = cache.cache_folder()
    seen, true = folder / "observed" / name, folder / "truth" / name
    campaign, truth = cache.load(seen, Campaign), cache.load(true, CampaignTruth)
    if campaign is None or truth is None:
        from threadpoolctl import threadpool_limits

        from flitwatch_simulation.twin.campaign.simulate import build

        # The products are small: a second thread doubles the CPU time and gains nothing.
        with threadpool_limits(1):
            campaign, truth = build(scenario, seed, users)
        cache.save(seen, campaign)
        cache.save(true, truth)
    return campaign, truth
