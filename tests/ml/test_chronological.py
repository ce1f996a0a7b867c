"""The backtest in order of time: no use of the future, no choice by the reported error, and intervals that keep their level under drift."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from flitwatch_domain.errors import NotEnoughData
from flitwatch_domain.neighbourhood import OURS
from flitwatch_ml.forecast import (
    Chronological,
    RidgeForecaster,
    StepSeries,
    backtest_in_order,
    chronological,
    run_backtest,
)
from flitwatch_ml.forecast.backtest import relative_gain
from flitwatch_ml.forecast.chronological import best_together, choose_features, percentage_shift
from flitwatch_ml.forecast.intervals import MIN_RUNS, AdaptiveInterval
from flitwatch_ml.forecast.series import Windows
from flitwatch_ml.forecast.serving import fit_serving
from flitwatch_ml.work import forecast as work

RUNS = 120


class Times(BaseEstimator):
    """Foretells `factor` x the truth while the runs learned from are fewer than `until`, then twice as much: what it did early tells nothing."""

    def __init__(self, factor: float, until: int) -> None:
        self.factor = factor
        self.until = until

    def fit(self, windows: Windows) -> Times:
        self.now_ = self.factor * (1 if windows.run.max() + 1 < self.until else 2)
        return self

    def predict(self, windows: Windows) -> np.ndarray:
        return self.now_ * windows.future_s


class Lucky(BaseEstimator):
    """Wrong by 1 % on average, by more or less for each run, as its seed draws."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, windows: Windows) -> Lucky:
        return self

    def predict(self, windows: Windows) -> np.ndarray:
        drawn = [
            np.random.default_rng([self.seed, int(1000 * sum(windows.future_s[windows.run == run]))]).exponential(0.01)
            for run in windows.run
        ]
        return windows.future_s * (1 + np.array(drawn))


def series(seed: int = 0, runs: int = RUNS, steps: int = 12) -> StepSeries:
    """Runs whose slowness lasts and shows in a counter."""
    rng = np.random.default_rng(seed)
    slow = 1 + rng.exponential(0.3, runs)[:, None] * rng.uniform(0.8, 1.2, (runs, steps))
    return StepSeries(
        (10 + np.sin(np.arange(steps))) * slow, np.stack([slow * 100, rng.uniform(90, 110, slow.shape)], axis=2)
    )


def test_later_runs_change_nothing_about_earlier_forecasts() -> None:
    data = series()
    spoiled = StepSeries(data.times.copy(), data.counters.copy())
    spoiled.times[-20:] *= 50
    found, other = (
        backtest_in_order(one, np.arange(RUNS), 3, 4, learned={"ridge": RidgeForecaster()}) for one in (data, spoiled)
    )
    for name in found.errors:
        assert np.array_equal(found.errors[name][:24], other.errors[name][:24]), name


def test_runs_are_taken_in_order_of_their_starts_and_a_copy_once() -> None:
    data = series()
    order = np.random.default_rng(1).permutation(np.append(np.arange(RUNS), 5))
    shuffled = backtest_in_order(data.runs(order), order, 3, 4, learned={"ridge": RidgeForecaster()})
    found = backtest_in_order(data, np.arange(RUNS), 3, 4, learned={"ridge": RidgeForecaster()})
    assert shuffled.runs == found.runs and shuffled.mape == pytest.approx(found.mape)


def test_what_serves_is_chosen_before_its_error_is_known() -> None:
    """Good until it serves: its error is reported all the same, and the candidate that was right all along did not serve."""
    candidates = {"was good": Times(1.001, until=90), "is good": Times(1.002, until=10_000)}
    found = backtest_in_order(series(), np.arange(RUNS), 3, 4, learned=candidates)
    assert found.chosen == [("was good",), ("was good",)] and found.serves[0] == "is good"
    assert found.mape["is good"] == pytest.approx(0.2) and found.served_mape > 20
    assert found.gain()[0] < -5


