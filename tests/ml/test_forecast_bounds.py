"""Windows, standardisation, intervals and both backtests against manual calculations."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from flitwatch_domain.errors import BadInput, NotEnoughData
from flitwatch_ml.folds import distinct_runs, run_folds
from flitwatch_ml.forecast import StepSeries, backtest_in_order, run_backtest
from flitwatch_ml.forecast.backtest import ALONE, attention_gain, backtest_unseen, learned_forecasters, relative_gain
from flitwatch_ml.forecast.chronological import best_together, choose_features, percentage_shift
from flitwatch_ml.forecast.intervals import AdaptiveInterval, half_width, share_covered
from flitwatch_ml.forecast.series import Standard, Windows
from flitwatch_ml.work.forecast import _choice_reason


class Off(BaseEstimator):
    """Foretells the truth times a factor; what runs it learned from is kept by whoever asks."""

    def __init__(self, factor: float, seen: list | None = None) -> None:
        self.factor = factor
        self.seen = seen

    def __sklearn_clone__(self) -> Off:
        return self

    def fit(self, windows: Windows) -> Off:
        if self.seen is not None:
            self.seen.append(windows)
        return self

    def predict(self, windows: Windows) -> np.ndarray:
        return windows.future_s * self.factor


class Usual(BaseEstimator):
    """Foretells the mean curve: another name for a baseline."""

    def fit(self, windows: Windows) -> Usual:
        return self

    def predict(self, windows: Windows) -> np.ndarray:
        return windows.curve_s


TIMES = np.array([[1.0, 2, 3, 4, 5, 6], [3.0, 4, 5, 6, 7, 8]])
COUNTS = np.array([[0.0, 1, 2, 3, 4, 5], [1.0, 3, 5, 7, 9, 11]])[:, :, None]


def tiny(**more: np.ndarray) -> StepSeries:
    return StepSeries(TIMES, COUNTS, **more)


def noise(runs: int, steps: int = 6, seed: int = 2) -> StepSeries:
    rng = np.random.default_rng(seed)
    return StepSeries(rng.uniform(5, 9, (runs, steps)), rng.uniform(0, 9, (runs, steps, 2)))


# Series and windows


def test_features_are_logs_with_the_time_first_and_sets_after_one_another() -> None:
    made = tiny(io=COUNTS * 2, sys=COUNTS * 3).features(("io", "sys"))
    by_hand = np.concatenate(
        [np.log(TIMES)[:, :, None], np.log(1 + COUNTS), np.log(1 + 2 * COUNTS), np.log(1 + 3 * COUNTS)], axis=2
    )
    assert np.allclose(made, by_hand)
    for name in ("io", "sys"):
        with pytest.raises(NotEnoughData, match=f"'{name}'"):
            tiny().features((name,))


def test_the_first_bad_time_is_named_and_shapes_must_fit() -> None:
    times = TIMES.copy()
    times[0, 3] = times[1, 2] = 0.0
    with pytest.raises(BadInput, match="run 0, step 3"):
        StepSeries(times, COUNTS)
    for times, counters in ((TIMES[0], COUNTS), (TIMES, COUNTS[:, :5]), (TIMES, COUNTS[:1])):
        with pytest.raises(BadInput, match="do not fit"):
            StepSeries(times, counters)


def test_some_runs_take_all_their_parts_along() -> None:
    picked = tiny(placement=np.array([[1.0], [2.0]]), sys=COUNTS).runs([1])
    assert picked.times.tolist() == [TIMES[1].tolist()] and picked.placement.tolist() == [[2.0]]
    assert picked.io is None and np.array_equal(picked.sys, COUNTS[1:])


def test_the_standard_is_mean_and_spread_by_step_and_over_all() -> None:
    place = np.array([[2.0, 5.0], [8.0, 5.0]])
    found = Standard.learn(tiny(placement=place), ("placement",))
    features = np.concatenate([np.log(TIMES)[:, :, None], np.log1p(COUNTS)], axis=2)
    assert np.allclose(found.curve_s, [2, 3, 4, 5, 6, 7])
    assert np.allclose(found.centre, features.mean(0))
    assert np.allclose(found.scale, np.sqrt(((features - features.mean(0)) ** 2).mean((0, 1))))
    assert np.allclose(found.placement_centre, [np.log(4), np.log(5)])
    assert np.allclose(found.placement_scale, [np.log(2), 1.0])  # the same in all runs: left as it is
    windows = found.windows(tiny(placement=place), 2, 2)
    assert np.allclose(windows.placement[:2], [[-1, 0], [1, 0]])
    assert np.allclose(found.at_end(tiny(placement=place), 2, 2).placement, [[-1, 0], [1, 0]])
    assert np.allclose(windows.past[0], ((features - features.mean(0)) / found.scale)[0, :2])


def test_a_feature_that_hardly_varies_is_left_as_it_is() -> None:
    flat = StepSeries(TIMES, np.full((2, 6, 1), 3.0))
    assert Standard.learn(flat, ()).scale[1] == 1.0
    little = StepSeries(TIMES, np.expm1(np.array([[1.0], [1 + 2e-8]]))[:, :, None].repeat(6, 1))
    assert Standard.learn(little, ()).scale[1] == pytest.approx(1e-8, rel=1e-3)


def test_a_counter_that_nobody_read_is_at_its_mean() -> None:
    counts = COUNTS.copy()
    counts[:, 2] = np.nan
    with np.errstate(all="raise"):
        found = Standard.learn(StepSeries(TIMES, counts), ())
    assert found.centre[2, 1] == 0.0
    windows = found.windows(StepSeries(TIMES, counts), 2, 2)
    at = (windows.run == 0) & (windows.step == 3)
    assert windows.past[at][0, 1, 1] == 0.0 and len(windows.run) == 6
    assert found.at_end(StepSeries(TIMES, np.where(COUNTS > 3, np.nan, COUNTS)), 2, 2).past[0, 1, 1] == 0.0


def test_unknown_sets_missing_sets_and_missing_steps_are_said() -> None:
    with pytest.raises(BadInput, match="unknown feature set 'a'"):
        Standard.learn(tiny(), ("b", "a"))
    with pytest.raises(NotEnoughData, match="'placement'"):
        Standard.learn(tiny(), ("placement",))
    times = TIMES.copy()
    times[:, 2] = np.nan
    with pytest.raises(NotEnoughData, match="no training run has step 2"):
        Standard.learn(StepSeries(times, COUNTS), ())
    with pytest.raises(NotEnoughData, match="no training run has step 0"):
        Standard.learn(StepSeries(np.full((2, 3), np.nan), COUNTS[:, :3]), ())


def test_windows_by_hand() -> None:
    windows = Standard.learn(tiny(), ()).windows(tiny(), 2, 3)
    assert windows.step.tolist() == [2, 2, 3, 3] and windows.run.tolist() == [0, 1, 0, 1]
    assert np.allclose(windows.share, [2 / 6, 2 / 6, 3 / 6, 3 / 6])
    assert np.allclose(windows.ratio, np.log([3 / 5, 7 / 5, 5 / 7, 9 / 7]))
    assert windows.curve_s.tolist() == [15, 15, 18, 18] and windows.future_s.tolist() == [12, 18, 15, 21]
    assert windows.last_s.tolist() == [1.5, 3.5, 2.5, 4.5] and windows.whole.all()
    assert np.allclose(windows.target, np.log([12 / 15, 18 / 15, 15 / 18, 21 / 18]))
    assert windows.placement.shape == (4, 0)
    some = windows.chosen(windows.run == 1)
    assert some.future_s.tolist() == [18, 21] and some.step.tolist() == [2, 3]


def test_strides_ends_and_the_least_steps() -> None:
    standard = Standard.learn(tiny(), ())
    assert standard.windows(tiny(), 1, 1, 2).step.tolist() == [1, 1, 3, 3, 5, 5]
    assert standard.windows(tiny(), 3, 3).step.tolist() == [3, 3]
    with pytest.raises(NotEnoughData, match="need 7 steps, runs have 6"):
        standard.windows(tiny(), 3, 4)
    cut = standard.windows(tiny(), 2, 3, least=1)
    assert cut.step[::2].tolist() == [2, 3, 4, 5] and cut.whole[::2].tolist() == [True, True, False, False]
    assert cut.future_s[::2].tolist() == [12, 15, 11, 6] and cut.curve_s[::2].tolist() == [15, 18, 13, 7]


@pytest.mark.parametrize(("k", "last"), [(1, 11), (5, 11), (9, 11), (10, 10)])
def test_training_keeps_a_fifth_of_the_future(k: int, last: int) -> None:
    data = noise(3, 12)
    teach = Standard.learn(data, ()).training(data, 1, k)
    assert teach.step.max() == last
    assert Standard.learn(data, ()).training(data, 1, k, 4).step[::3].tolist() == list(range(1, last + 1, 4))


def test_training_leaves_out_what_is_not_known() -> None:
    times = TIMES.copy()
    times[1, 4] = np.nan
    data = StepSeries(times, COUNTS)
    teach = Standard.learn(tiny(), ()).training(data, 2, 2)
    assert sorted(zip(teach.run.tolist(), teach.step.tolist(), strict=True)) == [(0, 2), (0, 3), (0, 4), (0, 5), (1, 2)]


def test_the_window_at_the_end_and_the_curve_beyond_it() -> None:
    times = np.arange(1.0, 9.0)[None, :].repeat(2, 0) * np.array([[1.0], [3.0]])
    data = StepSeries(times, np.ones((2, 8, 1)))
    standard = Standard.learn(data, ())  # curve 2, 4 .. 16; its last quarter 14, 16 lasts 15 on average
    assert standard.usual_s(6, 4).tolist() == [14, 16, 15, 15] and standard.usual_s(2, 3).tolist() == [6, 8, 10]
    end = standard.at_end(data, 2, 3)
    assert end.step.tolist() == [8, 8] and end.share.tolist() == [1, 1] and end.curve_s.tolist() == [45, 45]
    assert np.allclose(end.ratio, np.log([15 / 30, 45 / 30])) and end.last_s.tolist() == [7.5, 22.5]
    assert np.isnan(end.future_s).all()
    standard.at_end(data, 8, 1)
    with pytest.raises(NotEnoughData, match="needs 9 steps, the run has 8"):
        standard.at_end(data, 9, 1)
    longer = StepSeries(np.full((1, 12), 9.0), np.ones((1, 12, 1)))
    late = standard.windows(longer, 9, 2)
    assert late.share.tolist() == [1.0, 1.0] and late.curve_s.tolist() == [30, 30]
    # One to three steps: their last one goes on.
    short = Standard.learn(StepSeries(times[:, :3], np.ones((2, 3, 1))), ())
    assert short.usual_s(2, 3).tolist() == [6, 6, 6]


def test_a_run_that_is_shorter_than_another_ends_the_curve_nowhere() -> None:
    times = TIMES.copy()
    times[0, 4:] = np.nan
    assert Standard.learn(StepSeries(times, COUNTS), ()).curve_s.tolist() == [2, 3, 4, 5, 7, 8]
    times[1, 5] = np.nan
    assert Standard.learn(StepSeries(times, COUNTS), ()).curve_s.tolist() == [2, 3, 4, 5, 7]


def test_the_window_at_the_end_of_a_run_is_what_a_longer_run_has_there() -> None:
    """What serves while a run goes on is what was learned from."""
    rng = np.random.default_rng(5)
    times, counts, io = rng.uniform(5, 9, (6, 12)), rng.uniform(0, 9, (6, 12, 2)), rng.uniform(0, 9, (6, 12, 1))
    place = rng.uniform(1, 90, (6, 2))
    whole, sets = StepSeries(times, counts, place, io), ("placement", "io")
    standard = Standard.learn(whole, sets)
    for t in (3, 7, 10):
        end = standard.at_end(StepSeries(times[:, :t], counts[:, :t], place, io[:, :t]), 3, 2)
        windows = standard.windows(whole, 3, 2)
        there = windows.chosen(windows.step == t)
        for name in ("past", "placement", "run", "step", "share", "ratio", "curve_s", "last_s"):
            assert np.allclose(getattr(end, name), getattr(there, name)), (t, name)


def test_a_placement_that_is_not_known_is_the_mean_one() -> None:
    place = np.array([[2.0, 5.0], [8.0, 9.0]])
    standard = Standard.learn(tiny(placement=place), ("placement",))
    unknown = tiny(placement=np.array([[np.nan, 5.0], [8.0, np.nan]]))
    assert np.allclose(standard.at_end(unknown, 2, 2).placement, [[0, -1], [1, 0]])


# Intervals


def test_an_interval_counts_one_more_run_and_every_run_the_same() -> None:
    """Ten runs of one window each: 9 of 11 are below the ninth, 10 of 11 (0.909) below the tenth (Barber 2021)."""
    sizes = np.arange(1.0, 11.0)
    signs = np.where(np.arange(10) % 2, 1, -1)
    assert half_width(sizes * signs, np.arange(10)) == 10
    assert half_width(sizes, np.arange(10), 9 / 11) == 9 and half_width(sizes, np.arange(10), 9 / 11 + 1e-6) == 10
    assert half_width(sizes, np.arange(10), 1.0) == 10 and half_width(sizes, np.arange(10), 0.0) == 1
    # Run 9 has four windows of 10: they weigh no more than one.
    assert half_width([*sizes, 10, 10, 10], [*range(10), 9, 9, 9], 0.8) == 9
    nineteen = np.arange(1.0, 20.0)
    assert half_width(nineteen, np.arange(19)) == 18  # 18 of 20 are nine in ten
    with pytest.raises(NotEnoughData, match="need 10 runs"):
        half_width(sizes[:9], np.arange(9))


def test_an_observation_on_the_edge_is_covered() -> None:
    assert share_covered(np.array([1.0, 4.0, 0.25]), np.ones(3), math.log(4)) == 1.0
    assert share_covered(np.array([1.0, 4.1, 0.24]), np.ones(3), math.log(4)) == pytest.approx(1 / 3)


def test_an_adaptive_interval_moves_by_what_it_missed() -> None:
    """Gibbs and Candes 2021, equation 2, by hand: 0.9 falls by 0.005 a run that misses nothing and rises by 0.045 at a miss."""
    interval = AdaptiveInterval()
    for size in range(1, 11):
        assert interval.update([float(size), -float(size)]) is None
    assert interval.half_width() == 10
    assert interval.update([10.0]) == 0.0 and interval._asked == pytest.approx(0.895)
    assert interval.update([30.0, 1.0]) == 0.5 and interval._asked == pytest.approx(0.915)
    assert interval.update([-99.0]) == 1.0 and interval._asked == pytest.approx(0.96)


def test_thirty_runs_are_remembered() -> None:
    interval = AdaptiveInterval()
    interval.update([1000.0])
    for _ in range(29):
        interval.update([1.0])
    interval._asked = 1.0
    assert interval.half_width() == 1000.0
    interval.update([1.0])
    interval._asked = 1.0
    assert interval.half_width() == 1.0
    for asked in (-0.3, 1.7):  # no level is below nothing or above all
        interval._asked = asked
        assert interval.half_width() == 1.0


# The backtest over folds


def by_hand(data: StepSeries, m: int, k: int, folds: int) -> tuple[dict[int, float], int]:
    """Mean absolute % error of the mean curve for each run (place in the order of labels), and windows, with loops."""
    labels = distinct_runs(data.times)
    order = np.argsort(labels, kind="stable")
    times = data.times[order]
    errors: dict[int, float] = {}
    count = 0
    for train, held in run_folds(labels[order], folds, 0):
        curve = times[train].mean(0)
        for run in held.tolist():
            made = []
            for t in range(m, times.shape[1] - k + 1):
                observed = times[run, t : t + k].sum()
                made.append(abs(curve[t : t + k].sum() - observed) / observed * 100)
            errors[run] = float(np.mean(made))
            count += len(made)
    return errors, count


def test_the_backtests_errors_are_those_of_a_loop() -> None:
    data = noise(20)
    found = run_backtest(data, 2, 2, folds=4, learned={"usual": Usual()})
    errors, count = by_hand(data, 2, 2, 4)
    assert found.errors["curve"] == pytest.approx(np.array([errors[run] for run in sorted(errors)]))
    assert found.mape["usual"] == found.mape["curve"] == pytest.approx(np.mean(list(errors.values())))
    assert (found.runs, found.windows) == (20, count) == (20, 60)
    assert np.isnan(found.gain).all() and (found.train_s, found.infer_ms) == (0.0, 0.0)  # there is no attention
    assert found.serves == min(found.mape, key=lambda name: found.mape[name])


def test_what_serves_has_its_interval_from_the_other_folds() -> None:
    data = noise(20)
    found = run_backtest(data, 2, 2, folds=4, learned={"off": Off(1.02)})
    assert found.mape["off"] == pytest.approx(2.0) and found.serves == "off"
    assert found.half_width90 == pytest.approx(math.log(1.02)) and found.coverage90 == pytest.approx(1.0, abs=1)
    assert found.errors["off"] == pytest.approx(np.full(20, 2.0))
    one = run_backtest(data, 2, 2, folds=4, rounds=1, learned={"off": Off(1.02)})
    assert one.coverage90 is None and one.runs == 5 and math.isnan(one.half_width90)
    half = run_backtest(data, 2, 2, folds=2, rounds=1, learned={"off": Off(1.02)})
    assert half.runs == 10 and half.half_width90 == pytest.approx(math.log(1.02))


def test_the_nested_error_is_that_of_what_the_other_folds_choose() -> None:
    """Two folds are enough: each is forecast by what the other one chooses."""

    class Fooled(Off):
        """Right where the first time of a run is below the middle, wrong elsewhere, or the other way about."""

        def predict(self, windows: Windows) -> np.ndarray:
            low = (windows.run % 2 == 0) == (self.factor > 1)
            return windows.future_s * np.where(low, 1.01, 1.03)

    data = noise(20)
    for folds in (2, 4):
        candidates = {"odd": Fooled(0.5), "even": Fooled(1.5), "off": Off(1.1)}
        found = run_backtest(data, 2, 2, folds=folds, learned=candidates)
        labels = distinct_runs(data.times)
        labels = labels[np.argsort(labels, kind="stable")]
        expected = np.empty(20)
        for _, held in run_folds(labels, folds, 0):
            others = np.setdiff1d(np.arange(20), held)
            best = min(found.errors, key=lambda name: found.errors[name][others].mean())
            expected[held] = found.errors[best][held]
        assert found.nested_mape == pytest.approx(expected.mean()), folds
    assert run_backtest(data, 2, 2, folds=2, rounds=1, learned=candidates).nested_mape is None


def test_attention_alone_rests_on_no_other_learner() -> None:
    """The paper's forecaster stands for itself; what serves alongside it may be a mixture."""
    made = learned_forecasters()
    assert set(made) == {"ridge", "lightgbm", ALONE, "attention"}
    assert not made[ALONE].on_ridge and not made[ALONE].with_boosting
    assert made["attention"].on_ridge and made["attention"].with_boosting


