"""Deviation on the scorecard: ranks of the planted counters, and nested errors by inputs and split."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TypedDict, cast

import numpy as np

from flitwatch_domain.fabric import Technology
from flitwatch_ml.work.deviation import fit_deviation, step_data
from flitwatch_research.campaign import COUNTER_NAMES, generate_campaign
from flitwatch_research.scorecard.variants import runs_of
from flitwatch_research.scoring import DeviationScore, score_all

#: (inputs, split, definition): our production variant, counts over a step, their division by row, and the paper's learner.
OURS = ("rates", "run", "ours")
VARIANTS = (OURS, ("deltas", "run", "ours"), ("deltas", "row", "ours"))


class DeviationFit(TypedDict):
    """A variant's model: errors in percent, on held-out runs, on runs of the choice, and of the mean curve; ranks and relevance by counter."""

    scenario: str
    seed: int
    inputs: str
    split: str
    definition: str
    mape: float
    chosen_mape: float
    baseline_mape: float
    rank: dict[str, float]
    relevance: dict[str, float]
    cpu_s: float


class DeviationRow(DeviationFit, DeviationScore):
    """The same with its score."""


def rows(scenario: str, seed: int, users: int, variants: tuple[tuple[str, str, str], ...]) -> Iterator[DeviationRow]:
    """Yield one row per variant."""
    campaign = generate_campaign(scenario, seed, users)
    fits: list[DeviationFit] = []
    runs, lay = runs_of(campaign), np.asarray(campaign.circumstances)
    for inputs, split, definition in variants:
        begun = time.process_time()
        data = step_data(runs, campaign.counters, COUNTER_NAMES, lay, definition)
        names, times = data["names"], data["runs"].step_time_s
        model = fit_deviation(data["counts"], times, data["lay"], names, inputs, definition, split, Technology.CRAY_XC)
        # A counter with too few readings is not used by any model: it is ranked last.
        rank = dict.fromkeys(COUNTER_NAMES, float(len(names) + 1))
        rank |= dict(zip(names, map(float, model.place_), strict=True))
        fits.append(
            {
                "scenario": scenario,
                "seed": seed,
                "inputs": inputs,
                "split": split,
                "definition": definition,
                "mape": model.mape_,
                "chosen_mape": model.chosen_mape_,
                "baseline_mape": model.baseline_mape_,
                "rank": rank,
                "relevance": dict(zip(names, map(float, model.relevance_), strict=True)),
                "cpu_s": time.process_time() - begun,
            }
        )
    scores = score_all("deviation", scenario, seed, users, [{"rank": row["rank"]} for row in fits])
    for row, scored in zip(fits, scores, strict=True):
        yield cast(DeviationRow, {**row, **scored})
