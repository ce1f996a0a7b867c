"""`flitwatch scorecard`: score every estimator against the twin's truth."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from flitwatch.console import json_option, print_result, stderr_console
from flitwatch_domain.errors import BadInput
from flitwatch_research.commands.options import executor_option

if TYPE_CHECKING:
    from flitwatch_research.scorecard.pieces import Piece
    from flitwatch_research.scorecard.timings import TimeBound

#: Applications used by the seeds in turn: two with 20 steps and two with 80, on 128 and on 512 nodes.
APPLICATIONS = ("amg-128", "milc-128", "amg-512", "milc-512")
#: Six sets of one machine, pooled.
POOLED = (*APPLICATIONS, "minivite-128", "umt-128")
PARTS = ("blame", "stress", "deviation", "forecast")
#: Draws of each stress calendar, regardless of the number of seeds.
DRAWS = 20
#: Parts computed only on request.
EXTRA = ("blame_pooled", "long", "ablation", "timings")


@click.command()
@click.option("--seeds", type=click.IntRange(1, 50), default=10, help="Number of seeds per scenario.")
@click.option(
    "--variant",
    "variants",
    multiple=True,
    help="Run only this variant (repeatable); `flitwatch twin variants` lists them.  [default: all]",
)
@click.option(
    "--users",
    type=click.IntRange(40, 20000),
    default=300,
    help="Number of users on each scenario's machine.",
)
@click.option(
    "--pooled-users",
    type=click.IntRange(40, 20000),
    default=2000,
    help="Number of users in the pooled table.",
)
@click.option(
    "--part",
    "parts",
    multiple=True,
    type=click.Choice([*PARTS, *EXTRA]),
    help=f"Run only this part (repeatable); {', '.join(EXTRA)} run only on request.  [default: {', '.join(PARTS)}]",
)
@click.option(
    "--kept",
    is_flag=True,
    help="Run nothing, and report only the results of earlier calls. The table shows what is missing.",
)
@click.option(
    "--processes", type=click.IntRange(1, 64), help="Number of parallel processes.  [default: one for each core]"
)
@executor_option
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for scorecard.json and scorecard.md. With --part, other parts are kept from a scorecard there with the same seeds and users.",
)
@json_option
def scorecard(
    seeds: int,
    variants: tuple[str, ...],
    users: int,
    pooled_users: int,
    parts: tuple[str, ...],
    kept: bool,
    processes: int | None,
    executor: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Score blame, drivers and forecasts in simulated scenarios from easy to hard, for the paper's methods and ours. Finished parts are kept in
    .cache/scorecard, so that a second call continues from there.
    """
    from flitwatch_db.tasks.executors import open_executor
    from flitwatch_research.campaign.variants import VARIANTS, find_variant
    from flitwatch_research.scorecard.pieces import compute_pieces, simulate_sets
    from flitwatch_research.scorecard.report import to_markdown

    for variant in variants:
        find_variant(f"@{variant}")
    begun = time.perf_counter()
    chosen_parts = parts or PARTS
    earlier = _load_earlier_report(out, seeds, users, pooled_users) if parts and not variants else {}
    stays = [name for name in (*PARTS, *EXTRA) if name not in chosen_parts and earlier.get(name)]
    report: dict[str, Any] = {
        "simulated": True,
        "command": _format_command([*chosen_parts, *stays]),
        "seeds": seeds,
        "users": users,
        "pooled_users": pooled_users,
    }
    made_of = (*PARTS, *EXTRA)
    report |= {name: [] for name in made_of}
    pieces = [
        entry
        for entry in _list_pieces(seeds, variants or tuple(VARIANTS), users, pooled_users)
        if entry.part in chosen_parts
    ]
    report["lacking"] = []
    if kept:
        report["lacking"] = [[entry.part, *_describe_piece(entry)] for entry in pieces if not entry.kept.exists()]
        pieces = [entry for entry in pieces if entry.kept.exists()]

    def tell(message: str) -> None:
        stderr_console().print(f"{time.perf_counter() - begun:6.0f} s  {message}", highlight=False)

    report["effort"] = {name: {"pieces": 0, "wall_s": 0.0, "cpu_s": 0.0} for name in made_of if name != "timings"}
    with open_executor(executor, processes) as pool:
        for message in simulate_sets(pieces, pool) if not kept else ():
            tell(message)
        for count, (name, result) in enumerate(compute_pieces(pieces, pool), 1):
            report[name] += result.rows
            spent = report["effort"][name]
            spent["pieces"] += 1
            spent["wall_s"] += result.wall_s
            spent["cpu_s"] += result.cpu_s
            tell(f"{count} of {len(pieces)}: {name}{', kept' if result.kept else f', {result.cpu_s:.0f} CPU s'}")
    for name in report["effort"]:
        report[name].sort(key=lambda row: (row["scenario"], row["seed"]))
    if "timings" in parts:
        report["timings"] = _load_timings(kept, users)
    for name in stays:
        report[name] = earlier[name]
        report["lacking"] += [entry for entry in earlier["lacking"] if entry[0] == name]
        if name in report["effort"]:
            report["effort"][name] = earlier["effort"][name]
        tell(f"{name}: as the scorecard in {out} has it")
    report["wall_s"] = time.perf_counter() - begun
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "scorecard.json").write_bytes(
            orjson.dumps(report, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_INDENT_2)
        )
        (out / "scorecard.md").write_text(to_markdown(report))
    print_result(report, as_json) if as_json else print(to_markdown(report))