def test_a_backtest_prints_as_its_figures_without_every_runs_error() -> None:
    for found in (
        run_backtest(noise(20), 2, 2, learned={"off": Off(1.1)}),
        backtest_in_order(noise(50), np.arange(50), 2, 2, learned={"off": Off(1.1)}),
    ):
        assert "array" not in repr(found) and "mape" in repr(found)


def test_twenty_runs_are_enough_and_each_is_held_out_once() -> None:
    with pytest.raises(NotEnoughData, match="needs 20 runs, has 19"):
        run_backtest(noise(19), 2, 2, learned={})
    seen: list[Windows] = []
    found = run_backtest(noise(20), 2, 2, learned={"off": Off(1.5, seen)})
    assert len(seen) == 5 and [len(np.unique(past.run)) for past in seen] == [16] * 5
    # Runs of 6 steps, m = 2, k = 2: they teach from steps 2 to 5, with a stride of 2 from 2 and 4.
    assert sorted(set(seen[0].step.tolist())) == [2, 3, 4, 5] and found.windows == 60
    seen.clear()
    assert run_backtest(noise(20), 2, 2, learned={"off": Off(1.5, seen)}, stride=2).windows == 40
    assert sorted(set(seen[0].step.tolist())) == [2, 4]


def test_without_whole_windows_there_is_no_backtest() -> None:
    data = noise(20)
    times = data.times.copy()
    times[np.arange(20) % 2 == 0, 3] = times[np.arange(20) % 2 == 1, 2] = np.nan
    with pytest.raises(NotEnoughData, match="no training run has 6 steps"):
        run_backtest(StepSeries(times, data.counters), 1, 5, learned={})


