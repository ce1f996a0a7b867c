"""scikit-learn's own checks of its contract, for the estimators with a matrix and a vector as input."""

from __future__ import annotations

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from flitwatch_ml.blame import ExposureBlame, PresenceBlame
from flitwatch_ml.deviation import DeviationModel
from flitwatch_ml.forecast import AttentionForecaster, LightGBMForecaster, RidgeForecaster

#: What does not hold, and why that is meant.
MEANT = {
    "check_fit_score_takes_y": "the second argument is named for what it holds, run_time_s",
    "check_fit2d_1sample": "the error says how many runs are needed, in runs",
    "check_requires_y_none": "run times have no default",
}


@parametrize_with_checks([PresenceBlame(), ExposureBlame()], expected_failed_checks=lambda estimator: MEANT)
def test_blame_keeps_scikit_learns_contract(estimator, check) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "estimator",
    [
        DeviationModel(inputs="deltas", folds=4),
        AttentionForecaster(hidden=8),
        LightGBMForecaster(3),
        RidgeForecaster(2.0),
    ],
    ids=lambda one: type(one).__name__,
)
def test_estimators_of_series_keep_what_applies(estimator) -> None:
    """Parameters come back as given, a clone has them and nothing learned; checks on matrices do not apply to (runs, steps, counters)."""
    copy = clone(estimator)
    assert copy is not estimator and copy.get_params() == estimator.get_params()
    assert not [name for name in vars(copy) if name.endswith("_")]
    name, value = next(iter(copy.get_params().items()))
    assert getattr(copy.set_params(**{name: value}), name) == value
    with pytest.raises(ValueError, match="no_such"):
        copy.set_params(no_such=1)
