"""The deviation model's figures against manual calculations: mean curve, elimination, folds, errors and constant counters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from flitwatch_domain.errors import BadInput, NotEnoughData
from flitwatch_ml.deviation import model as model_module
from flitwatch_ml.deviation.curve import MeanCurve
from flitwatch_ml.deviation.elimination import eliminate_features
from flitwatch_ml.deviation.learners import make_learner
from flitwatch_ml.deviation.model import DeviationModel
from flitwatch_ml.folds import distinct_runs, run_folds, too_few


class Nothing:
    """A learner that predicts no deviation and finds every feature as important as the others."""

    def fit(self, x: np.ndarray, y: np.ndarray) -> Nothing:
        self.rows = len(y)
        self.feature_importances_ = np.ones(x.shape[1])
        return self

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.zeros(len(x))


class Linear(Nothing):
    """Least squares; a feature is as important as its covariance with the outcome is large."""

    def fit(self, x: np.ndarray, y: np.ndarray) -> Linear:
        self.slope = np.linalg.lstsq(x, y, rcond=None)[0]
        self.feature_importances_ = np.abs(x.T @ y)
        return self

    def predict(self, x: np.ndarray) -> np.ndarray:
        return x @ self.slope


@pytest.fixture
def learner(monkeypatch: pytest.MonkeyPatch) -> Callable[[type], None]:
    """Puts a learner whose answers can be worked out by hand in the place of the trees."""
    return lambda kind: monkeypatch.setattr(model_module, "make_learner", lambda name, seed: kind())


def runs_and_counters(runs: int = 12, steps: int = 4, counters: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    return rng.uniform(1, 9, (runs, steps, counters)), rng.uniform(1, 3, (runs, steps))


def test_the_mean_curve_is_the_mean_of_the_steps_that_are_there() -> None:
    times = np.array([[1.0, 2.0, np.nan], [3.0, np.nan, np.nan]])
    with np.errstate(all="raise"):  # a step that nobody has is no division by zero
        curve = MeanCurve().fit(times[:, :, None] * 10, times)
    assert curve.time_s_[:2].tolist() == [2.0, 2.0] and np.isnan(curve.time_s_[2])
    assert curve.counters_[:2, 0].tolist() == [20.0, 20.0]
    _, deviations = curve.deviations(times[:, :, None], times)
    assert deviations[:, 0].tolist() == [-1.0, 1.0]


@pytest.mark.parametrize(
    ("errors", "kept"),
    [
        ({4: 1.02, 3: 1.0, 2: 1.02, 1: 1.03}, 2),  # as good as the least to two in a hundred, and no worse
        ({4: 1.02, 3: 1.0, 2: 1.021, 1: 1.03}, 3),
        ({4: 1.0, 3: 1.5, 2: 1.01, 1: 2.0}, 2),
        ({4: 1.0, 3: 1.5, 2: 1.5, 1: 1.5}, 4),
    ],
)
def test_elimination_keeps_the_smallest_set_that_is_as_good(errors: dict[int, float], kept: int) -> None:
    fitted: list[tuple[int, int]] = []

    class Counting(Nothing):
        def fit(self, x: np.ndarray, y: np.ndarray) -> Counting:
            super().fit(x, y)
            fitted.append(x.shape)
            return self

        def predict(self, x: np.ndarray) -> np.ndarray:
            return np.full(len(x), x.shape[1])

    rows = np.arange(10)
    train, choose, held_out = rows < 5, (rows >= 5) & (rows < 7), rows >= 7
    found = eliminate_features(
        Counting, (np.zeros((10, 4)), np.zeros(10)), train, choose, held_out, lambda made, mask: errors[int(made[0])] * (10 if mask is held_out else 1)
    )  # fmt: skip
    assert found.rank.tolist() == [1, 2, 3, 4]  # of features alike the later goes first
    assert found.survives.tolist() == [place < kept for place in range(4)]
    assert (found.chosen_error, found.error) == (errors[kept], errors[kept] * 10)
    assert fitted == [(5, 4), (5, 3), (5, 2), (5, 1), (7, kept)]  # the last fit learns from what was chosen on, too


def test_elimination_drops_the_least_important_first() -> None:
    importance = {0: 3.0, 1: 1.0, 2: 2.0}

    class Weighing(Nothing):
        def fit(self, x: np.ndarray, y: np.ndarray) -> Weighing:
            self.feature_importances_ = np.array([importance[int(column)] for column in x[0]])
            return self

    x = np.tile(np.arange(3.0), (6, 1))
    rows = np.arange(6)
    found = eliminate_features(
        Weighing, (x, np.zeros(6)), rows < 2, (rows >= 2) & (rows < 4), rows >= 4, lambda *_: 1.0
    )
    assert found.rank.tolist() == [1, 3, 2]


@pytest.mark.parametrize(("name", "left"), [("lightgbm", 0.85**60), ("gbr", 0.9**100)])
def test_boosting_leaves_the_share_that_its_rate_and_rounds_leave(name: str, left: float) -> None:
    """Of one step that a single split explains, n trees of rate r leave (1 - r) ** n (Friedman 2001)."""
    x = np.repeat([0.0, 1.0], 500)
    made = make_learner(name, 0).fit(x[:, None], x).predict(np.array([[0.0], [1.0]]))
    assert (1 - (made[1] - made[0])) == pytest.approx(left, rel=0.05)


def test_the_papers_learner_is_scikit_learns_own_with_seven_tenths_of_the_rows() -> None:
    from sklearn.ensemble import GradientBoostingRegressor

    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 4))
    y = x[:, 0] * x[:, 1] * x[:, 2] + rng.normal(size=80)
    usual = GradientBoostingRegressor(subsample=0.7, random_state=3).fit(x, y)
    assert np.array_equal(make_learner("gbr", 3).fit(x, y).predict(x), usual.predict(x))


def test_the_lean_learner_is_lightgbms_own_bit_for_bit() -> None:
    """Without its estimator's checks and copies: the same trees from the same seed, with missing readings and features that say nothing."""
    from lightgbm import LGBMRegressor

    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 5))
    y = x[:, 0] * x[:, 1] + 0.1 * rng.normal(size=400)
    x[:, 4], x[rng.random(x.shape) < 0.1] = 3.0, np.nan
    usual = LGBMRegressor(
        n_estimators=60, num_leaves=31, learning_rate=0.15, subsample=0.7, subsample_freq=1, max_bin=63, min_child_samples=20,
        importance_type="gain", n_jobs=1, random_state=7, deterministic=True, force_col_wise=True, verbose=-1,
    ).fit(x, y)  # fmt: skip
    lean = make_learner("lightgbm", 7).fit(x, y)
    assert np.array_equal(lean.predict(x), usual.predict(x))
    assert lean.feature_importances_ == pytest.approx(usual.feature_importances_, rel=1e-4)