def test_longer_runs_are_forecast_from_shorter_ones() -> None:
    known, new = noise(20), noise(5, 9, 4)
    seen: list[Windows] = []
    found = backtest_unseen(known, new, 2, 2, learned={"off": Off(0.9, seen)})
    assert found.mape["off"] == pytest.approx(10.0) and (found.runs, found.windows) == (5, 30)
    assert len(seen) == 1 and len(np.unique(seen[0].run)) == 20 and found.coverage90 is None
    assert backtest_unseen(known, new, 2, 2, learned={"off": Off(0.9)}, stride=3).windows == 10


def test_attentions_times_are_those_of_a_thousand_jobs() -> None:
    """Learning takes real time, forecasting of a thousand windows is given in ms a job: both are above zero and their ratio is bounded."""

    class Busy(Off):
        def fit(self, windows: Windows) -> Busy:
            np.linalg.svd(np.random.default_rng(0).normal(size=(150, 150)))
            return self

        def predict(self, windows: Windows) -> np.ndarray:
            np.linalg.svd(np.random.default_rng(0).normal(size=(150, 150)))
            return windows.future_s * 1.1

    found = run_backtest(noise(20), 2, 2, learned={"attention": Busy(1.1)})
    # Each of 5 folds holds 4 runs of 3 windows; learning and forecasting do the same work once: ms a job for 1,000 jobs are the seconds / 12 x 10^6.
    assert found.train_s > 0
    assert 0.05 < found.infer_ms / (found.train_s / 12 * 1e6) < 20


