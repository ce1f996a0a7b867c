"""`flitwatch scorecard`: score every estimator against the twin's truth."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from flitwatch.console import emit, json_option, stderr

if TYPE_CHECKING:
    from flitwatch.scorecard.pieces import Piece

SCENARIOS = ("amg-128", "amg-512", "milc-128", "milc-512", "minivite-128", "umt-128")
FORECAST = ("amg-128", "amg-512", "milc-128", "milc-512")
PARTS = ("blame", "blame_pooled", "deviation", "forecast", "long", "coverage", "ablation", "timings")
#: Deviation by the paper's learner is made on this set only: few steps, so few rows.
SMALLEST = "minivite-128"


@click.command()
@click.option("--seeds", type=click.IntRange(1, 50), default=2, show_default=True, help="Seeds with all six sets.")
@click.option(
    "--many", type=click.IntRange(2, 50), default=20, show_default=True,
    help="Seeds of false shares and coverage, one set each.",
)  # fmt: skip
@click.option("--users", type=click.IntRange(40, 20000), default=300, show_default=True)
@click.option("--pooled-users", type=click.IntRange(40, 20000), default=2000, show_default=True)
@click.option(
    "--folds", type=click.IntRange(2, 20), default=10, show_default=True, help="Folds of the forecast's headline."
)
@click.option(
    "--part", "parts", multiple=True, type=click.Choice(PARTS), help="Only this part, repeatable.  [default: all]"
)
@click.option(
    "--kept", is_flag=True, help="Make nothing: only what earlier calls made; the table says what is lacking."
)
@click.option("--processes", type=click.IntRange(1, 64), default=2, show_default=True)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Write scorecard.json and scorecard.md here."
)
@json_option
def scorecard(
    seeds: int,
    many: int,
    users: int,
    pooled_users: int,
    folds: int,
    parts: tuple[str, ...],
    kept: bool,
    processes: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Blame, deviation and forecast on simulated scenarios; the paper's methods beside ours.

    Finished pieces are kept below .cache/scorecard, so that a second call goes on where the first stopped.
    """
    from flitwatch.scorecard.pieces import done, simulated
    from flitwatch.scorecard.report import markdown

    begun = time.perf_counter()
    card: dict[str, Any] = {
        "simulated": True,
        "command": _command(),
        "seeds": seeds,
        "many": many,
        "users": users,
        "pooled_users": pooled_users,
        "folds": folds,
    }
    card |= {name: [] for name in PARTS}
    pieces = [one for one in _pieces(seeds, many, users, pooled_users, folds) if one.part in (parts or PARTS)]
    card["lacking"] = []
    if kept:
        card["lacking"] = [[one.part, *one.arguments[:3]] for one in pieces if not one.kept.exists()]
        pieces = [one for one in pieces if one.kept.exists()]

    def tell(message: str) -> None:
        stderr.print(f"{time.perf_counter() - begun:6.0f} s  {message}", highlight=False)

    for message in simulated(pieces, processes) if not kept else ():
        tell(message)
    card["effort"] = {name: {"pieces": 0, "wall_s": 0.0, "cpu_s": 0.0} for name in PARTS[:-1]}
    for count, (name, made) in enumerate(done(pieces, processes), 1):
        card[name] += made.rows
        spent = card["effort"][name]
        spent["pieces"] += 1
        spent["wall_s"] += made.wall_s
        spent["cpu_s"] += made.cpu_s
        tell(f"{count} of {len(pieces)}: {name}{', kept' if made.kept else f', {made.cpu_s:.0f} CPU s'}")
    for name in PARTS[:-1]:
        card[name].sort(key=lambda row: (_place(row["scenario"]), row.get("seed", 0)))
    if "timings" in (parts or PARTS):
        card["timings"] = _timings(kept, users)
    card["wall_s"] = time.perf_counter() - begun
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "scorecard.json").write_bytes(
            orjson.dumps(card, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_INDENT_2)
        )
        (out / "scorecard.md").write_text(markdown(card))
    emit(card, as_json) if as_json else print(markdown(card))


def _timings(kept: bool, users: int) -> list[dict[str, Any]]:
    """Measured now, or read back where only that is wanted: they depend on the machine, so that an earlier call's do not stand in for them otherwise."""
    from flitwatch.scorecard.pieces import folder
    from flitwatch.scorecard.timings import rows

    last = folder() / "timings.json"
    if kept:
        return list(orjson.loads(last.read_bytes())) if last.exists() else []
    found = list(rows(SCENARIOS, users))
    last.parent.mkdir(parents=True, exist_ok=True)
    last.write_bytes(orjson.dumps(found, option=orjson.OPT_SERIALIZE_NUMPY))
    return found


def _command() -> str:
    """What makes this card: the command with the options that are not the default, but for where and how the card is written."""
    context = click.get_current_context()
    told = [
        f"{option.opts[0]} {value}"
        for option in context.command.params
        if option.name not in ("out", "as_json", "kept", "processes")
        and (given := context.params[str(option.name)]) != option.get_default(context)
        for value in (given if isinstance(given, tuple) else (given,))
    ]
    return " ".join(["flitwatch scorecard", *told])


def _place(scenario: str) -> int:
    return (*SCENARIOS, "long-milc", "pooled").index(scenario)


def _pieces(seeds: int, many: int, users: int, pooled_users: int, folds: int) -> Iterator[Piece]:
    """The longest first, so that no process works on long after the others."""
    from flitwatch.scorecard.deviation import OURS, PAPERS, VARIANTS
    from flitwatch.scorecard.pieces import Piece

    for scenario in reversed(FORECAST):
        yield Piece("forecast", "forecast.headline_rows", (scenario, 1, users, folds))
    for scenario in reversed(FORECAST):
        yield Piece("ablation", "forecast.ablation_rows", (scenario, 1, users))
    yield Piece("deviation", "deviation.rows", (SMALLEST, 1, users, (PAPERS,)))
    for seed in range(1, seeds + 1):
        for scenario in SCENARIOS:
            yield Piece("deviation", "deviation.rows", (scenario, seed, users, VARIANTS if seed == 1 else (OURS,)))
    yield Piece("long", "forecast.long_rows", (("milc-128", "long-milc"), 1, users))
    for seed in range(1, seeds + 1):
        yield Piece("blame_pooled", "blame.pooled_rows", (SCENARIOS, seed, pooled_users))
    for seed in range(1, max(seeds, many) + 1):
        for scenario in SCENARIOS if seed <= seeds else (_of_seed(seed),):
            yield Piece("blame", "blame.rows", (scenario, seed, users))
    for seed in range(1, many + 1):
        yield Piece("coverage", "forecast.coverage_rows", (_of_seed(seed), seed, users))


def _of_seed(seed: int) -> str:
    """The one set of a seed that does not have all."""
    return FORECAST[(seed - 1) % len(FORECAST)]