def test_boosted_leaves_hold_twenty_rows() -> None:
    """LightGBM's own least: 13 rows in a bag of 19 cannot be split off, so nothing is learned from 38 rows of which seven tenths are drawn."""
    x = np.repeat([0.0, 1.0], 19)
    made = make_learner("lightgbm", 0).fit(x[:, None], x).predict(x[:, None])
    assert made == pytest.approx(np.full(38, 0.5), abs=1e-6)


def test_a_missing_step_is_not_a_step_of_one_second() -> None:
    assert len(set(distinct_runs([[1.0, 2.0], [np.nan, 2.0], [1.0, 2.0]]).tolist())) == 2


def test_the_lack_of_runs_says_how_many_are_copies_only_where_there_are_some() -> None:
    assert str(too_few("needs 8", [0, 1, 2])).startswith("not enough data: needs 8 runs, has 3")
    assert "recorded" not in str(too_few("needs 8", [0, 1, 2]))
    assert "has 2 (3 are recorded, but 1 have the times of another)" in str(too_few("needs 8", [0, 1, 1]))


def test_two_runs_make_two_folds_and_one_makes_none() -> None:
    folds = [(train.tolist(), held.tolist()) for train, held in run_folds([7, 3], 10)]
    assert sorted(folds) == [([0], [1]), ([1], [0])]
    with pytest.raises(NotEnoughData, match="have 1"):
        list(run_folds([5, 5], 10))
    sizes = [len(held) for _, held in run_folds(np.arange(11), 3)]
    assert sorted(sizes) == [3, 4, 4]


