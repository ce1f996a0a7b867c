"""`flitwatch backtest`: every forecaster on held-out runs of a scenario or a table of steps."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import click

from flitwatch.console import exit_with_error, json_option, print_result
from flitwatch_research.commands.options import scenario_options

if TYPE_CHECKING:
    from flitwatch_ml.forecast import StepSeries


def _parse_feature_sets(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    from flitwatch_ml.forecast.series import FEATURE_SETS

    parts = [part for part in value.split("+") if part]
    unknown = [part for part in parts if part not in ("app", *FEATURE_SETS)]
    if unknown or "app" not in parts:
        raise click.BadParameter(f"give app, then any of {', '.join(FEATURE_SETS)}, joined by +; not {value!r}")
    return tuple(part for part in parts if part != "app")


@click.command()
@scenario_options("the twin and of training")
@click.option(
    "--m", type=click.IntRange(1, 1000), help="Number of past steps (backtest).  [default with --scenario: the paper's]"
)
@click.option(
    "--k",
    type=click.IntRange(1, 1000),
    help="Number of steps to forecast (backtest).  [default with --scenario: the paper's]",
)
@click.option("--features", callback=_parse_feature_sets, default="app", help="app[+placement][+io][+sys]")
@click.option(
    "--folds",
    type=click.IntRange(2, 20),
    help="Number of folds over runs in any order.  [default: order of time with --scenario, 5 folds with --steps]",
)
@click.option(
    "--paper",
    is_flag=True,
    help="Use all settings of the paper: only attention to counters, without the times of past steps.",
)
@click.option(
    "--importance", is_flag=True, help="Also report how much each input contributes to the forecasts of later runs."
)
@click.option("--steps", type=click.Path(path_type=Path), help="CSV run,step,time,counter... instead of a scenario.")
@json_option
def backtest(
    scenario: str | None,
    seed: int,
    users: int,
    m: int | None,
    k: int | None,
    features: tuple[str, ...],
    folds: int | None,
    paper: bool,
    importance: bool,
    steps: Path | None,
    as_json: bool,
) -> None:
    """Backtest every forecaster on held-out runs. A backtest of --scenario learns from earlier runs and is tested on later ones; `mape` is the error
    of the previously best forecaster. With folds, `mape` is the error of attention.
    """
    if (scenario is None) == (steps is None):
        exit_with_error("give --scenario NAME or --steps FILE", code=2)
    if steps is not None and (m is None or k is None):
        exit_with_error("a backtest of --steps needs --m and --k: this many past steps, this many to forecast", code=2)
    if importance and scenario is None:
        exit_with_error("--importance needs --scenario: a table of steps has no start times of runs", code=2)
    from flitwatch_ml.forecast import StepSeries, has_pytorch

    if has_pytorch():
        import torch

        torch.set_num_threads(1)  # such a small net does not benefit from more
    notes: list[str] = []
    start_s = None
    if scenario is not None:
        from flitwatch_ml.work.forecast import choose_grid
        from flitwatch_research.campaign import generate_campaign

        campaign = generate_campaign(scenario, seed, users)
        series = StepSeries(campaign.times_s, campaign.rates, campaign.placement, campaign.io_rates, campaign.sys_rates)
        start_s = campaign.run_start_s.astype(float) if folds is None else None
        (_, long_m), (_, long_k) = choose_grid(series.times.shape[1])
        m, k = m or long_m, k or long_k
    else:
        from flitwatch_research.tables import read_steps

        table = read_steps(steps)  # type: ignore[arg-type]
        series = StepSeries(table.time_s, table.counts / table.time_s[:, :, None])
        notes = table.notes
    begun = time.perf_counter()
    validation = (
        _in_folds(series, m, k, features, folds or 5, seed, paper)  # type: ignore[arg-type]
        if start_s is None
        else _in_order(series, start_s, m, k, features, paper)  # type: ignore[arg-type]
    )
    rests_on = {}
    if importance:
        from flitwatch_ml.work.forecast import rests_on as resting
        from flitwatch_research.campaign import COUNTER_NAMES

        rests, lacks = resting(
            series,
            campaign.run_start_s.astype(float),
            list(COUNTER_NAMES),
            m,  # type: ignore[arg-type]
            k,  # type: ignore[arg-type]
            features,
            tuple(validation["serves"].split(" + ")),
        )
        rests_on = {"rests_on": rests, "rests_on_lacks": lacks}
    print_result(
        {
            **validation,
            "m": m,
            "k": k,
            "features": ["app", *features],
            "notes": notes,
            "simulated": scenario is not None,
            **rests_on,
            "wall_s": time.perf_counter() - begun,
        },
        as_json,
    )


class _Validation(TypedDict):
    """Errors in percent on runs not used for fitting or choosing; the deployed forecasters, now and in each block of later runs."""

    validation: str
    mape: float | None
    baselines: dict[str, float]
    gain: dict[str, float | None]
    coverage90: float | None
    serves: str
    runs: int
    windows: int
    best: NotRequired[str]
    chosen: NotRequired[list[str]]
    train_s: NotRequired[float]
    infer_ms: NotRequired[float]


def _in_order(series: StepSeries, start_s: Any, m: int, k: int, features: tuple[str, ...], paper: bool) -> _Validation:
    """Learn from earlier runs and test on later ones. Return the errors of the forecasters deployed at that time, and of all candidates."""
    from flitwatch_ml.forecast import backtest_in_order
    from flitwatch_ml.forecast.backtest import COUNTERS, paper_forecasters, relative_gain

    chosen: dict[str, Any] = {"learned": paper_forecasters(), "serve": (COUNTERS,)} if paper else {}
    result = backtest_in_order(series, start_s, m, k, features, **chosen)
    rival = min(result.mape, key=result.mape.__getitem__)
    gain = relative_gain(result.served, result.errors[rival])
    return {
        "validation": "earlier runs, then later ones",
        "mape": result.served_mape,
        "baselines": result.mape,
        "best": rival,
        "gain": _interval(gain),
        "coverage90": result.coverage90,
        "serves": " + ".join(result.serves),
        "chosen": [" + ".join(names) for names in result.chosen],
        "runs": result.runs,
        "windows": result.windows,
    }


def _in_folds(
    series: StepSeries, m: int, k: int, features: tuple[str, ...], folds: int, seed: int, paper: bool
) -> _Validation:
    """Learn from some runs and test on others, regardless of their order."""
    from flitwatch_ml.forecast import run_backtest
    from flitwatch_ml.forecast.backtest import COUNTERS, paper_forecasters

    chosen: dict[str, Any] = {"learned": paper_forecasters(), "serve": COUNTERS} if paper else {}
    result = run_backtest(series, m, k, features, folds, seed, **chosen)
    shown = COUNTERS if paper else "attention"
    return {
        "validation": f"{folds} folds over runs",
        "mape": result.mape.get(shown),
        "baselines": {name: value for name, value in result.mape.items() if name != shown},
        "gain": _interval(result.gain),
        "coverage90": result.coverage90,
        "train_s": result.train_s,
        "infer_ms": result.infer_ms,
        "serves": result.serves,
        "runs": result.runs,
        "windows": result.windows,
    }


def _interval(gain: tuple[float, float, float]) -> dict[str, float | None]:
    return {name: _none_if_nan(value) for name, value in zip(("mean", "low", "high"), gain, strict=True)}


def _none_if_nan(value: float) -> float | None:
    """Return the value, or None if it is NaN: there is no gain over a forecaster without error."""
    return None if math.isnan(value) else value
