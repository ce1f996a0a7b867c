"""Forecast on the scorecard: training on past and testing on future runs; ablations over m, k and features; long runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flitwatch_ml.forecast import backtest_unseen, run_backtest
from flitwatch_ml.forecast.backtest import ALONE, learned_forecasters, relative_gain
from flitwatch_ml.work.forecast import SeriesData, choose_grid, features_of, in_order, series_data
from flitwatch_research.campaign import COUNTER_NAMES, Campaign, generate_campaign
from flitwatch_research.scorecard.variants import runs_of

Rows = Iterator[dict[str, Any]]

#: The paper's m and k (section V-C).
GRID = {"amg": ((3, 5), (3, 10), (8, 5), (8, 10)), "milc": ((10, 20), (10, 40), (20, 20), (20, 40))}
HEADLINE = {"amg": (8, 10), "milc": (20, 40), "long": (30, 40)}
SETS: tuple[tuple[str, ...], ...] = ((), ("placement",), ("placement", "io"), ("placement", "io", "sys"))


def rows(scenario: str, seed: int, users: int) -> Rows:
    """Return one row: all candidates and the deployed forecasters, on the same later runs."""
    campaign = generate_campaign(scenario, seed, users)
    data = make_series(campaign)
    series, start_s = data["series"], data["runs"].start_s
    (_, m), (_, k) = choose_grid(series.times.shape[1])
    sets = features_of(series, start_s, m, k)
    result = in_order(series, start_s, m, k, sets)
    best = min(result.mape, key=result.mape.__getitem__)
    gains = {name: _relative_gain(result.served, errors) for name, errors in result.errors.items()}
    yield {
        "scenario": scenario, "seed": seed, "m": m, "k": k, "features": _join_features(sets), "mape": result.mape, "served_mape": result.served_mape,
        "best": best, "served_gain": gains[best], "gain_on": gains, "chosen": result.chosen, "serves": result.serves,
        "coverage90": result.coverage90, "fixed_coverage90": result.fixed_coverage90, "runs": result.runs, "windows": result.windows,
    }  # fmt: skip


def ablation_rows(scenario: str, seed: int, users: int) -> Rows:
    """Return one row per m, k and feature set, from one run-wise split of five."""
    series = make_series(generate_campaign(scenario, seed, users))["series"]
    headline = HEADLINE[scenario.split("-")[0]]
    for m, k in GRID[scenario.split("-")[0]]:
        for sets in SETS:
            # An attention fit takes seconds: its features are ablated only at the headline's m and k.
            learned = learned_forecasters()
            if (m, k) != headline:
                del learned["attention"], learned[ALONE]
            result = run_backtest(series, m, k, sets, folds=5, seed=seed, rounds=1, learned=learned)
            yield {
                "scenario": scenario,
                "seed": seed,
                "m": m,
                "k": k,
                "features": _join_features(sets),
                "mape": result.mape,
                "serves": result.serves,
            }


def long_rows(scenarios: tuple[str, str], seed: int, users: int) -> Rows:
    """Return rows for runs of 620 steps in segments of 40 from the previous 30, with forecasters trained on runs of 80 steps."""
    m, k = HEADLINE["long"]
    training, new = (make_series(generate_campaign(scenario, seed, users))["series"] for scenario in scenarios)
    result = backtest_unseen(training, new, m, k, (), stride=k)
    yield {
        "scenario": "long-milc",
        "seed": seed,
        "m": m,
        "k": k,
        "features": "app",
        "mape": result.mape,
        "serves": result.serves,
        "runs": result.runs,
    }


def make_series(campaign: Campaign) -> SeriesData:
    """Return the series in the task's form."""
    around = (campaign.placement, campaign.io_rates, campaign.sys_rates)
    return series_data(runs_of(campaign), campaign.counters, COUNTER_NAMES, *around)


def _join_features(sets: tuple[str, ...]) -> str:
    return "+".join(("app", *sets))


def _relative_gain(ours: Any, theirs: Any) -> dict[str, float]:
    mean, low, high = relative_gain(ours, theirs)
    return {"mean": mean, "low": low, "high": high}
