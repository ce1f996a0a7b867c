"""Forecast on the scorecard: ablations over m, k and features; the headline; coverage of intervals over seeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flitwatch_ml.forecast import LightGBMForecaster, RidgeForecaster, StepSeries, backtest
from flitwatch_ml.forecast.backtest import learned_forecasters
from flitwatch_simulation.twin.campaign import generate

#: The paper's m and k (section V-C).
GRID = {"amg": ((3, 5), (3, 10), (8, 5), (8, 10)), "milc": ((10, 20), (10, 40), (20, 20), (20, 40))}
HEADLINE = {"amg": (8, 10), "milc": (20, 40)}
SETS: tuple[tuple[str, ...], ...] = ((), ("placement",), ("placement", "io"), ("placement", "io", "sys"))


def _series(scenario: str, seed: int, users: int) -> StepSeries:
    campaign = generate(scenario, seed, users)
    return StepSeries(campaign.times_s, campaign.rates, campaign.placement, campaign.io_rates, campaign.sys_rates)


def ablation_rows(scenarios: tuple[str, ...], seed: int, users: int) -> Iterator[dict[str, Any]]:
    """One row a scenario, m, k and feature set; one run-wise split of five."""
    for scenario in scenarios:
        series = _series(scenario, seed, users)
        for m, k in GRID[scenario.split("-")[0]]:
            for sets in SETS:
                # Attention takes seconds a fit: it is ablated over features at the headline's m and k.
                learned = learned_forecasters()
                if (m, k) != HEADLINE[scenario.split("-")[0]]:
                    del learned["attention"]
                result = backtest(series, m, k, sets, folds=5, seed=seed, rounds=1, learned=learned)
                features = "+".join(("app", *sets))
                yield {
                    "scenario": scenario,
                    "m": m,
                    "k": k,
                    "features": features,
                    "mape": result.mape,
                    "serves": result.serves,
                }


def headline_rows(scenarios: tuple[str, ...], seed: int, users: int, folds: int) -> Iterator[dict[str, Any]]:
    """One row a scenario: every run held out once."""
    for scenario in scenarios:
        m, k = HEADLINE[scenario.split("-")[0]]
        sets = ("placement", "io", "sys") if scenario.startswith("milc") else ("placement",)
        result = backtest(_series(scenario, seed, users), m, k, sets, folds=folds, seed=seed)
        mean, low, high = result.gain
        yield {
            "scenario": scenario, "m": m, "k": k, "features": "+".join(("app", *sets)), "mape": result.mape, "gain": {"mean": mean, "low": low, "high": high},
            "coverage90": result.coverage90, "serves": result.serves, "train_s": result.train_s, "infer_ms": result.infer_ms, "runs": result.runs,
        }  # fmt: skip


def coverage_rows(scenarios: tuple[str, ...], seeds: range, users: int) -> Iterator[dict[str, Any]]:
    """Coverage of the 90 % intervals over divisions into folds by many seeds, with the forecasters that learn quickly."""
    quick = {"ridge": RidgeForecaster(), "lightgbm": LightGBMForecaster(seeds=1)}
    for scenario in scenarios:
        m, k = HEADLINE[scenario.split("-")[0]]
        series = _series(scenario, 1, users)
        found = [backtest(series, m, k, (), folds=5, seed=seed, learned=quick).coverage90 for seed in seeds]
        known = [value for value in found if value is not None]
        yield {"scenario": scenario, "m": m, "k": k, "seeds": len(known), "coverage90": sum(known) / len(known)}
