"""Campaign mode: named, seeded sets of about 200 runs over four simulated months, with a truth by counterfactual.

`generate_campaign` returns the estimators' input, `generate_truth` the truth, which only scoring may use. Both result from one simulation, so it runs in a
separate process (`python -m flitwatch_research.campaign`), and a caller that requests one never has the other in memory.

Steps, in order: `history` draws four months once per seed. `variants` and `demand` modify them for hard variants. For each instrumented run, `window`
computes the surrounding fabric (`footprint`), `background` the crowd's load, `cause` the law from load to slowdown, `step_times` the step times, `observe`
the counters, and `simulate` the lost readings. `effects` computes the truth by counterfactual. `dataset` separates both, and `cache` stores them on disk.

Open

- `simulate` for the order of these steps; `__main__` for the process that runs them;
- `variants` to add a hard variant by name; `demand`, `cause` for its possible changes;
- `observe` and `step_times` for the estimators' input; `effects` for the truth for scoring;
- `dataset` to write a campaign for `flitwatch blame --runs`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TypeVar

from flitwatch_domain.errors import BadRequest, FlitwatchError
from flitwatch_research.campaign import cache
from flitwatch_research.campaign.dataset import (
    COMPONENTS,
    COUNTER_NAMES,
    IO_NAMES,
    PLACEMENT_NAMES,
    SYS_NAMES,
    Campaign,
    CampaignTruth,
)
from flitwatch_research.campaign.variants import VARIANTS, Variant, find_variant, split_scenario

#: The applications. A scenario is one of them, optionally in one of `VARIANTS`: `amg-128@drift`.
SCENARIOS: tuple[str, ...] = ("amg-128", "amg-512", "milc-128", "milc-512", "minivite-128", "umt-128", "long-milc")

__all__ = [
    "COMPONENTS",
    "COUNTER_NAMES",
    "IO_NAMES",
    "PLACEMENT_NAMES",
    "SCENARIOS",
    "SYS_NAMES",
    "VARIANTS",
    "Campaign",
    "CampaignTruth",
    "Variant",
    "find_variant",
    "generate_campaign",
    "generate_truth",
    "make_sets",
    "split_scenario",
]

T = TypeVar("T", Campaign, CampaignTruth)


def generate_campaign(scenario: str, seed: int, users: int = 300) -> Campaign:
    """Return the observations of a scenario.

    Sets with the same seed and number of users share the machine, its users and their jobs. They are cached by scenario, seed, users and code version; missing
    ones are computed in another process.

    Raises
    ------
    BadRequest
        The scenario is unknown, the seed is negative, or there are fewer than 40 users.
    FlitwatchError
        The simulation failed.
    """
    return _load_or_make(scenario, seed, users, Campaign)


def generate_truth(scenario: str, seed: int, users: int = 300) -> CampaignTruth:
    """Return the truth of the same scenario, for scoring only. Raises the errors of `generate_campaign`."""
    return _load_or_make(scenario, seed, users, CampaignTruth)


def make_sets(scenarios: tuple[str, ...], seed: int, users: int = 300) -> None:
    """Compute the scenarios missing in the cache in one other process, as they share four months of jobs. Raises the errors of `generate_campaign`."""
    for scenario in scenarios:
        _check_arguments(scenario, seed, users)
    lacking = [name for name in scenarios if not all(path.exists() for path in cache.record_paths(name, seed, users))]
    if not lacking:
        return
    argv = [sys.executable, "-m", "flitwatch_research.campaign", str(seed), str(users), *lacking]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip()[-300:]
        raise FlitwatchError(f"the simulation of {', '.join(lacking)} failed: {message}")


def _load_or_make(scenario: str, seed: int, users: int, kind: type[T]) -> T:
    _check_arguments(scenario, seed, users)
    path = _stored_path(scenario, seed, users, kind)
    record = cache.load_record(path, kind)
    if record is None:
        path.unlink(missing_ok=True)
        make_sets((scenario,), seed, users)
        record = cache.load_record(path, kind)
    if record is None:
        raise FlitwatchError(f"{path} cannot be read", advice="Remove it and try again.")
    return record


def _stored_path(scenario: str, seed: int, users: int, kind: type[T]) -> Path:
    observed, truth = cache.record_paths(scenario, seed, users)
    return observed if kind is Campaign else truth


def _check_arguments(scenario: str, seed: int, users: int) -> None:
    if split_scenario(scenario)[0] not in SCENARIOS:
        advice = f"Choose one of {', '.join(SCENARIOS)}, alone or in a variant, for example {SCENARIOS[0]}@drift."
        raise BadRequest(f"there is no scenario {scenario!r}", advice=advice)
    find_variant(scenario)
    if seed < 0 or not 40 <= users <= 20_000:
        raise BadRequest(
            f"seed {seed} and {users} users are out of range", advice="Use a seed of at least 0, and 40 to 20000 users."
        )
