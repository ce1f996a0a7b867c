"""`flitwatch scorecard`: score every estimator against the twin's truth."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import orjson

from flitwatch.console import emit, json_option, stderr

SCENARIOS = ("amg-128", "amg-512", "milc-128", "milc-512", "minivite-128", "umt-128")
FORECAST = ("amg-128", "amg-512", "milc-128", "milc-512")
PARTS = ("blame", "blame_pooled", "deviation", "forecast", "coverage", "ablation")


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
    from flitwatch.scorecard.report import markdown

    some = tuple(range(1, seeds + 1))
    begun = time.perf_counter()
    card: dict[str, Any] = {"simulated": True, "seeds": list(some), "users": users}
    card |= {name: [] for name in PARTS}
    for name, rows in _done(_jobs(some, users, pooled_users, folds, coverage_seeds)):
        card[name] += rows
        stderr.print(f"{time.perf_counter() - begun:6.0f} s  {name}: {len(card[name])} rows", highlight=False)
    for name in PARTS:
        card[name].sort(key=lambda row: (*SCENARIOS, "pooled").index(row["scenario"]))
    card["wall_s"] = time.perf_counter() - begun
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "scorecard.json").write_bytes(
            orjson.dumps(card, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_INDENT_2)
        )
        (out / "scorecard.md").write_text(markdown(card))
    emit(card, as_json) if as_json else print(markdown(card))


Job = tuple[str, str, tuple[Any, ...]]


def _jobs(seeds: tuple[int, ...], users: int, pooled_users: int, folds: int, coverage_seeds: int) -> Iterator[Job]:
    """(part, function, arguments) of independent pieces, the longest first."""
    for scenario in FORECAST:
        yield "forecast", "forecast.headline_rows", ((scenario,), 1, users, folds)
    yield "blame_pooled", "blame.pooled_rows", (SCENARIOS, seeds[:1], pooled_users)
    for scenario in FORECAST:
        yield "ablation", "forecast.ablation_rows", ((scenario,), 1, users)
        yield "coverage", "forecast.coverage_rows", ((scenario,), range(coverage_seeds), users)
    for scenario in SCENARIOS:
        yield "deviation", "deviation.rows", ((scenario,), seeds, users)
        yield "blame", "blame.rows", ((scenario,), seeds, users)


def _done(jobs: Iterable[Job]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """(part, rows) of each piece as it is done, two at a time."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(_rows, function, arguments): part for part, function, arguments in jobs}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def _rows(function: str, arguments: tuple[Any, ...]) -> list[dict[str, Any]]:
    import importlib

    module, _, name = function.partition(".")
    return list(getattr(importlib.import_module(f"flitwatch.scorecard.{module}"), name)(*arguments))