def test_features_are_chosen_without_the_runs_whose_error_is_reported() -> None:
    """A planted leak: a feature set that foretells the future exactly, but only in the runs that are tested."""
    data = series()
    rng = np.random.default_rng(3)
    cut = int(0.4 * RUNS)
    past_means = np.stack([np.repeat(data.times[:, -1:], data.times.shape[1], 1)] * 2, axis=2)
    leak = np.where(np.arange(RUNS)[:, None, None] >= cut, past_means, rng.lognormal(0, 1, past_means.shape))
    leaking = replace(data, io=leak)
    assert choose_features(leaking, np.arange(RUNS), 3, 4, [(), ("io",)]) == ()
    helps = replace(data, counters=rng.lognormal(0, 1, data.counters.shape), io=data.counters)
    later = np.where(np.arange(RUNS)[:, None, None] >= cut, 7.0, helps.io)
    chosen = [choose_features(one, np.arange(RUNS), 1, 8, [(), ("io",)]) for one in (helps, replace(helps, io=later))]
    assert chosen[0] == chosen[1], "what comes later has a part in the choice"


def test_a_forecaster_that_is_asked_for_serves_whatever_its_error() -> None:
    candidates = {"good": Times(1.001, until=10_000), "bad": Times(1.5, until=10_000)}
    found = backtest_in_order(series(), np.arange(RUNS), 3, 4, learned=candidates, serve=("bad",))
    assert found.chosen == [("bad",)] * 2 and found.serves == ("bad",)
    assert found.served_mape == pytest.approx(50) and found.mape["good"] == pytest.approx(0.1)


def test_with_few_runs_the_error_is_that_of_what_the_other_folds_choose() -> None:
    """A planted leak: of many candidates that are right for some runs by chance, the best one's own error flatters."""
    data = series(runs=30)
    candidates = {f"lucky {seed}": Lucky(seed) for seed in range(40)}
    found = run_backtest(data, 3, 4, learned=candidates)
    assert found.serves.startswith("lucky") and found.nested_mape > 1.03 * found.mape[found.serves]
    assert run_backtest(data, 3, 4, learned={"lucky 0": Lucky(0)}, rounds=1).nested_mape is None
    named = run_backtest(data, 3, 4, learned=candidates, serve="lucky 3")
    assert named.serves == "lucky 3" and named.mape == found.mape


def test_candidates_that_cannot_be_distinguished_serve_together() -> None:
    rng = np.random.default_rng(0)
    common = rng.exponential(10, 60)
    errors = {"a": common, "b": common + rng.normal(0.05, 1, 60), "worse": common + rng.normal(2, 1, 60)}
    assert set(best_together(errors)) == {"a", "b"}
    assert best_together({"worse": errors["worse"], "a": common})[0] == "a"


def test_where_nothing_is_to_be_learned_nothing_is_claimed() -> None:
    rng = np.random.default_rng(0)
    noise = StepSeries(5 * rng.lognormal(0, 0.1, (RUNS, 12)), rng.lognormal(0, 1, (RUNS, 12, 3)))
    found = backtest_in_order(noise, np.arange(RUNS), 3, 3, learned={"ridge": RidgeForecaster()})
    _, low, _ = relative_gain(found.served, found.errors["curve"])
    assert low <= 0.01


def test_adaptive_intervals_keep_their_level_while_errors_grow_or_jump() -> None:
    scales = {
        "steady": lambda t: 0.1,
        "growing": lambda t: 0.1 * (1 + t / RUNS),
        "jumping": lambda t: 0.1 if t < 60 else 0.2,
    }
    for name, scale in scales.items():
        inside, fixed_inside = [], []
        for seed in range(12):
            rng, interval, fixed = np.random.default_rng(seed), AdaptiveInterval(), None
            for t in range(RUNS):
                residuals = (
                    scale(t) * rng.lognormal(0, 0.3) * (0.5 * rng.standard_normal() + 0.87 * rng.standard_normal(12))
                )
                missed = interval.update(residuals)
                if t == 40:
                    fixed = interval.half_width()
                if t > 40:
                    inside.append(1 - missed)
                    fixed_inside.append((np.abs(residuals) <= fixed).mean())
        assert 0.88 <= np.mean(inside) <= 0.92, name
        assert name == "steady" or np.mean(fixed_inside) < 0.85, "this drift asks nothing of an interval"


