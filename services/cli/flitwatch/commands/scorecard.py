"""`flitwatch scorecard`: score every estimator against the twin's truth."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import orjson

from flitwatch.console import emit, json_option, stderr

SCENARIOS = ("amg-128", "amg-512", "milc-128", "milc-512", "minivite-128", "umt-128")
FORECAST = ("amg-128", "amg-512", "milc-128", "milc-512")


@click.command()
@click.option("--seeds", type=click.IntRange(1, 50), default=3, show_default=True, help="Seeds of blame and deviation.")
@click.option("--coverage-seeds", type=click.IntRange(2, 50), default=20, show_default=True)
@click.option("--users", type=click.IntRange(40, 20000), default=300, show_default=True)
@click.option("--pooled-users", type=click.IntRange(40, 20000), default=2000, show_default=True)
@click.option(
    "--folds", type=click.IntRange(2, 20), default=10, show_default=True, help="Folds of the forecast's headline."
)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Write scorecard.json and scorecard.md here."
)
@json_option
def scorecard(
    seeds: int, coverage_seeds: int, users: int, pooled_users: int, folds: int, out: Path | None, as_json: bool
) -> None:
    """Blame, deviation and forecast on simulated scenarios; the paper's methods beside ours."""
    import torch

    from flitwatch.scorecard import blame, deviation, forecast
    from flitwatch.scorecard.report import markdown

    torch.set_num_threads(1)
    some = tuple(range(1, seeds + 1))
    parts = {
        "blame": lambda: blame.rows(SCENARIOS, some, users),
        "blame_pooled": lambda: blame.pooled_rows(SCENARIOS, some[:1], pooled_users),
        "deviation": lambda: deviation.rows(SCENARIOS, some, users),
        "forecast": lambda: forecast.headline_rows(FORECAST, 1, users, folds),
        "coverage": lambda: forecast.coverage_rows(FORECAST, range(coverage_seeds), users),
        "ablation": lambda: forecast.ablation_rows(FORECAST, 1, users),
    }
    begun = time.perf_counter()
    card: dict[str, Any] = {"simulated": True, "seeds": list(some), "users": users}
    for name, make in parts.items():
        card[name] = []
        for row in make():
            card[name].append(row)
            stderr.print(f"{time.perf_counter() - begun:6.0f} s  {name}: {len(card[name])} rows", highlight=False)
    card["wall_s"] = time.perf_counter() - begun
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "scorecard.json").write_bytes(
            orjson.dumps(card, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_INDENT_2)
        )
        (out / "scorecard.md").write_text(markdown(card))
    emit(card, as_json) if as_json else print(markdown(card))
