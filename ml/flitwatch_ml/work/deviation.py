"""Deviation: relevance of counters for deviations of one application's step times, from rates and from the paper's deltas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_db.estimates import inputs as estimates
from flitwatch_db.estimates.store import Estimate
from flitwatch_domain.counters import feature_of
from flitwatch_domain.errors import NotEnoughData
from flitwatch_domain.estimates import ExplainedGroup
from flitwatch_domain.fabric import Technology
from flitwatch_domain.neighbourhood import CIRCUMSTANCES
from flitwatch_ml.deviation import DeviationModel
from flitwatch_ml.work.sets import LEAST_COUNTED, Floats, result_of, select_runs

INPUTS = ("rates", "deltas")
FOLDS = 10
#: Limit of steps: with more, the paper's learner takes hours. It uses the newest runs.
MOST_ROWS = 20_000
#: Learner by definition: ours, or the paper's gradient-boosted regression.
LEARNERS = {"ours": "lightgbm", "paper": "gbr"}


class StepData(TypedDict):
    """Runs with counts in their steps (runs, steps, features), their placement (runs, circumstances), and the names of both."""

    runs: estimates.Runs
    counts: Floats
    lay: Floats
    names: list[str]


def step_data(
    runs: estimates.Runs, counts: Floats, names: Sequence[str], lay: Floats, definition: str = "ours"
) -> StepData:
    """Select the data for an estimate: features counted in most steps, circumstances known for every run, and runs with readings.

    The paper's definition uses only counters, runs with every reading, and at most `MOST_ROWS` steps.

    Raises
    ------
    NotEnoughData
        There are neither counts nor placements of runs.
    """
    there: NDArray[np.bool_] = np.isfinite(counts)
    feature_mask = there.mean((0, 1)) >= LEAST_COUNTED if len(counts) else np.zeros(counts.shape[2], bool)
    if definition == "paper":
        whole: NDArray[np.bool_] = np.logical_and.reduce(there[:, :, feature_mask], axis=(1, 2))
        whole[: max(0, len(whole) - MOST_ROWS // max(counts.shape[1], 1))] = False
        lay = lay[:, :0]
    else:
        whole = np.logical_or.reduce(there[:, :, feature_mask], axis=(1, 2)) | (not feature_mask.any())
    circumstance_mask: NDArray[np.bool_] = np.logical_and.reduce(np.isfinite(lay), axis=0)
    if not feature_mask.any() and not circumstance_mask.any():
        raise NotEnoughData(
            "no counters were stored for these runs, neither for the runs nor for their routers or network cards"
        )
    return {
        "runs": select_runs(runs, whole),
        "counts": counts[whole][:, :, feature_mask],
        "lay": lay[whole][:, circumstance_mask],
        "names": [name for name, included in zip(names, feature_mask.tolist(), strict=True) if included]
        + [name for name, included in zip(CIRCUMSTANCES, circumstance_mask.tolist(), strict=False) if included],
    }


def fit_deviation(
    counts: Floats,
    times: Floats,
    lay: Floats,
    names: Sequence[str],
    inputs: str = "rates",
    definition: str = "ours",
    split: str = "run",
    technology: Technology | None = None,
) -> DeviationModel:
    """Return the fitted model, as used in production and in the scorecard."""
    groups = [feature_of(name, technology).group for name in names]
    model = DeviationModel(inputs=inputs, learner=LEARNERS[definition], folds=FOLDS, split=split)
    return model.fit(counts, times, lay, groups if split == "run" else ())


def estimate_deviation(
    data: StepData,
    exe: str,
    nodes: int,
    definition: str,
    technology: Technology | None,
    check: Callable[[], None],
) -> Estimate:
    """Return relevance on both inputs, and the optimism of the paper's division of rows for each; `check` is called between fits."""
    runs, names = data["runs"], data["names"]
    by_inputs: dict[str, Any] = {}
    for inputs in INPUTS:
        take = (data["counts"], runs.step_time_s, data["lay"], names, inputs, definition)
        model = fit_deviation(*take, technology=technology)
        check()
        by_row = fit_deviation(*take, split="row", technology=technology)
        check()
        by_inputs[inputs] = {
            "relevance": model.relevance_.tolist(),
            "relevance_spread": model.relevance_spread_.tolist(),
            "rank": model.rank_.tolist(),
            "rank_spread": model.rank_spread_.tolist(),
            "place": model.place_.tolist(),
            "mape": model.mape_,
            "mape_spread": model.mape_spread_,
            "baseline_mape": model.baseline_mape_,
            "row_split_mape": by_row.mape_,
            "folds": model.folds_,
            "groups": group_rows(model, names),
        }
    score = {
        "mape": by_inputs["rates"]["mape"],
        "baseline_mape": by_inputs["rates"]["baseline_mape"],
        "mape_deltas": by_inputs["deltas"]["mape"],
    }
    parameters = {"learner": LEARNERS[definition], "folds": FOLDS, "split": "run", "seed": 0, "definition": definition}
    result = {"counters": names, "technology": technology, **by_inputs}
    return result_of("deviation", exe, nodes, runs, parameters, score, result)


def group_rows(model: DeviationModel, names: Sequence[str]) -> list[ExplainedGroup]:
    """Return the explained share of each group in its stored form."""
    return [
        {
            "name": group.name,
            "features": [names[at] for at in group.features],
            "explained": group.explained,
            "low": group.low,
            "high": group.high,
            "kept": group.kept,
            "folds": group.folds,
            "verdict": group.verdict,
        }
        for group in model.explained_
    ]