def test_an_interval_says_nothing_before_it_has_seen_enough_runs() -> None:
    interval = AdaptiveInterval()
    for _ in range(MIN_RUNS):
        assert interval.update(np.ones(3)) is None
    assert interval.update(np.ones(3)) == 0.0
    with pytest.raises(NotEnoughData):
        AdaptiveInterval().half_width()
    with pytest.raises(NotEnoughData, match="order of time needs 50 runs, has 30"):
        backtest_in_order(series(runs=30), np.arange(30), 3, 4, learned={})


def test_averages_of_baselines_stand_in_every_table_and_serve_by_their_members() -> None:
    from flitwatch_ml.forecast.baselines import with_averages

    averaged = with_averages({"ridge": np.array([4.0]), "lightgbm": np.array([9.0])})
    assert list(averaged) == ["ridge", "lightgbm", "ridge + lightgbm"] and averaged["ridge + lightgbm"] == [
        pytest.approx(6)
    ]
    # One is too high by as much as the other is too low: what neither does well, both do.
    learned = {"ridge": Times(1.25, 999), "lightgbm": Times(0.8, 999)}
    ordered = backtest_in_order(series(), np.arange(RUNS), 3, 4, learned=learned)
    folded = run_backtest(series(), 3, 4, learned=learned)
    for found in (ordered, folded):
        assert found.mape["ridge + lightgbm"] == pytest.approx(0, abs=1e-9) and "ratio + ridge + lightgbm" in found.mape
    assert folded.serves == "ridge + lightgbm" and ordered.served_mape == pytest.approx(0, abs=1e-9)
    assert ordered.serves == ("ridge", "lightgbm")


class Noisy(BaseEstimator):
    """Right but for an error of its own in each window."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, windows: Windows) -> Noisy:
        return self

    def predict(self, windows: Windows) -> np.ndarray:
        drawn = np.random.default_rng([self.seed, len(windows.run)]).standard_normal(len(windows.run))
        return windows.future_s * np.exp(0.05 * drawn)


def test_an_average_with_nets_serves_unless_another_is_better_beyond_chance() -> None:
    """Each member errs on its own, so that together they are better than any of them; a candidate without error is taken all the same."""
    learned = {name: Noisy(at) for at, name in enumerate(("lightgbm", "attention alone", "attention"))}
    times = 5 * np.random.default_rng(0).lognormal(0, 0.3, (RUNS, 12))
    data = StepSeries(times, np.ones((RUNS, 12, 1)))
    found = backtest_in_order(data, np.arange(RUNS), 3, 4, learned=learned)
    assert found.serves == ("lightgbm", "attention alone", "attention")
    assert found.served_mape < 0.9 * min(found.mape.values()) and found.gain()[1] > 0
    right = backtest_in_order(data, np.arange(RUNS), 3, 4, learned={**learned, "exact": Times(1.0, until=10_000)})
    assert right.serves == ("exact",) and right.served_mape == pytest.approx(0)


def test_a_forecast_is_moved_from_the_median_to_the_least_percentage_error() -> None:
    residuals = np.random.default_rng(4).normal(0.05, 0.3, 20_001)
    shift = percentage_shift(residuals)
    assert shift == pytest.approx(-(0.3**2), abs=0.01), "of a log-normal time, the optimum is exp(mean - variance)"

    def error(moved: float) -> float:
        return float(np.abs(np.exp(moved - (residuals - np.median(residuals))) - 1).mean())

    assert error(shift) <= min(error(shift + step) for step in (-0.02, 0.02)) and error(shift) < 0.99 * error(0.0)
    assert percentage_shift(np.full(9, 0.2)) == 0


def test_the_served_forecaster_is_moved_as_the_scored_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chronological, "learned_forecasters", lambda: {"ridge": RidgeForecaster()})
    data = series()
    row, choice = work._choose_forecasters(data, np.arange(RUNS), 3, 4, (), OURS.name)
    assert isinstance(row, Chronological) and row.shift < 0
    assert fit_serving(data, 3, 4, (), choice).shift == choice.shift == row.shift
    plain = fit_serving(data, 3, 4, (), replace(choice, shift=0.0))
    so_far = StepSeries(data.times[:, :6], data.counters[:, :6])
    moved = fit_serving(data, 3, 4, (), choice).forecast(so_far)[1]
    assert moved == pytest.approx(np.exp(row.shift) * plain.forecast(so_far)[1])