def test_gain_is_relative_to_the_best_other_and_paired_by_run() -> None:
    ours, best, worse = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]), np.array([9.0, 9.0, 9.0])
    assert attention_gain({"attention": ours, "a": worse, "b": best}) == pytest.approx((0.5, 0.5, 0.5))
    mean, low, high = attention_gain({"attention": np.array([1.0, 9.0, 2.0, 8.0]), "a": np.full(4, 10.0)})
    draws = np.random.default_rng(0).integers(0, 4, (2000, 4))
    drawn = 1 - np.array([1.0, 9.0, 2.0, 8.0])[draws].mean(1) / 10
    assert mean == pytest.approx(0.5)
    assert (low, high) == pytest.approx((np.quantile(drawn, 0.05), np.quantile(drawn, 0.95)))
    # A draw of runs in which the other makes no error plays no part; so all that is left is known.
    some = attention_gain({"attention": np.array([1.0, 1.0]), "a": np.array([0.0, 2.0])})
    assert some == pytest.approx((0.0, -0.0, 0.5), abs=1e-9) and all(map(math.isfinite, some))
    assert all(map(math.isnan, attention_gain({"attention": ours, "a": np.zeros(3)})))


def test_a_relative_gain_has_the_same_interval() -> None:
    ours = np.array([1.0, 9.0, 2.0, 8.0])
    assert relative_gain(ours, np.full(4, 10.0)) == pytest.approx(
        attention_gain({"attention": ours, "a": np.full(4, 10.0)})
    )
    assert relative_gain(np.array([2.0, 4.0]), np.array([4.0, 8.0])) == pytest.approx((0.5, 0.5, 0.5))
    assert all(map(math.isnan, relative_gain(ours, np.zeros(4)))), "nothing is a share of no error"


