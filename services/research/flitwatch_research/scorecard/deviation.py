"""Deviation on the scorecard: the planted counters' places, and nested errors by inputs and split."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TypedDict, cast

from flitwatch_ml.deviation import DeviationModel
from flitwatch_research.scoring import DeviationScore, score_all
from flitwatch_twin.campaign import COUNTER_NAMES, generate

#: (inputs, split, learner): ours, the paper's counts over a step, and its division by row.
OURS = ("rates", "run", "lightgbm")
VARIANTS = (OURS, ("deltas", "run", "lightgbm"), ("deltas", "row", "lightgbm"))
FOLDS = 5


class DeviationFit(TypedDict):
    """A variant's model: errors in percent, also where counters were chosen, and of the mean curve; ranks and relevance by counter."""

    scenario: str
    seed: int
    inputs: str
    split: str
    learner: str
    mape: float
    chosen_mape: float
    baseline_mape: float
    rank: dict[str, float]
    relevance: dict[str, float]
    cpu_s: float


class DeviationRow(DeviationFit, DeviationScore):
    """The same with its score."""


def rows(scenario: str, seed: int, users: int, variants: tuple[tuple[str, str, str], ...]) -> Iterator[DeviationRow]:
    """One row a variant."""
    campaign = generate(scenario, seed, users)
    found: list[DeviationFit] = []
    for inputs, split, learner in variants:
        begun = time.process_time()
        model = DeviationModel(inputs=inputs, split=split, learner=learner, folds=FOLDS, seed=seed)
        model.fit(campaign.counters, campaign.times_s)
        found.append(
            {
                "scenario": scenario,
                "seed": seed,
                "inputs": inputs,
                "split": split,
                "learner": learner,
                "mape": model.mape_,
                "chosen_mape": model.chosen_mape_,
                "baseline_mape": model.baseline_mape_,
                "rank": dict(zip(COUNTER_NAMES, map(float, model.rank_), strict=True)),
                "relevance": dict(zip(COUNTER_NAMES, map(float, model.relevance_), strict=True)),
                "cpu_s": time.process_time() - begun,
            }
        )
    scores = score_all("deviation", scenario, seed, users, [{"rank": row["rank"]} for row in found])
    for row, scored in zip(found, scores, strict=True):
        yield cast(DeviationRow, {**row, **scored})
