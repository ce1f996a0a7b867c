"""Importance of forecasts' inputs: the only predictive counter is found, and an uninformative one is never claimed."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_domain.counters import feature_of
from flitwatch_domain.errors import NotEnoughData
from flitwatch_ml.forecast import AttentionForecaster, LightGBMForecaster, StepSeries, forecasters
from flitwatch_ml.forecast.importance import MIN_RUNS, PLACEMENT, TIME, correlated_groups, measure_importances
from flitwatch_research.campaign import COUNTER_NAMES, generate_campaign

M, K = 3, 4
CARRIER = "PT_CB_STL_RS"
NAMES = ("RT_FLIT_TOT", "RT_RB_STL", "PT_CB_STL_RQ", "PT_FLIT_TOT")


@pytest.fixture(autouse=True)
def short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AttentionForecaster.__init__, "__defaults__", (8, 0.1, 2, 1, True, False, 0, "cpu", 150))
    monkeypatch.setattr(LightGBMForecaster.__init__, "__defaults__", (1,))
    assert forecasters.AttentionForecaster().get_params()["seeds"] == 1


@pytest.fixture(scope="module")
def twin_data():
    """The twin's runs and counters; times are planted: a step takes as long as one counter said three steps before, plus noise. Simulated."""
    campaign = generate_campaign("minivite-128", 1, 40)
    rng = np.random.default_rng(0)
    runs, steps = len(campaign.times_s), 12
    rates = campaign.rates[:, rng.integers(0, campaign.times_s.shape[1], steps)].copy()
    signal = rng.normal(size=(runs, steps))
    for step in range(1, steps):
        signal[:, step] = 0.7 * signal[:, step - 1] + 0.7 * rng.normal(size=runs)
    rates[:, :, COUNTER_NAMES.index(CARRIER)] = 1e6 * np.exp(signal)
    heard = np.concatenate([rng.normal(size=(runs, 3)), signal[:, :-3]], axis=1)
    times = (5 + np.sin(np.arange(steps))) * np.exp(0.2 * heard + 0.1 * rng.normal(size=(runs, steps)))
    return StepSeries(times, rates), campaign.run_start_s


def nothing_carried(seed: int, runs: int = 60, steps: int = 10) -> tuple[StepSeries, np.ndarray]:
    """Runs whose times and counters are noise of their own, as heavy in the tail as real counters."""
    rng = np.random.default_rng(seed)
    run = rng.lognormal(0, 1, (runs, 1, len(NAMES)))
    rates = 1e5 * run * rng.lognormal(0, 0.5, (runs, steps, len(NAMES)))
    return StepSeries(5 * rng.lognormal(0, 0.15, (runs, steps)), rates), np.arange(runs, dtype=float)


@pytest.mark.system("numeric")
@pytest.mark.parametrize("members", [("ridge",), ("lightgbm",), ("attention alone",), ("ridge", "attention")])
def test_the_counter_that_alone_carries_the_future_is_first(twin_data, members) -> None:
    found = measure_importances(*twin_data, COUNTER_NAMES, M, K, (), members)
    counters = [one for one in found["inputs"] if one["name"] != TIME]
    assert counters[0]["features"] == [CARRIER] and counters[0]["meaning"] == "stalls in the column buffers"
    assert counters[0]["verdict"] == "carries" and counters[0]["low"] > 0.5
    assert counters[0]["increase"] > 3 * max(one["increase"] for one in counters[1:])
    assert sorted(name for one in counters for name in one["features"]) == sorted(COUNTER_NAMES)
    assert found["learned"] + found["runs"] == len(twin_data[0].times) and 5 < found["mape"] < 40


@pytest.mark.parametrize(
    "members",
    [("ridge",), ("lightgbm",), pytest.param(("attention alone",), marks=pytest.mark.system("numeric"))],
)
def test_where_nothing_is_carried_no_counter_is_claimed(members) -> None:
    found = measure_importances(*nothing_carried(7), NAMES, M, K, (), members)
    assert {one["verdict"] for one in found["inputs"] if one["name"] != TIME} <= {"cannot tell", "not used"}
    assert all(one["low"] <= 0 <= one["high"] for one in found["inputs"] if one["name"] != TIME)