# The backtest in order of time


def test_fifty_runs_are_cut_at_two_four_six_and_eight_tenths() -> None:
    seen: list[Windows] = []
    found = backtest_in_order(noise(50), np.arange(50), 2, 2, learned={"off": Off(1.1, seen)})
    assert [len(np.unique(past.run)) for past in seen] == [20, 30, 40]
    assert (found.runs, found.windows) == (20, 60)
    assert sorted(set(seen[0].step.tolist())) == [2, 3, 4, 5]
    seen.clear()
    assert backtest_in_order(noise(50), np.arange(50), 2, 2, learned={"off": Off(1.1, seen)}, stride=2).windows == 40
    assert sorted(set(seen[0].step.tolist())) == [2, 4]
    with pytest.raises(NotEnoughData, match="needs 50 runs, has 49"):
        backtest_in_order(noise(49), np.arange(49), 2, 2, learned={})


def test_the_later_runs_errors_are_those_of_a_loop() -> None:
    data = noise(50)
    found = backtest_in_order(data, np.arange(50), 2, 2, learned={"off": Off(1.02)})
    expected = []
    for begin in (30, 40):
        curve = data.times[:begin].mean(0)
        for run in range(begin, begin + 10):
            observed = np.array([data.times[run, t : t + 2].sum() for t in (2, 3, 4)])
            usual = np.array([curve[t : t + 2].sum() for t in (2, 3, 4)])
            expected.append(np.mean(np.abs(usual / observed - 1)) * 100)
    assert found.errors["curve"] == pytest.approx(np.array(expected))
    assert found.mape["curve"] == pytest.approx(np.mean(expected))
    assert found.chosen == [("off",), ("off",)] and found.serves == ("off",)
    assert found.served == pytest.approx(np.full(20, 2.0)) and found.served_mape == pytest.approx(2.0)
    assert found.gain() == pytest.approx((0, 0, 0), abs=1e-9)
    assert found.half_width90 == pytest.approx(math.log(1.02))


