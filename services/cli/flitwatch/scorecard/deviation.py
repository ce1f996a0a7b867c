"""Deviation on the scorecard: the planted counter's place, and errors by inputs and split."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from flitwatch.scoring import score
from flitwatch_ml.deviation import DeviationModel
from flitwatch_simulation.twin.campaign import COUNTER_NAMES, generate

VARIANTS = (("rates", "run"), ("deltas", "run"), ("deltas", "row"))


def rows(scenarios: tuple[str, ...], seeds: tuple[int, ...], users: int) -> Iterator[dict[str, Any]]:
    """One row a scenario, seed and variant."""
    for scenario in scenarios:
        for seed in seeds:
            campaign = generate(scenario, seed, users)
            for inputs, split in VARIANTS:
                begun = time.process_time()
                model = DeviationModel(inputs=inputs, split=split, seed=seed).fit(campaign.counters, campaign.times_s)
                cpu_s = time.process_time() - begun
                rank = dict(zip(COUNTER_NAMES, map(float, model.rank_), strict=True))
                scored = score("deviation", scenario, seed, users, {"rank": rank})
                first = sorted(rank, key=rank.__getitem__)[:3]
                yield {
                    "scenario": scenario, "seed": seed, "inputs": inputs, "split": split, "mape": model.mape_,
                    "baseline_mape": model.baseline_mape_, "first": first, "cpu_s": cpu_s, **scored,
                }  # fmt: skip
