"""`flitwatch forecast`: how well the next k steps can be foretold from the last m."""

from __future__ import annotations

import math
import time
from pathlib import Path

import click

from flitwatch.console import emit, fail, json_option


def _sets(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    from flitwatch_ml.forecast.series import FEATURE_SETS

    parts = [part for part in value.split("+") if part]
    unknown = [part for part in parts if part not in ("app", *FEATURE_SETS)]
    if unknown or "app" not in parts:
        raise click.BadParameter(f"give app, then any of {', '.join(FEATURE_SETS)}, joined by +; not {value!r}")
    return tuple(part for part in parts if part != "app")


@click.command()
@click.option("--scenario", help="A scenario of the twin, for example amg-128 (simulated).")
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True, help="Seed of the twin and of training."
)
@click.option(
    "--users", type=click.IntRange(40, 20000), default=300, show_default=True, help="Users of the twin's machine."
)
@click.option("--m", type=click.IntRange(1, 1000), required=True, help="Past steps.")
@click.option("--k", type=click.IntRange(1, 1000), required=True, help="Steps to foretell.")
@click.option("--features", callback=_sets, default="app", show_default=True, help="app[+placement][+io][+sys]")
@click.option("--folds", type=click.IntRange(2, 20), default=5, show_default=True, help="Folds over runs.")
@click.option("--steps", type=click.Path(path_type=Path), help="CSV run,step,time,counter... instead of a scenario.")
@json_option
def forecast(
    scenario: str | None,
    seed: int,
    users: int,
    m: int,
    k: int,
    features: tuple[str, ...],
    folds: int,
    steps: Path | None,
    as_json: bool,
) -> None:
    """Backtest every forecaster on held-out runs; the one with the least error serves."""
    if (scenario is None) == (steps is None):
        fail("give --scenario NAME or --steps FILE", code=2)
    import torch

    from flitwatch_ml.forecast import StepSeries, backtest

    torch.set_num_threads(1)  # so small a net gains nothing from more
    notes: list[str] = []
    if scenario is not None:
        from flitwatch_twin.campaign import generate

        campaign = generate(scenario, seed, users)
        series = StepSeries(campaign.times_s, campaign.rates, campaign.placement, campaign.io_rates, campaign.sys_rates)
    else:
        from flitwatch_ml.tables import read_steps

        table = read_steps(steps)  # type: ignore[arg-type]
        series = StepSeries(table.time_s, table.counts / table.time_s[:, :, None])
        notes = table.notes
    begun = time.perf_counter()
    result = backtest(series, m, k, features, folds, seed)
    gain, low, high = result.gain
    emit(
        {
            "mape": result.mape["attention"],
            "baselines": {name: value for name, value in result.mape.items() if name != "attention"},
            "gain": {name: _known(value) for name, value in (("mean", gain), ("low", low), ("high", high))},
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
            "wall_s": time.perf_counter() - begun,
        },
        as_json,
    )


def _known(value: float) -> float | None:
    """None where attention stands beside a forecaster without error, so that there is no gain to speak of."""
    return None if math.isnan(value) else value