@pytest.mark.system("numeric")
def test_claims_of_nothing_are_as_rare_as_the_interval_says() -> None:
    """95 % intervals for all inputs at once: of 80 draws without a carrier 2 have a claim on average (one tail), 7 or more in one set of 200."""
    claimed = 0
    for seed in range(80):
        found = measure_importances(*nothing_carried(seed, runs=40), NAMES, M, K, (), ("ridge",))
        claimed += any(one["verdict"] == "carries" for one in found["inputs"])
    assert claimed <= 6


def test_a_forecaster_that_looks_at_no_counter_uses_none() -> None:
    series, start = nothing_carried(1)
    found = measure_importances(series, start, NAMES, M, K, (), ("ratio",))
    verdict = {one["name"]: one["verdict"] for one in found["inputs"]}
    assert {verdict[name] for name in verdict if name != TIME} == {"not used"} and verdict[TIME] != "not used"
    assert not found["weights"]


def test_counters_that_move_together_are_replaced_together_if_they_mean_the_same() -> None:
    rng = np.random.default_rng(0)
    base, other = rng.normal(size=(2, 500))
    near = [base + 0.1 * rng.normal(size=500) for _ in range(3)]
    names = ["RT_FLIT_TOT", "RT_PKT_TOT", "RT_RB_STL", "PT_CB_STL_RQ"]
    rows = np.column_stack([near[0], -near[1], near[2], other])
    assert correlated_groups(rows, [feature_of(name) for name in names]) == [[0, 1], [2], [3]]
    assert correlated_groups(rows[:, :2] * 0, [feature_of(name) for name in names[:2]]) == [[0], [1]]


def test_only_later_runs_are_asked_and_their_order_in_the_table_is_nothing() -> None:
    series, start = nothing_carried(3)
    mixed = np.random.default_rng(0).permutation(len(start))
    one = measure_importances(series, start, NAMES, M, K, (), ("ridge",))
    assert measure_importances(series.runs(mixed), start[mixed], NAMES, M, K, (), ("ridge",)) == one
    later = np.argsort(start)[36:]
    spoiled = StepSeries(series.times, np.where(np.isin(np.arange(60), later)[:, None, None], 1.0, series.counters))
    changed = measure_importances(spoiled, start, NAMES, M, K, (), ("ridge",))
    assert {entry["verdict"] for entry in changed["inputs"] if entry["name"] != TIME} == {"not used"}


@pytest.mark.system("numeric")
def test_attention_weights_are_of_the_nets_only_and_sum_to_one(twin_data) -> None:
    found = measure_importances(*twin_data, COUNTER_NAMES, M, K, (), ("attention alone", "ridge"))
    (weights,) = found["weights"]
    mean, low, high = (np.array(weights[name]) for name in ("mean", "low", "high"))
    assert weights["forecaster"] == "attention alone" and mean.shape == (M,)
    assert mean.sum() == pytest.approx(1, abs=1e-5) and (low <= mean).all() and (mean <= high).all()


def test_placement_is_an_input_and_few_runs_are_too_few() -> None:
    series, start = nothing_carried(2)
    rng = np.random.default_rng(5)
    spread = rng.integers(1, 9, (60, 2)).astype(float)
    slow = StepSeries(series.times * spread[:, 1:], series.counters, placement=spread)
    found = measure_importances(slow, start, NAMES, M, K, ("placement",), ("ridge",))
    assert PLACEMENT in [one["name"] for one in found["inputs"]] and found["inputs"][0]["name"] in (TIME, PLACEMENT)
    with pytest.raises(NotEnoughData, match=f"need {MIN_RUNS} runs, has 20"):
        measure_importances(series.runs(np.arange(20)), start[:20], NAMES, M, K, (), ("ridge",))
