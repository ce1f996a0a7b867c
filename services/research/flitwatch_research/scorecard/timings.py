"""Time bounds on the scorecard: each operation measured separately in CPU and wall-clock time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NotRequired, TypedDict

import numpy as np


class TimeBound(TypedDict):
    """Timing of one operation: wall-clock and CPU seconds, the bound, and published times."""

    what: str
    wall_s: float
    cpu_s: float
    bound_s: float
    published: NotRequired[str]


RUNS, USERS = 200, 2000
JOBS = 1000


def measure_timings(scenarios: tuple[str, ...], users: int) -> Iterator[TimeBound]:
    """Yield one row per bound: operation, seconds, bound."""
    yield from _time_blame()
    yield from _time_deviation(scenarios, users)
    yield from _time_forecast(scenarios[0], users)


def _time_blame() -> Iterator[TimeBound]:
    from flitwatch_ml.blame.information import exact_p_values

    rng = np.random.default_rng(0)
    present, slow = rng.random((RUNS, USERS)) < rng.uniform(0.03, 0.4, USERS), rng.random(RUNS) < 0.4
    exact_p_values(present[:20], slow[:20])  # first calls load libraries
    what = f"{RUNS} runs x {USERS} users"
    loop = "a loop of mutual_info_classif about 4 h"
    exact = _time_call(f"exact p-values, {what}, one core", 0.1, lambda: exact_p_values(present, slow))
    yield {**exact, "published": loop}


def _time_deviation(scenarios: tuple[str, ...], users: int) -> Iterator[TimeBound]:
    from flitwatch_research.campaign import generate_campaign

    sets = [
        (campaign.counters, campaign.times_s) for campaign in (generate_campaign(name, 1, users) for name in scenarios)
    ]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(_fit_deviation, [tuple(part[:12] for part in sets[0])] * 2))  # both processes load libraries
        sets.sort(key=lambda parts: -parts[1].size)
        what = f"deviation of {len(sets)} sets, 10 folds, 13 counters, two cores"
        timed = _time_call(what, 60.0, lambda: list(pool.map(_fit_deviation, sets)))
        yield {**timed, "published": "the paper's learner about 10 min a set"}


def _fit_deviation(parts: tuple[Any, Any]) -> None:
    from flitwatch_ml.deviation import DeviationModel

    DeviationModel().fit(*parts)


def _time_forecast(scenario: str, users: int) -> Iterator[TimeBound]:
    from flitwatch_ml.forecast import AttentionForecaster, StepSeries
    from flitwatch_ml.forecast.series import Standard
    from flitwatch_ml.forecast.serving import Serving
    from flitwatch_research.campaign import generate_campaign

    campaign = generate_campaign(scenario, 1, users)
    series = StepSeries(campaign.times_s, campaign.rates, campaign.placement, campaign.io_rates, campaign.sys_rates)
    sets = ("placement", "io", "sys")
    standard = Standard.learn(series, sets)
    windows = standard.training(series, 8, 10)
    model = AttentionForecaster(device="cpu")
    AttentionForecaster(device="cpu", epochs=1, least_steps=2).fit(windows)  # loads libraries
    yield _time_call(f"training the forecaster on {len(series.times)} runs", 60.0, lambda: model.fit(windows))
    running = series.runs(np.arange(JOBS) % len(series.times))
    serving = Serving("attention", standard, model, 8, 10, 0.1, 10.0)
    yield _time_call(f"forecasts for {JOBS} running jobs, one core", 1.0, lambda: serving.forecast(running))


def _time_call(what: str, bound_s: float, call: Callable[[], Any]) -> TimeBound:
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    return {"what": what, "wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu, "bound_s": bound_s}