def _describe_piece(piece: Piece) -> tuple[Any, Any, Any]:
    """Return scenarios, seed and number of users of a piece; a stress draw has no machine."""
    scenarios, seed, *users = piece.arguments
    return scenarios if isinstance(scenarios, str) else ",".join(scenarios), seed, users[0] if users else None


def _load_timings(kept: bool, users: int) -> list[TimeBound]:
    """Measure the timings, or load stored ones if only those are requested. They depend on the host, so stored ones are not used
    otherwise."""
    from flitwatch_research.scorecard.pieces import scorecard_folder
    from flitwatch_research.scorecard.timings import measure_timings

    last = scorecard_folder() / "timings.json"
    if kept:
        return list(orjson.loads(last.read_bytes())) if last.exists() else []
    time_bounds = list(measure_timings(POOLED, users))
    last.parent.mkdir(parents=True, exist_ok=True)
    last.write_bytes(orjson.dumps(time_bounds, option=orjson.OPT_SERIALIZE_NUMPY))
    return time_bounds


def _load_earlier_report(folder: Path | None, seeds: int, users: int, pooled_users: int) -> dict[str, Any]:
    """Return the scorecard in the folder if it covers all variants with the same seeds and users; else an empty one."""
    place = folder / "scorecard.json" if folder is not None else None
    if place is None or not place.is_file():
        return {}
    try:
        report = orjson.loads(place.read_bytes())
    except orjson.JSONDecodeError as damaged:
        raise BadInput(
            f"is not JSON: {damaged}", where=str(place), advice="Remove it, or write to another folder"
        ) from damaged
    alike = {"seeds": seeds, "users": users, "pooled_users": pooled_users}
    same = {name: report.get(name) for name in alike} == alike and "--variant" not in report["command"]
    return report if same else {}


def _format_command(parts: list[str]) -> str:
    """Format the command for a scorecard of these parts, with all non-default options except those of the output."""
    context = click.get_current_context()
    words = [
        f"{option.opts[0]} {value}"
        for option in context.command.params
        if option.name not in ("out", "as_json", "kept", "processes", "executor", "parts")
        and (setting := context.params[str(option.name)]) != option.get_default(context)
        for value in (setting if isinstance(setting, tuple) else (setting,))
    ]
    words += [f"--part {name}" for name in (*PARTS, *EXTRA) if name in parts] if set(parts) != set(PARTS) else []
    return " ".join(["flitwatch scorecard", *words])


def _list_pieces(seeds: int, variants: tuple[str, ...], users: int, pooled_users: int) -> Iterator[Piece]:
    """Yield the pieces seed by seed, longest first, so that an interrupted call leaves a scorecard of fewer seeds."""
    from flitwatch_research.scorecard.deviation import OURS, VARIANTS
    from flitwatch_research.scorecard.pieces import Piece
    from flitwatch_research.scorecard.variants import COUNTER_VARIANTS, NO_BLAME
    from flitwatch_research.stress import CALENDAR

    yield Piece("blame_pooled", "blame.pooled_rows", (POOLED, 1, pooled_users))
    for scenario in reversed(APPLICATIONS):
        yield Piece("ablation", "forecast.ablation_rows", (scenario, 1, users))
    yield Piece("long", "forecast.long_rows", (("milc-128", "long-milc"), 1, users))
    for draw in range(1, DRAWS + 1):
        yield Piece("stress", "blame.stress_rows", (CALENDAR, draw))
    for seed in range(1, seeds + 1):
        sets = {variant: _name_scenario(variant, seed) for variant in variants}
        counted = {variant: scenario for variant, scenario in sets.items() if variant in COUNTER_VARIANTS}
        for scenario in counted.values():
            yield Piece("forecast", "forecast.rows", (scenario, seed, users))
        for variant, scenario in counted.items():
            choices = VARIANTS if variant == "plain" else (OURS,)
            yield Piece("deviation", "deviation.rows", (scenario, seed, users, choices))
        for variant, scenario in sets.items():
            if variant not in NO_BLAME:
                yield Piece("blame", "blame.rows", (scenario, seed, users))


def _name_scenario(variant: str, seed: int) -> str:
    """Return the scenario of a variant and a seed; all variants of a seed have the same application."""
    name = APPLICATIONS[(seed - 1) % len(APPLICATIONS)]
    return name if variant == "plain" else f"{name}@{variant}"
