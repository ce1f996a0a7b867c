"""`flitwatch trial`: result of a randomised trial of advice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from flitwatch.console import Database, Group, database_options, json_option, print_result
from flitwatch_domain.trials import RECORD

if TYPE_CHECKING:
    from flitwatch_ml.trial_report import TrialReport


@click.group(cls=Group)
def trial() -> None:
    """Evaluate a randomised trial of advice."""


@trial.command()
@click.option(
    "--file",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=RECORD,
    help="Record written by `flitwatch agent slurm --trial`.",
)
@click.option("--cluster", help="The jobs' cluster, if several clusters use the same ids.")
@database_options
@json_option
def report(path: Path, cluster: str | None, database: Database, as_json: bool) -> None:
    """Compare jobs with and without advice, using their times in the accounting."""
    from flitwatch_db.jobs.reads import load_outcomes
    from flitwatch_ml import trial_report
    from flitwatch_slurm.trial import read_record

    header, participants, torn = read_record(path)
    with database.connect(role="reader") as conn:
        outcome_by_job = load_outcomes(
            conn, [participant.job_id for participant in participants], header.begun_s, cluster
        )
    comparison = trial_report.report_trial(
        participants, [outcome_by_job.get(participant.job_id) for participant in participants], header.share
    )
    if torn:
        comparison["warnings"].append(
            f"{torn} lines of the record are incomplete after a crash: their jobs are not counted"
        )
    if as_json:
        print_result({**comparison, "share": header.share, "begun_s": header.begun_s, "caveat": CAVEAT}, as_json)
        return
    for line in _format_report(comparison):
        click.echo(line)


CAVEAT = "Jobs without advice also gain if advised jobs avoid them. The effect of advising all jobs may be larger."


def _format_report(made: TrialReport) -> list[str]:
    texts = [
        f"{made['participants']} jobs, {made['advised']} with advice and {made['control']} without;"
        f" {made['finished']['advised']} and {made['finished']['control']} have ended"
    ]
    for name, figure in (("run time", made["run_time"]), ("from the draw to the end", made["turnaround"])):
        if figure["effect"] is None or figure["interval"] is None:
            texts.append(f"{name}: cannot tell ({figure['reasons'][0]})")
            continue
        low, high = figure["interval"]
        text = f"{name}: {figure['effect']:+.1%} with advice ({low:+.1%} to {high:+.1%}): {figure['verdict']}"
        texts.append(text + (f" ({figure['reasons'][0]})" if figure["reasons"] else ""))
    wait = made["wait_s"]
    if wait["difference"] is not None and wait["interval"] is not None:
        low, high = wait["interval"]
        texts.append(f"wait: {wait['difference']:+.0f} s with advice ({low:+.0f} to {high:+.0f} s)")
    saved = made["node_hours_saved"]
    if saved["a_job"] is not None and saved["interval"] is not None:
        low, high = saved["interval"]
        texts.append(f"node-hours saved for each advised job: {saved['a_job']:.3g} ({low:.3g} to {high:.3g})")
    return [*texts, *(f"warning: {line}" for line in made["warnings"]), CAVEAT]