def test_a_forecast_that_is_right_is_always_covered() -> None:
    found = backtest_in_order(noise(50), np.arange(50), 2, 2, learned={"off": Off(1.0)})
    assert (found.coverage90, found.fixed_coverage90, found.half_width90) == (1.0, 1.0, 0.0)


def test_the_coverage_in_order_of_time_is_that_of_a_loop() -> None:
    data = noise(50)
    found = backtest_in_order(data, np.arange(50), 2, 2, learned={"usual": Usual()})

    def residuals(begin: int) -> list[np.ndarray]:
        curve = data.times[:begin].mean(0)
        return [
            np.log([data.times[run, t : t + 2].sum() / curve[t : t + 2].sum() for t in (2, 3, 4)])
            for run in range(begin, begin + 10)
        ]

    assert found.chosen == [("curve", "usual")] * 2, "the same curve by two names, and nothing else comes near it"
    blocks = [residuals(begin) for begin in (20, 30, 40)]
    inside, missed, served = [], [], []
    for at in (1, 2):
        known = [run for block in blocks[:at] for run in block]
        shift = percentage_shift(np.concatenate(known))
        fixed = half_width(np.concatenate(blocks[0]) - shift, np.repeat(np.arange(10), 3))
        interval = AdaptiveInterval()
        for run in known:
            interval.update(run - shift)
        inside += [np.mean(np.abs(run - shift) <= fixed) for run in blocks[at]]
        missed += [interval.update(run - shift) for run in blocks[at]]
        served += [np.mean(np.abs(np.exp(shift - run) - 1)) * 100 for run in blocks[at]]
    assert found.fixed_coverage90 == pytest.approx(np.mean(inside)) and found.served == pytest.approx(np.array(served))
    assert found.coverage90 == pytest.approx(1 - np.mean(missed))
    every = [run for block in blocks for run in block]
    interval = AdaptiveInterval()
    for run in every:
        interval.update(run - found.shift)
    assert found.half_width90 == pytest.approx(interval.half_width())
    assert found.shift == pytest.approx(percentage_shift(np.concatenate(every))) and found.shift != 0


