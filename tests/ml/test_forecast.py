"""Windows, forecasters and the backtest on planted processes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from flitwatch_domain.errors import BadInput, NotEnoughData
from flitwatch_ml.forecast import AttentionForecaster, LightGBMForecaster, RidgeForecaster, StepSeries, run_backtest
from flitwatch_ml.forecast.baselines import curve_forecast, last_steps, ratio_forecast
from flitwatch_ml.forecast.forecasters import CountersForecaster
from flitwatch_ml.forecast.intervals import half_width, share_covered
from flitwatch_ml.forecast.series import Standard
from flitwatch_ml.forecast.serving import Serving, dump_serving, load_serving


def process(seed: int, runs: int = 60, steps: int = 16) -> StepSeries:
    """Runs whose steps are slowed by a slow process that a counter shows a little earlier."""
    rng = np.random.default_rng(seed)
    load = np.zeros((runs, steps + 2))
    load[:, 0] = rng.normal(size=runs)
    for t in range(1, steps + 2):
        load[:, t] = 0.9 * load[:, t - 1] + 0.4 * rng.normal(size=runs)
    shape = 6 + 3 * np.cos(np.arange(steps) / 3)
    times = shape * np.exp(0.25 * load[:, :steps] + 0.02 * rng.normal(size=(runs, steps)))
    rates = np.exp(load[:, 1 : steps + 1, None] + 0.1 * rng.normal(size=(runs, steps, 3)))
    return StepSeries(
        times, rates, placement=rng.integers(1, 9, (runs, 2)).astype(float), io=rates[:, :, :1], sys=rates[:, :, 1:2]
    )


#: The whole range of forecasters, with the smallest nets that show what is asserted.
QUICK = {
    "ridge": RidgeForecaster(),
    "lightgbm": LightGBMForecaster(seeds=1),
    "attention": AttentionForecaster(seeds=1, with_boosting=False, device="cpu", epochs=1, least_steps=120),
}


def gaps(series: StepSeries) -> tuple[np.ndarray, np.ndarray]:
    """Every third step of every run is missing."""
    missing = (np.arange(len(series.times))[:, None] + np.arange(series.times.shape[1])) % 3 == 0
    return np.where(missing, np.nan, series.times), series.counters


def test_a_window_sees_only_its_past() -> None:
    series = process(0)
    standard = Standard.learn(series.runs(np.arange(30)), ())
    before = standard.windows(series, 4, 5)
    changed = StepSeries(np.where(np.arange(16) >= 10, series.times * 7, series.times), series.counters)
    after = standard.windows(changed, 4, 5)
    early = before.step <= 10
    assert np.array_equal(before.past[early], after.past[early])
    assert not np.array_equal(before.past[~early], after.past[~early])


@pytest.mark.system("numeric")
def test_the_papers_forecaster_reads_counters_and_no_step_times() -> None:
    series = process(0)
    standard = Standard.learn(series, ())
    windows = standard.windows(series, 4, 5)
    net = CountersForecaster(seeds=1, on_ridge=False, with_boosting=False, device="cpu", epochs=1, least_steps=120)
    net.fit(windows)
    forecast = net.predict(windows)
    other_times = replace(windows, ratio=windows.ratio + 1, past=windows.past + np.eye(1, windows.past.shape[2]))
    assert np.array_equal(net.predict(other_times), forecast)
    assert not np.allclose(net.predict(replace(windows, past=windows.past * 2)), forecast)
    errors = [np.abs(seconds / windows.future_s - 1).mean() for seconds in (forecast, windows.curve_s)]
    assert errors[0] < 0.9 * errors[1], "counters of the past carry some of the future"
    assert np.allclose(net.attention(windows).sum(1), 1)


def test_standardisation_never_sees_held_out_runs() -> None:
    series = process(1)
    spoiled = StepSeries(np.where(np.arange(60)[:, None] >= 30, series.times * 100, series.times), series.counters)
    train = np.arange(30)
    assert np.array_equal(
        Standard.learn(series.runs(train), ()).curve_s, Standard.learn(spoiled.runs(train), ()).curve_s
    )


def test_training_adds_windows_that_the_end_cuts_short_and_everyone_learns_from_them() -> None:
    series = process(4)
    standard = Standard.learn(series, ())
    whole, training = standard.windows(series, 4, 5), standard.training(series, 4, 5)
    assert len(training.run) == 60 * 12 and training.whole.sum() == len(whole.run) == 60 * 8
    assert np.array_equal(training.chosen(training.whole).target, whole.target)
    late = (training.run == 7) & (training.step == 14)
    assert training.future_s[late] == pytest.approx(series.times[7, 14:].sum())
    assert training.curve_s[late] == pytest.approx(standard.curve_s[14:].sum())
    for one in (RidgeForecaster(), LightGBMForecaster(seeds=1)):
        assert not np.array_equal(clone(one).fit(training).log_ratio(whole), clone(one).fit(whole).log_ratio(whole))


def test_naive_forecasts_are_what_they_say() -> None:
    times = np.tile(np.array([2.0, 4, 6, 8, 10, 12]), (3, 1)) * np.array([[1.0], [2], [1]])
    series = StepSeries(times, np.ones((3, 6, 1)))
    windows = Standard.learn(series, ()).windows(series, 2, 3)
    second = (windows.run == 1) & (windows.step == 2)
    mean_curve = times.mean(0)
    assert last_steps(windows, 3)[second] == pytest.approx(3 * 6.0)
    assert curve_forecast(windows, 3)[second] == pytest.approx(mean_curve[2:5].sum())
    assert ratio_forecast(windows, 3)[second] == pytest.approx(mean_curve[2:5].sum() * 12 / mean_curve[:2].sum())
    assert windows.future_s[second] == pytest.approx(2 * (6 + 8 + 10))


@pytest.mark.system("numeric")
def test_learned_forecasts_beat_the_naive_ones_where_counters_tell_more() -> None:
    result = run_backtest(process(2, runs=80), 4, 4, folds=3, learned=QUICK)
    naive = min(result.mape[name] for name in ("last steps", "curve", "ratio"))
    assert result.mape["ridge"] < 0.95 * naive
    assert result.mape["attention"] < 0.95 * naive
    assert set(result.serves.split(" + ")) <= {"ridge", "lightgbm", "attention"}
    assert 0.8 <= result.coverage90 <= 0.97


@pytest.mark.system("numeric")
def test_a_forecast_of_noise_does_not_claim_a_gain() -> None:
    rng = np.random.default_rng(0)
    series = StepSeries(5 * rng.lognormal(0, 0.1, (60, 12)), rng.lognormal(0, 1, (60, 12, 3)))
    result = run_backtest(series, 3, 3, folds=3, learned=QUICK)
    assert result.gain[1] < 0.03
    assert result.mape[result.serves] <= result.mape["curve"]


@pytest.mark.system("numeric")
def test_attention_is_deterministic_by_seed_and_its_weights_sum_to_one() -> None:
    import torch

    series = process(3, runs=30)
    windows = Standard.learn(series, ("placement",)).windows(series, 4, 4)
    small = {"seeds": 1, "with_boosting": False, "device": "cpu", "epochs": 1, "least_steps": 30}
    one, two, other = (AttentionForecaster(seed=seed, **small).fit(windows).predict(windows) for seed in (0, 0, 1))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    net = AttentionForecaster(**small).fit(windows).net_
    past = torch.as_tensor(windows.past, dtype=torch.float32).expand(1, -1, -1, -1)
    weights = net.weights(net.embedded(past))
    assert torch.allclose(weights.sum(-1), torch.ones(1, len(windows.run)))


def test_attention_is_softmax_of_query_times_keys_over_values() -> None:
    import torch
    from torch.nn import functional

    from flitwatch_ml.forecast.attention import Attention

    torch.manual_seed(0)
    net = Attention(nets=2, steps=5, features=3, linear=4, hidden=6, dropout=0.2).eval()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.normal_()
        past, linear = torch.randn(2, 7, 5, 3), torch.randn(2, 7, 4)
        steps = torch.tanh(net.embed(past) + net.position)
        keys, values, query = net.key(steps), net.value(steps), net.query(steps[:, :, -1])
        weights = torch.softmax(torch.einsum("nwmh,nwh->nwm", keys, query) / 6**0.5, dim=-1)
        context = torch.einsum("nwm,nwmh->nwh", weights, values)
        hidden = functional.gelu(net.first(torch.cat([context, steps[:, :, -1], linear], dim=-1)))
        assert torch.allclose(net.weights(steps), weights, atol=1e-5)
        assert torch.allclose(net(past, linear), (net.linear(linear) + net.last(hidden)).squeeze(-1), atol=1e-4)


def test_dropout_drops_its_share_scales_the_rest_and_rests_when_training_is_over() -> None:
    import torch

    from flitwatch_ml.forecast.attention import Dropout

    torch.manual_seed(0)
    dropout, ones = Dropout(0.2), torch.ones(3, 50, 400)
    first, second, fewer = dropout(ones), dropout(ones), dropout(torch.ones(7, 9))
    for dropped in (first, second):
        assert set(dropped.unique().tolist()) == {0.0, 1.25} and float((dropped == 0).float().mean()) == pytest.approx(
            0.2, abs=0.01
        )
    assert not torch.equal(first, second) and fewer.shape == (7, 9)
    assert torch.equal(dropout.eval()(ones), ones)


@pytest.mark.system("numeric")
def test_the_order_of_runs_changes_no_forecast() -> None:
    series, mixed = process(8, runs=24), np.random.default_rng(0).permutation(24)
    one, other = (run_backtest(some, 4, 4, folds=2, rounds=1, learned=QUICK) for some in (series, series.runs(mixed)))
    assert one.mape == other.mape and one.gain == other.gain and one.coverage90 == other.coverage90


def test_one_longer_run_leaves_the_others_their_forecast() -> None:
    series = process(9, runs=40)
    times, counters = (
        np.concatenate([part, np.full((40, 6, *part.shape[2:]), np.nan)], 1) for part in (series.times, series.counters)
    )
    times[3, 16:], counters[3, 16:] = 6.0, 1.0
    found = run_backtest(StepSeries(times, counters), 4, 4, folds=2, learned={"ridge": RidgeForecaster()})
    alone = run_backtest(StepSeries(series.times, series.counters), 4, 4, folds=2, learned={"ridge": RidgeForecaster()})
    assert found.runs == 40 and found.windows == alone.windows + 6
    assert found.mape["ridge"] == pytest.approx(alone.mape["ridge"], rel=0.2)


def test_a_gain_on_a_forecaster_without_error_is_unknown() -> None:
    rng = np.random.default_rng(0)
    times = np.tile(5.0 + np.arange(8), (24, 1))
    times[:, 0] += np.arange(24)  # the first step tells runs apart, all others are the same in every run
    result = run_backtest(StepSeries(times, rng.random((24, 8, 2))), 3, 4, folds=2, learned=QUICK)
    assert result.mape["curve"] == 0.0 and np.isnan(result.gain).all()


def test_intervals_cover_new_runs_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(200):
        spread = rng.lognormal(0, 0.3, 60)  # runs differ in how well they are forecast
        run = np.repeat(np.arange(60), 8)
        residual = rng.normal(size=480) * spread[run] * 0.1
        half = half_width(residual[run < 50], run[run < 50])
        shares.append(share_covered(np.exp(residual[run >= 50]), np.ones((run >= 50).sum()), half))
    assert 0.89 <= np.mean(shares) <= 0.93


def test_windows_with_missing_steps_are_left_out() -> None:
    series = process(5, runs=30)
    times = series.times.copy()
    times[3, 6] = np.nan
    windows = Standard.learn(series, ()).windows(StepSeries(times, series.counters), 4, 4)
    steps = set(windows.step[windows.run == 3].tolist())
    assert steps == {4, 5, 6, 11, 12}
    unknown = windows.step[(windows.run == 3) & np.isnan(windows.future_s)]
    assert set(unknown.tolist()) == {4, 5, 6}


def test_long_runs_continue_the_curve() -> None:
    series = process(6, runs=30)
    longer = StepSeries(np.tile(series.times, (1, 3)), np.tile(series.counters, (1, 3, 1)))
    windows = Standard.learn(series, ()).windows(longer, 4, 8, stride=8)
    assert windows.curve_s[-1] == pytest.approx(8 * series.times.mean(0)[-4:].mean())


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda s: run_backtest(s.runs(np.arange(6)), 4, 4), NotEnoughData, "needs 20 runs, has 6"),
        (lambda s: run_backtest(s, 10, 10), NotEnoughData, "need 20 steps, runs have 16"),
        (lambda s: run_backtest(s, 4, 4, ("weather",)), BadInput, "weather"),
        (lambda s: run_backtest(StepSeries(*gaps(s)), 4, 4), NotEnoughData, "has 8 steps without a gap"),
        (lambda s: run_backtest(StepSeries(s.times, s.counters), 4, 4, ("io",)), NotEnoughData, "'io'"),
        (lambda s: StepSeries(s.times, s.counters[:, :-1]), BadInput, "do not fit"),
        (lambda s: StepSeries(s.times * 0, s.counters), BadInput, "run 0, step 0"),
    ],
)
def test_bad_input_gets_a_clear_error(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call(process(0))


def test_ridge_on_the_window_is_scikit_learns_ridge_contract() -> None:
    series = process(7)
    windows = Standard.learn(series, ()).windows(series, 4, 4)
    assert RidgeForecaster(strength=1e9).fit(windows).log_ratio(windows).std() < 1e-3


def has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


@pytest.mark.skipif(not has_gpu(), reason="needs a GPU that PyTorch can use")
def test_a_forecaster_of_a_gpu_is_as_good_and_serves_without_one() -> None:
    series = process(5, runs=80)
    standard = Standard.learn(series.runs(np.arange(60)), ("placement",))
    past, future = (
        standard.windows(series.runs(np.arange(60)), 4, 4),
        standard.windows(series.runs(np.arange(60, 80)), 4, 4),
    )
    small = {"seeds": 2, "with_boosting": False, "epochs": 4, "least_steps": 200}
    of_cpu, of_gpu, again = (
        AttentionForecaster(device=device, **small).fit(past) for device in ("cpu", "auto", "cuda")
    )
    assert (of_cpu.device_, of_gpu.device_) == ("cpu", "cuda")
    assert np.allclose(of_gpu.predict(future), again.predict(future), rtol=1e-4)

    def mean_error(model: AttentionForecaster) -> float:
        return float(np.abs(model.log_ratio(future) - future.target).mean())

    assert mean_error(of_gpu) == pytest.approx(mean_error(of_cpu), rel=0.1)
    assert np.allclose(of_gpu.attention(future).sum(1), 1, atol=1e-5)
    served = load_serving(dump_serving(Serving("attention", standard, of_gpu, 4, 4, 0.1, 0.1)))
    assert served.model.device_ == "cpu"
    assert np.allclose(served.predict(future), of_gpu.predict(future), rtol=1e-4)
