"""What: relevance of counters for the deviation of one application's step times, on rates and on the paper's deltas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flitwatch_db.estimates import inputs as estimates
from flitwatch_db.estimates.store import Estimate
from flitwatch_ml.deviation import DeviationModel
from flitwatch_ml.work.sets import Floats, result_of

INPUTS = ("rates", "deltas")
FOLDS = 10


def estimate(
    runs: estimates.Runs, exe: str, nodes: int, counts: Floats, names: list[str], check: Callable[[], None]
) -> Estimate:
    """Relevance on both inputs, and how far the paper's division of rows flatters each; `check` is called between fits."""
    found: dict[str, Any] = {}
    for inputs in INPUTS:
        model = DeviationModel(inputs=inputs, folds=FOLDS).fit(counts, runs.step_time_s)
        check()
        by_row = DeviationModel(inputs=inputs, folds=FOLDS, split="row").fit(counts, runs.step_time_s)
        check()
        found[inputs] = {
            "relevance": model.relevance_.tolist(),
            "relevance_spread": model.relevance_spread_.tolist(),
            "rank": model.rank_.tolist(),
            "rank_spread": model.rank_spread_.tolist(),
            "mape": model.mape_,
            "mape_spread": model.mape_spread_,
            "baseline_mape": model.baseline_mape_,
            "row_split_mape": by_row.mape_,
            "folds": model.folds_,
        }
    score = {
        "mape": found["rates"]["mape"],
        "baseline_mape": found["rates"]["baseline_mape"],
        "mape_deltas": found["deltas"]["mape"],
    }
    parameters = {"learner": "lightgbm", "folds": FOLDS, "split": "run", "seed": 0}
    return result_of("deviation", exe, nodes, runs, parameters, score, {"counters": names, **found})
