"""`flitwatch forecast`: the platform's stored forecasts of an application, or a backtest of every forecaster."""

from __future__ import annotations

import math
import time
from pathlib import Path

import click

from flitwatch.console import exit_with_error, json_option, print_result
from flitwatch.rest import api_options, application_options, open_client, require_place


def _parse_feature_sets(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    from flitwatch_ml.forecast.series import FEATURE_SETS

    parts = [part for part in value.split("+") if part]
    unknown = [part for part in parts if part not in ("app", *FEATURE_SETS)]
    if unknown or "app" not in parts:
        raise click.BadParameter(f"give app, then any of {', '.join(FEATURE_SETS)}, joined by +; not {value!r}")
    return tuple(part for part in parts if part != "app")


@click.command()
@application_options(required=False)
@click.option("--job", help="A running job, by its id: how long it takes in all, with recorded steps or without.")
@click.option("--scenario", help="A scenario of the twin, for example amg-128 (simulated).")
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True, help="Seed of the twin and of training."
)
@click.option(
    "--users", type=click.IntRange(40, 20000), default=300, show_default=True, help="Users of the twin's machine."
)
@click.option("--m", type=click.IntRange(1, 1000), help="Past steps (of a backtest).")
@click.option("--k", type=click.IntRange(1, 1000), help="Steps to forecast (of a backtest).")
@click.option(
    "--features", callback=_parse_feature_sets, default="app", show_default=True, help="app[+placement][+io][+sys]"
)
@click.option("--folds", type=click.IntRange(2, 20), default=5, show_default=True, help="Folds over runs.")
@click.option(
    "--importance", is_flag=True, help="Also what the forecasts rest on: each input's share of them on later runs."
)
@click.option("--steps", type=click.Path(path_type=Path), help="CSV run,step,time,counter... instead of a scenario.")
@api_options
@json_option
def forecast(
    application: str | None,
    nodes: int | None,
    job: str | None,
    scenario: str | None,
    seed: int,
    users: int,
    m: int | None,
    k: int | None,
    features: tuple[str, ...],
    folds: int,
    importance: bool,
    steps: Path | None,
    api_url: str | None,
    token_file: Path | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Forecast an application's running jobs by the platform's newest estimate (--application), a job's run time by jobs of its like (--job), or
    backtest every forecaster on held-out runs.

    With --application and --job it asks the API of --url or the profile, else that of the platform that runs here. Of a backtest, the forecaster with the least error
    serves.
    """
    if [application, job, scenario, steps].count(None) != 3:
        exit_with_error("give one of --application NAME, --job ID, --scenario NAME, --steps FILE", code=2)
    if job is not None:
        from flitwatch import stored

        with open_client(require_place(api_url, token_file, profile)) as fw:
            run_time = stored.run_time(fw, job)
        print_result(run_time, True) if as_json else stored.show_run_time(run_time)
        return
    if application is not None:
        from flitwatch import stored

        with open_client(require_place(api_url, token_file, profile)) as fw:
            estimate = stored.load_forecast(fw, application, nodes)
        print_result(estimate, True) if as_json else stored.show_forecast(estimate)
        return
    if m is None or k is None:
        exit_with_error("a backtest needs --m and --k: so many past steps, so many to forecast", code=2)
    if importance and scenario is None:
        exit_with_error("--importance needs --scenario: a table of steps does not say when its runs began", code=2)
    from flitwatch_ml.forecast import StepSeries, has_pytorch, run_backtest

    if has_pytorch():
        import torch

        torch.set_num_threads(1)  # so small a net gains nothing from more
    notes: list[str] = []
    if scenario is not None:
        from flitwatch_twin.campaign import generate_campaign

        campaign = generate_campaign(scenario, seed, users)
        series = StepSeries(campaign.times_s, campaign.rates, campaign.placement, campaign.io_rates, campaign.sys_rates)
    else:
        from flitwatch_ml.tables import read_steps

        table = read_steps(steps)  # type: ignore[arg-type]
        series = StepSeries(table.time_s, table.counts / table.time_s[:, :, None])
        notes = table.notes
    begun = time.perf_counter()
    result = run_backtest(series, m, k, features, folds, seed)
    gain, low, high = result.gain
    rests_on = {}
    if importance:
        from flitwatch_ml.work.forecast import rests_on as resting
        from flitwatch_twin.campaign import COUNTER_NAMES

        rests, lacks = resting(
            series, campaign.run_start_s.astype(float), list(COUNTER_NAMES), m, k, features, (result.serves,)
        )
        rests_on = {"rests_on": rests, "rests_on_lacks": lacks}
    print_result(
        {
            "mape": result.mape.get("attention"),
            "baselines": {name: value for name, value in result.mape.items() if name != "attention"},
            "gain": {name: _none_if_nan(value) for name, value in (("mean", gain), ("low", low), ("high", high))},
            "coverage90": result.coverage90,
            "train_s": result.train_s,
            "infer_ms": result.infer_ms,
            "serves": result.serves,
            "runs": result.runs,
            "windows": result.windows,
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


def _none_if_nan(value: float) -> float | None:
    """None where attention stands beside a forecaster without error, so that there is no gain to speak of."""
    return None if math.isnan(value) else value
