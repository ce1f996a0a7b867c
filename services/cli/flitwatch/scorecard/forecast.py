"""Forecast on the scorecard: ablations over m, k and features; the headline; long runs; coverage of intervals over seeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from flitwatch_ml.forecast import LightGBMForecaster, RidgeForecaster, StepSeries, backtest, unseen
from flitwatch_ml.forecast.backtest import learned_forecasters
from flitwatch_simulation.twin.campaign import generate

Rows = Iterator[dict[str, Any]]

#: The paper's m and k (section V-C).
GRID = {"amg": ((3, 5), (3, 10), (8, 5), (8, 10)), "milc": ((10, 20), (10, 40), (20, 20), (20, 40))}
HEADLINE = {"amg": (8, 10), "milc": (20, 40), "long": (30, 40)}
SETS: tuple[tuple[str, ...], ...] = ((), ("placement",), ("placement", "io"), ("placement", "io", "sys"))


def _series(scenario: str, seed: int, users: int) -> StepSeries:
    campaign = generate(scenario, seed, users)
    return StepSeries(campaign.times_s, campaign.rates, campaign.placement, campaign.io_rates, campaign.sys_rates)


def _named(sets: tuple[str, ...]) -> str:
    return "+".join(("app", *sets))


def ablation_rows(scenario: str, seed: int, users: int) -> Rows:
    """One row an m, k and feature set; one run-wise split of five."""
    series = _series(scenario, seed, users)
    headline = HEADLINE[scenario.split("-")[0]]
    for m, k in GRID[scenario.split("-")[0]]:
        for sets in SETS:
            # Attention takes seconds a fit: it is ablated over features at the headline's m and k only.
            learned = learned_forecasters()
            if (m, k) != headline:
                del learned["attention"]
            result = backtest(series, m, k, sets, folds=5, seed=seed, rounds=1, learned=learned)
            yield {
                "scenario": scenario, "m": m, "k": k, "features": _named(sets), "mape": result.mape, "serves": result.serves,
            }  # fmt: skip


def headline_rows(scenario: str, seed: int, users: int, folds: int) -> Rows:
    """Every run held out once."""
    m, k = HEADLINE[scenario.split("-")[0]]
    sets = ("placement", "io", "sys") if scenario.startswith("milc") else ("placement",)
    result = backtest(_series(scenario, seed, users), m, k, sets, folds=folds, seed=seed)
    mean, low, high = result.gain
    yield {
        "scenario": scenario, "m": m, "k": k, "features": _named(sets), "mape": result.mape, "gain": {"mean": mean, "low": low, "high": high},
        "coverage90": result.coverage90, "serves": result.serves, "train_s": result.train_s, "infer_ms": result.infer_ms, "runs": result.runs,
    }  # fmt: skip


def long_rows(scenarios: tuple[str, str], seed: int, users: int) -> Rows:
    """Runs of 620 steps in segments of 40 from the previous 30, by forecasters that learned from runs of 80 steps."""
    m, k = HEADLINE["long"]
    known, new = (_series(scenario, seed, users) for scenario in scenarios)
    result = unseen(known, new, m, k, (), stride=k)
    mean, low, high = result.gain
    yield {
        "scenario": "long-milc", "m": m, "k": k, "features": "app", "mape": result.mape, "gain": {"mean": mean, "low": low, "high": high},
        "coverage90": result.coverage90, "serves": result.serves, "train_s": result.train_s, "infer_ms": result.infer_ms, "runs": result.runs,
    }  # fmt: skip


def coverage_rows(scenario: str, seed: int, users: int) -> Rows:
    """Coverage of the 90 % intervals on one set, out of fold, with the forecasters that learn quickly."""
    quick = {"ridge": RidgeForecaster(), "lightgbm": LightGBMForecaster(seeds=1)}
    m, k = HEADLINE[scenario.split("-")[0]]
    result = backtest(_series(scenario, seed, users), m, k, (), folds=5, seed=seed, learned=quick)
    yield {
        "scenario": scenario, "seed": seed, "m": m, "k": k, "coverage90": result.coverage90, "windows": result.windows,
        "serves": result.serves, "mape": {name: float(np.mean(errors)) for name, errors in result.errors.items()},
    }  # fmt: skip