def test_alike_is_within_so_many_standard_errors_of_the_best() -> None:
    best = np.zeros(4)
    spread = np.array([-1.0, 1.0, -1.0, 1.0])  # standard error 1 / sqrt(4)
    names = {"far": spread + 0.83, "best": best, "near": spread + 0.81}
    assert best_together(names) == ("best", "near")  # 1.64 x 0.5 = 0.82 (one-sided 5 % of the normal distribution)
    assert best_together({"one": best + 1, "same": best + 1}) == ("one", "same")


def test_features_change_only_where_the_gain_is_beyond_chance() -> None:
    """Steps that follow their own counter: the set that holds it is taken; a set of noise, or a copy of what is there, is not."""
    rng = np.random.default_rng(7)
    level = rng.lognormal(0, 0.5, (60, 1)).repeat(10, 1)
    times = 5 * (1 + level * np.linspace(0, 1, 10) ** 2)
    tells, noisy = (100 * level)[:, :, None], rng.lognormal(3, 1, (60, 10, 1))
    data = StepSeries(times, noisy, io=tells, sys=rng.lognormal(3, 1, (60, 10, 1)))
    assert choose_features(data, np.arange(60), 2, 4, [(), ("io",)]) == ("io",)
    assert choose_features(data, np.arange(60), 2, 4, [("io",), ()]) == ("io",)
    assert choose_features(data, np.arange(60), 2, 4, [(), ("sys",)]) == ()
    copied = StepSeries(times, noisy, sys=noisy)
    assert choose_features(copied, np.arange(60), 2, 4, [(), ("sys",), ()]) == ()
    # It looks at no more than the runs that are only learned from: later ones may be anything.
    later = StepSeries(np.where(np.arange(60)[:, None] < 24, times, 7.0 + rng.random((60, 10))), noisy, io=tells)
    assert choose_features(later, np.arange(60), 2, 4, [(), ("io",)]) == ("io",)


@pytest.mark.parametrize(
    ("serves", "gain", "words"),
    [
        ("attention", (0.02, -0.01, 0.05), "its gain of 2.0% is within chance (90 %: -1.0% to 5.0%)"),
        ("attention", (0.04, 0.01, 0.07), "4.0% below the next (90 %: 1.0% to 7.0%)"),
        ("ridge", (-0.03, -0.06, 0.01), "attention's error is 3.0% larger (90 %: -1.0% to 6.0%)"),
        ("ridge", (0.005, -0.01, 0.02), "attention's error is 0.5% smaller (90 %: -1.0% to 2.0%)"),
    ],
)
def test_the_reason_of_a_choice_gives_the_level_of_its_interval(
    serves: str, gain: tuple[float, float, float], words: str
) -> None:
    row = SimpleNamespace(gain=gain, runs=20, serves=serves, mape={"attention": 9.0, "ridge": 9.0})
    assert _choice_reason(row).endswith(words)  # type: ignore[arg-type]