def _baseline(times: np.ndarray, counted: np.ndarray, folds: int, seed: int = 0) -> tuple[float, float]:
    """Mean over folds of the mean curve's % error, by hand; and the same for held-out steps that are counted only."""
    labels = distinct_runs(times)
    order = np.argsort(labels, kind="stable")
    times, counted, labels = times[order], counted[order], labels[order]
    errors = []
    for train, held in run_folds(labels, folds, seed):
        curve = np.nanmean(times[train], axis=0)
        errors.append((100 * np.abs(curve - times[held]) / times[held])[counted[held]].mean())
    return float(np.mean(errors)), float(np.std(errors))


def test_the_error_of_the_mean_curve_is_what_a_sum_by_hand_gives(learner: Callable[[type], None]) -> None:
    counters, times = runs_and_counters()
    learner(Nothing)
    found = DeviationModel(folds=4, inputs="deltas").fit(counters, times)
    mean, spread = _baseline(times, np.isfinite(times), 4)
    assert found.baseline_mape_ == pytest.approx(mean) and found.mape_ == pytest.approx(mean)
    assert found.mape_spread_ == pytest.approx(spread)
    assert (found.runs_, found.folds_) == (12, 4)
    # All subsets are as good: the first feature alone is left in each fold.
    assert found.relevance_.tolist() == [1, 0, 0] and found.rank_.tolist() == [1, 2, 3]
    assert found.rank_spread_.tolist() == [0, 0, 0]
    # All of four folds, or none: 4.5 or 0.5 of five, and a variance of (1/4 + 1/3) times that of a fold.
    assert found.relevance_spread_ == pytest.approx(np.full(3, np.sqrt(0.9 * 0.1 * (1 / 4 + 1 / 3))))
    assert 0 < found.chosen_mape_ < 200


@pytest.mark.parametrize("kind", ["lightgbm", "gbr"])
def test_a_step_without_readings_that_count_is_left_out(learner: Callable[[type], None], kind: str) -> None:
    """Trees that know missing values ask for one reading, others for all; the reading of a counter that never deviates is none."""
    counters, times = runs_and_counters()
    counters[:, :, 2] = 5.0
    counters[2, 1, :2] = np.nan  # only the constant one was read
    counters[5, 0, 0] = np.nan  # one of two was read
    learner(Nothing)
    found = DeviationModel(folds=4, inputs="deltas", learner=kind).fit(counters, times)
    assert found.constant_.tolist() == [False, False, True]
    if kind == "gbr":
        gone = times.copy()
        gone[2, 1] = gone[5, 0] = np.nan
        expected = _baseline(gone, np.isfinite(gone), 4)[0]
    else:
        counted = np.ones(times.shape, bool)
        counted[2, 1] = False
        expected = _baseline(times, counted, 4)[0]
    assert found.baseline_mape_ == pytest.approx(expected)


def test_relevance_is_a_share_of_folds_with_its_standard_error(learner: Callable[[type], None]) -> None:
    counters, times = runs_and_counters(runs=20, counters=6)
    counters[:, :, 5] = 4  # the same everywhere
    learner(Linear)
    found = DeviationModel(folds=5, inputs="deltas").fit(counters, times)
    share = found.relevance_
    assert ((share > 0) & (share < 1)).any(), "noise is relevant in some folds and not in others"
    assert share * 5 == pytest.approx(np.round(share * 5))
    likely = (5 * share[:5] + 0.5) / 6
    assert found.relevance_spread_[:5] == pytest.approx(np.sqrt(likely * (1 - likely) * (1 / 5 + 1 / 4)))
    assert found.constant_.tolist() == [False] * 5 + [True]
    assert (share[5], found.rank_[5], found.rank_spread_[5], found.relevance_spread_[5]) == (0, 6, 0, 0)
    assert found.rank_[:5].sum() == pytest.approx(15)  # ranks 1 to 5 in each fold
    assert found.rank_spread_[:5].max() > 0


