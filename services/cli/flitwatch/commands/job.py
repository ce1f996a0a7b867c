"""`flitwatch job`: causes of a slow job, in the same words as the page."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flitwatch.console import Database, Moment, database_options, json_option, print_result
from flitwatch.rest import ApiOptions, Place, api_options, open_client

if TYPE_CHECKING:
    from flitwatch_client import models
    from flitwatch_domain.explanation.result import Explanation, WholeJob

MOST_SHOWN = 5


@click.command()
@click.argument("job_id")
@click.option("--cluster", help="The job's cluster. By default, the newest job with this id is used.")
@click.option("--at", "at_s", type=Moment(), help="Time of the answer (default: now).")
@api_options
@click.option(
    "--evidence",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the evidence to this file as one HTML page with reasons, pictures, figures, method and limits.",
)
@database_options
@json_option
def job(
    job_id: str,
    cluster: str | None,
    at_s: float | None,
    api: ApiOptions,
    evidence: Path | None,
    database: Database,
    as_json: bool,
) -> None:
    """Report whether JOB_ID is slow, since when, which jobs may be the cause, and what would help. The number of an array or of a heterogeneous job
    (530 for 530_1 and 530_2) lists its tasks with their verdicts. With --url or a profile, the command asks the API. Otherwise it reads the database.
    """
    at_api = api.choose()
    if evidence is not None:
        if at_api is None:
            page = _render_evidence(database, job_id, cluster, at_s)
        else:
            with open_client(at_api) as fw:
                page = fw.api.case(job_id, cluster=cluster, at=at_s)
        _write_evidence(page, evidence)
        print_result({"file": str(evidence)}, True) if as_json else click.echo(f"wrote {evidence}")
        return
    explanation: Explanation | models.Explanation | None
    whole: WholeJob | models.WholeJob | None
    if at_api is None:
        explanation, whole = _load_explanation(database, job_id, cluster, at_s)
    else:
        explanation, whole = _request_explanation(at_api, job_id, cluster, at_s)
    found = explanation or whole
    assert found is not None, "the answer covers one or the other"
    if as_json:
        print_result(found, True)
        return
    for line in [*(format_explanation(explanation) if explanation else ()), *(list_tasks(whole) if whole else ())]:
        click.echo(line)


def _request_explanation(
    at_api: Place, job_id: str, cluster: str | None, at_s: float | None
) -> tuple[models.Explanation | None, models.WholeJob | None]:
    from flitwatch_client import Refused

    with open_client(at_api) as fw:
        try:
            return fw.explanation(job_id, cluster=cluster, at=at_s), None
        except Refused as missing:
            if missing.status != 404:
                raise
            try:
                return None, fw.api.tasks_of_job(job_id, cluster=cluster, at=at_s)
            except Refused as none:
                raise (missing if none.status == 404 else none) from None


def _load_explanation(
    database: Database, job_id: str, cluster: str | None, at_s: float | None
) -> tuple[Explanation | None, WholeJob | None]:
    from flitwatch_db.jobs.explanation import explain_by_id
    from flitwatch_db.jobs.whole import explain_whole
    from flitwatch_domain.errors import NotFound

    with database.connect(role="reader") as conn:
        try:
            return explain_by_id(conn, job_id, cluster, at_s), None
        except NotFound as missing:
            try:
                return None, explain_whole(conn, job_id, cluster, at_s)
            except NotFound:
                raise missing from None


def _render_evidence(database: Database, job_id: str, cluster: str | None, at_s: float | None) -> str:
    from flitwatch_db.jobs.evidence import load_evidence
    from flitwatch_domain.explanation.case import render_page

    with database.connect(role="reader") as conn:
        return render_page(load_evidence(conn, job_id, cluster, at_s), None, datetime.now(UTC))


def _write_evidence(page: str, out: Path) -> None:
    # The file can contain real names, so only its owner can read it.
    with os.fdopen(
        os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8", newline=""
    ) as file:
        file.write(page)


def format_explanation(made: Explanation | models.Explanation) -> list[str]:
    simulated = " (simulated)" if made["simulated"] else ""
    # The job's cost to others comes before its own slowdown.
    cost = [f"{item['part']}: {item['text']}" for item in made["chain"] if item["part"] == "slowed"]
    texts = [*cost, f"job {made['job_id']}{simulated}: {made['title']}", made["detail"]]
    texts += [f"{item['part']}: {item['text']}" for item in made["chain"] if item["part"] != "slowed"]
    for item in made["candidates"][:MOST_SHOWN]:
        if item["score"] > 0:
            who = f"{item['user'] or 'unknown user'}, {item['name'] or 'no name'}"
            texts.append(f"job {item['job_id']}: {who}{', named' if item['named'] else ''}")
    return texts


def list_tasks(whole: WholeJob | models.WholeJob) -> list[str]:
    """Format the tasks of an array, or the components of a heterogeneous job, for people."""
    parts = "components" if whole["kind"] == "heterogeneous" else "tasks"
    simulated = " (simulated)" if whole["simulated"] else ""
    states = ", ".join(f"{count} {state.lower()}" for state, count in whole["states"].items())
    rows = [f"job {whole['job_id']}{simulated}: {whole['total']} {parts}: {states}"]
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in whole["verdicts"].items())
    rows += [f"verdicts: {verdicts}"] if verdicts else []
    rows += [f"job {named} slows {count} of them" for named, count in whole["named"].items()]
    return rows + [
        f"job {task['job_id']}: {task['title'] or 'it has not started'} ({task['state'].lower()})"
        for task in whole["tasks"]
    ]
