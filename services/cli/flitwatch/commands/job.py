"""`flitwatch job`: why a job is slow, in the same words as the page."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flitwatch.console import Moment, database_options, json_option, print_result
from flitwatch.rest import Place, api_options, choose_place, open_client

if TYPE_CHECKING:
    from flitwatch_client import models
    from flitwatch_domain.explanation.result import Explanation

MOST_SHOWN = 5


@click.command()
@click.argument("job_id")
@click.option("--cluster", help="Where several clusters use the same id; else the newest.")
@click.option("--at", "at_s", type=Moment(), help="The answer of this moment; without it, of now.")
@api_options
@click.option(
    "--evidence",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the evidence as one HTML page to this file: chain, pictures, figures, method and limits.",
)
@database_options
@json_option
def job(
    job_id: str,
    cluster: str | None,
    at_s: float | None,
    api_url: str | None,
    token_file: Path | None,
    profile: str | None,
    evidence: Path | None,
    db_url: str | None,
    ephemeral: bool,
    as_json: bool,
) -> None:
    """Say whether JOB_ID is slow, since when, who may be behind it, and what would help.

    With --url or a profile it asks the API; else it reads the database.
    """
    at_api = choose_place(api_url, token_file, profile)
    if evidence is not None:
        if at_api is None:
            page = _render_evidence(db_url, ephemeral, job_id, cluster, at_s)
        else:
            with open_client(at_api) as fw:
                page = fw.api.case(job_id, cluster=cluster, at=at_s)
        digest = _write_evidence(page, evidence)
        print_result({"file": str(evidence), "sha256": digest}, True) if as_json else click.echo(
            f"{evidence}: sha256 {digest}"
        )
        return
    explanation = (
        _load_explanation(db_url, ephemeral, job_id, cluster, at_s)
        if at_api is None
        else _request_explanation(at_api, job_id, cluster, at_s)
    )
    if as_json:
        print_result(explanation, True)
        return
    for line in format_explanation(explanation):
        click.echo(line)


def _request_explanation(at_api: Place, job_id: str, cluster: str | None, at_s: float | None) -> models.Explanation:
    with open_client(at_api) as fw:
        return fw.explanation(job_id, cluster=cluster, at=at_s)


def _load_explanation(
    db_url: str | None, ephemeral: bool, job_id: str, cluster: str | None, at_s: float | None
) -> Explanation:
    from flitwatch_db import connect
    from flitwatch_db.jobs.explanation import explain_by_id
    from flitwatch_ops.platform import open_database

    with open_database(db_url, ephemeral) as url, connect(url, role="reader") as conn:
        return explain_by_id(conn, job_id, cluster, at_s)


def _render_evidence(db_url: str | None, ephemeral: bool, job_id: str, cluster: str | None, at_s: float | None) -> str:
    from flitwatch_db import connect
    from flitwatch_db.jobs.case import load_evidence
    from flitwatch_domain.explanation.case import render_page
    from flitwatch_ops.platform import open_database

    with open_database(db_url, ephemeral) as url, connect(url, role="reader") as conn:
        return render_page(load_evidence(conn, job_id, cluster, at_s), None, datetime.now(UTC))


def _write_evidence(page: str, out: Path) -> str:
    """Write the evidence page; return the hash that it holds."""
    from flitwatch_domain.explanation.case import stored_hash

    # It may hold real names: nobody else on this machine reads it.
    with os.fdopen(
        os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8", newline=""
    ) as file:
        file.write(page)
    return stored_hash(page)


def format_explanation(made: Explanation | models.Explanation) -> list[str]:
    """An explanation for a person."""
    simulated = " (simulated)" if made["simulated"] else ""
    # What it cost others comes before whether it is slow itself.
    cost = [f"{item['part']}: {item['text']}" for item in made["chain"] if item["part"] == "slowed"]
    texts = [*cost, f"job {made['job_id']}{simulated}: {made['title']}", made["detail"]]
    texts += [f"{item['part']}: {item['text']}" for item in made["chain"] if item["part"] != "slowed"]
    for item in made["candidates"][:MOST_SHOWN]:
        if item["score"] > 0:
            who = f"{item['user'] or 'unknown user'}, {item['name'] or 'no name'}"
            texts.append(f"job {item['job_id']}: {who}{', named' if item['named'] else ''}")
    return texts
