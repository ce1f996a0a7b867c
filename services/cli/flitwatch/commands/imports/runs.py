"""`flitwatch import runs`: measured runs with their exposure, judged and stored next to the platform's own estimates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import quote

import click

from flitwatch.console import Database, database_options, json_option, make_progress, print_result

if TYPE_CHECKING:
    from flitwatch_domain.estimates import BlameCalibration


class RunsReport(TypedDict):
    """Stored estimate, its page, its users by verdict, the share of shuffled run times that name a user, and warnings."""

    estimate_id: int
    name: str
    nodes: int
    page: str
    runs: int
    users: int
    named: int
    cannot_tell: int
    calibration: BlameCalibration
    notes: list[str]
    caveat: str


@click.command("runs")
@click.argument("file", metavar="RUNS", type=click.Path(path_type=Path))
@click.option(
    "--exposure",
    type=click.Path(path_type=Path),
    required=True,
    help="CSV run,user,amount: the users alongside each run.",
)
@click.option("--name", required=True, help="Name of the set in the list of applications.")
@click.option(
    "--shuffles",
    type=click.IntRange(0, 100_000),
    default=100,
    help="Number of sets with shuffled run times. At most a tenth of them may name a user.",
)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=1, help="Seed of the permutations.")
@database_options
@json_option
def runs(file: Path, exposure: Path, name: str, shuffles: int, seed: int, database: Database, as_json: bool) -> None:
    """Compute blame for the measured runs in RUNS (run,start,time_s[,nodes][,application][,circumstances...]) and store the verdicts for the Blame
    page. They are the same as those of `flitwatch blame --runs`. Importing again under the same name adds a version.
    """
    from flitwatch_db import connect
    from flitwatch_domain.errors import BadInput
    from flitwatch_domain.task_models.measured import set_name
    from flitwatch_ml.measured import read_measured
    from flitwatch_ml.tasks import keep_of_files
    from flitwatch_ml.work.measured import CAVEAT, estimate_measured, judge_runs

    try:
        set_name(name)
    except ValueError as bad:
        raise BadInput(f"--name: {bad}") from None
    data = read_measured(file, exposure)
    with database.open(adds=True) as url:
        with make_progress("shuffled run times") as bar:
            task = bar.add_task("shuffled run times", total=shuffles)
            judged = judge_runs(data, shuffles, seed, lambda done: bar.update(task, completed=done))
        blame_estimate, entries = estimate_measured(judged, name, seed)
        with connect(url, role="writer") as conn:
            stored_set = keep_of_files(conn, blame_estimate, entries)
    report: RunsReport = {
        "estimate_id": stored_set["estimate_id"],
        "name": blame_estimate.exe,
        "nodes": blame_estimate.nodes,
        "page": f"/blame?exe={quote(blame_estimate.exe, safe='')}&nodes={blame_estimate.nodes}",
        "runs": len(data.runs),
        "users": blame_estimate.score["users"],
        "named": blame_estimate.score["found"],
        "cannot_tell": blame_estimate.score["cannot_tell"],
        "calibration": judged.calibration,
        "notes": data.notes,
        "caveat": CAVEAT,
    }
    print_result(report, as_json)