def test_a_counter_deviates_or_does_not_whatever_its_size() -> None:
    counters, times = runs_and_counters()
    counters[:, :, 0] = 1e6 + counters[:, :, 0] * 1e-8  # rounding
    counters[:, :, 1] *= 1e-14  # small, and different in each run
    counters[:, :, 2] = 0.0
    found = model_module._never_deviates(counters, times)
    assert found.tolist() == [True, False, True]


@pytest.mark.parametrize("runs", [7, 8])
def test_eight_runs_are_enough(learner: Callable[[type], None], runs: int) -> None:
    counters, times = runs_and_counters(runs)
    learner(Nothing)
    if runs == 8:
        assert DeviationModel().fit(counters, times).folds_ == 8  # at most one fold for each run
    else:
        with pytest.raises(NotEnoughData, match="needs 8 runs, has 7"):
            DeviationModel().fit(counters, times)


def test_bad_times_are_named_by_the_first_one() -> None:
    counters, times = runs_and_counters()
    times[3, 2] = times[4, 1] = 0.0
    with pytest.raises(BadInput, match="run 3, step 2"):
        DeviationModel().fit(counters, times)
    counters, times = runs_and_counters()
    times[3] = np.nan
    with pytest.raises(BadInput, match="run 3 has no complete step"):
        DeviationModel().fit(counters, times)


@pytest.mark.parametrize(("counters", "times"), [((8, 4), (8, 4)), ((8, 4, 1), (8,)), ((8, 3, 1), (8, 4))])
def test_shapes_that_do_not_fit_are_refused(counters: tuple[int, ...], times: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match="do not fit"):
        DeviationModel().fit(np.ones(counters), np.ones(times))


def test_no_counters_and_constant_counters_relate_to_nothing() -> None:
    _, times = runs_and_counters()
    with pytest.raises(NotEnoughData, match="no counters"):
        DeviationModel().fit(np.ones((12, 4, 0)), times)
    with pytest.raises(NotEnoughData, match="every counter is constant"):
        DeviationModel(inputs="deltas").fit(np.ones((12, 4, 1)), times)


def test_rows_are_divided_into_all_the_folds_asked_for(learner: Callable[[type], None]) -> None:
    counters, times = runs_and_counters(20, 10)
    learner(Nothing)
    assert DeviationModel(split="row", folds=5).fit(counters, times).folds_ == 5


def test_a_fold_learns_from_two_rows_but_not_from_one(learner: Callable[[type], None]) -> None:
    """Single-step runs divided by rows: of each fold it is counted by hand what is left to learn from, to choose on and to hold out."""
    counters, times = runs_and_counters(8, 1)
    learner(Nothing)
    seen = set()
    for seed in range(60):
        fold = np.random.default_rng(seed).integers(0, 3, (8, 1))
        aside = np.random.default_rng([seed, 1]).integers(0, 4, (8, 1)) == 0
        usable = []
        for k in range(3):
            held = fold == k
            train = int((~held & ~aside).sum())
            if held.any() and (~held & aside).any():
                usable.append(train >= 2)
                seen.add(train)
        if any(usable):
            found = DeviationModel(split="row", folds=3, seed=seed).fit(counters, times)
            assert found.folds_ == sum(usable), seed
    assert 2 in seen


def test_a_quarter_of_the_training_runs_is_set_aside_whole() -> None:
    held = np.zeros((13, 3), bool)
    held[:3] = True
    aside = DeviationModel()._selection_rows(held)
    assert aside.all(1).sum() == aside.any(1).sum() == 2  # of ten
    assert not (aside & held).any()
    held = np.ones((5, 3), bool)
    held[:2] = False
    assert DeviationModel()._selection_rows(held).all(1).sum() == 1  # at least one
