"""`flitwatch study incidents`: how often the product names the job that slows a run, on days drawn from the cluster twin."""

from __future__ import annotations

from pathlib import Path

import click

from flitwatch.console import make_progress, print_result

NAME = "incidents"
SUMMARY = "How often, how soon and how wrongly the product names who slows a job, on simulated days."
DRAWS, SEED = 200, 1
#: Remaining resolution of a day's counters when the product is queried.
RESOLUTIONS = ("live", "1m")
FABRICS = ("dragonfly", "tree", "tree-3-levels")


def run_incident_study(
    draws: int | None,
    seed: int | None,
    resolution: str | None,
    kinds: tuple[str, ...],
    fabric: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Simulate the days in a separate database and print the scores; days already in `out` are not repeated."""
    from flitwatch_ops.platform import open_database
    from flitwatch_research.incidents import study

    with make_progress("") as bar:
        task = bar.add_task(NAME, total=None)

        def tell(done: int, total: int, message: str) -> None:
            bar.update(task, completed=done, total=total, description=f"{NAME} {message}")
            if bar.disable:
                click.echo(f"{done} of {total} days {message}".rstrip(), err=True)

        answer = study.run_incidents(
            lambda: open_database(ephemeral=True),
            draws or DRAWS,
            SEED if seed is None else seed,
            resolution == RESOLUTIONS[1],
            kinds,
            fabric or FABRICS[0],
            out,
            tell,
        )
    print_result(answer, as_json)
