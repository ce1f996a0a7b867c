"""What: relevance of counters for the deviation of one application's step times, on rates and on the paper's deltas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_db.estimates import inputs as estimates
from flitwatch_db.estimates.store import Estimate
from flitwatch_domain.counters import feature_of
from flitwatch_domain.errors import NotEnoughData
from flitwatch_domain.fabric import Technology
from flitwatch_domain.neighbourhood import CIRCUMSTANCES
from flitwatch_ml.deviation import DeviationModel
from flitwatch_ml.work.sets import LEAST_COUNTED, Floats, only, result_of

INPUTS = ("rates", "deltas")
FOLDS = 10
#: The paper's learner takes hours beyond so many steps: it learns from the newest runs.
MOST_ROWS = 20_000
#: By name of the definition: ours, or the paper's gradient-boosted regression.
LEARNERS = {"ours": "lightgbm", "paper": "gbr"}


class GroupRow(TypedDict):
    """What the features of one meaning explain of the deviation, as a share with an interval, and how many of the folds kept one of them."""

    name: str
    features: list[str]
    explained: float
    low: float
    high: float
    kept: int
    folds: int
    verdict: str


class StepData(TypedDict):
    """Runs with what was counted in their steps (runs, steps, features), how they lay (runs, circumstances), and the names of both."""

    runs: estimates.Runs
    counts: Floats
    lay: Floats
    names: list[str]


def step_data(
    runs: estimates.Runs, counts: Floats, names: Sequence[str], lay: Floats, definition: str = "ours"
) -> StepData:
    """What an estimate takes of the runs: features counted in most steps, circumstances known of every run, and runs with readings.

    The paper's definition takes counters alone, runs with every reading, and no more steps than `MOST_ROWS`.

    Raises
    ------
    NotEnoughData
        Nothing was counted, and nothing is known of how the runs lay.
    """
    there: NDArray[np.bool_] = np.isfinite(counts)
    known = there.mean((0, 1)) >= LEAST_COUNTED if len(counts) else np.zeros(counts.shape[2], bool)
    if definition == "paper":
        whole: NDArray[np.bool_] = np.logical_and.reduce(there[:, :, known], axis=(1, 2))
        whole[: max(0, len(whole) - MOST_ROWS // max(counts.shape[1], 1))] = False
        lay = lay[:, :0]
    else:
        whole = np.logical_or.reduce(there[:, :, known], axis=(1, 2)) | (not known.any())
    told: NDArray[np.bool_] = np.logical_and.reduce(np.isfinite(lay), axis=0)
    if not known.any() and not told.any():
        raise NotEnoughData(
            "no counters were stored for these runs, neither by themselves nor for their routers or network cards"
        )
    return {
        "runs": only(runs, whole),
        "counts": counts[whole][:, :, known],
        "lay": lay[whole][:, told],
        "names": [name for name, seen in zip(names, known.tolist(), strict=True) if seen]
        + [name for name, seen in zip(CIRCUMSTANCES, told.tolist(), strict=False) if seen],
    }


def fitted(
    counts: Floats,
    times: Floats,
    lay: Floats,
    names: Sequence[str],
    inputs: str = "rates",
    definition: str = "ours",
    split: str = "run",
    technology: Technology | None = None,
) -> DeviationModel:
    """The model as it serves, and as the scorecard scores it."""
    groups = [feature_of(name, technology).group for name in names]
    model = DeviationModel(inputs=inputs, learner=LEARNERS[definition], folds=FOLDS, split=split)
    return model.fit(counts, times, lay, groups if split == "run" else ())


def estimate(
    data: StepData,
    exe: str,
    nodes: int,
    definition: str,
    technology: Technology | None,
    check: Callable[[], None],
) -> Estimate:
    """Relevance on both inputs, and how far the paper's division of rows flatters each; `check` is called between fits."""
    runs, names = data["runs"], data["names"]
    found: dict[str, Any] = {}
    for inputs in INPUTS:
        take = (data["counts"], runs.step_time_s, data["lay"], names, inputs, definition)
        model = fitted(*take, technology=technology)
        check()
        by_row = fitted(*take, split="row", technology=technology)
        check()
        found[inputs] = {
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
        "mape": found["rates"]["mape"],
        "baseline_mape": found["rates"]["baseline_mape"],
        "mape_deltas": found["deltas"]["mape"],
    }
    parameters = {"learner": LEARNERS[definition], "folds": FOLDS, "split": "run", "seed": 0, "definition": definition}
    result = {"counters": names, "technology": technology, **found}
    return result_of("deviation", exe, nodes, runs, parameters, score, result)


def group_rows(model: DeviationModel, names: Sequence[str]) -> list[GroupRow]:
    """What each group explains, as it is stored."""
    return [
        {
            "name": one.name,
            "features": [names[at] for at in one.features],
            "explained": one.explained,
            "low": one.low,
            "high": one.high,
            "kept": one.kept,
            "folds": one.folds,
            "verdict": one.verdict,
        }
        for one in model.explained_
    ]
