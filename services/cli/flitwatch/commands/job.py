"""`flitwatch job`: why a job is slow, in the same words as the page."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import click

from flitwatch.console import Moment, database_options, emit, json_option

MOST_SHOWN = 5


@click.command()
@click.argument("job_id")
@click.option("--cluster", help="Where several clusters use the same id; else the newest.")
@click.option("--at", "at_s", type=Moment(), help="The answer of this moment; without it, of now.")
@click.option("--url", "api_url", envvar="FLITWATCH_URL", help="Ask this API; without it, the database.")
@click.option(
    "--token-file", type=click.Path(dir_okay=False, exists=True, path_type=Path), envvar="FLITWATCH_TOKEN_FILE",
    help="File with an API token, for --url.",
)  # fmt: skip
@database_options
@json_option
def job(
    job_id: str, cluster: str | None, at_s: float | None, api_url: str | None, token_file: Path | None, db_url: str | None, ephemeral: bool, as_json: bool,
) -> None:  # fmt: skip
    """Say whether JOB_ID is slow, since when, who may be behind it, and what would help."""
    made = (
        _asked(api_url, token_file, job_id, cluster, at_s)
        if api_url
        else _read(db_url, ephemeral, job_id, cluster, at_s)
    )
    if as_json:
        emit(made, True)
        return
    for line in lines(made):
        click.echo(line)


def _asked(
    api_url: str, token_file: Path | None, job_id: str, cluster: str | None, at_s: float | None
) -> dict[str, Any]:
    from flitwatch_client import ClientError, connect
    from flitwatch_domain.errors import Unavailable

    token = token_file.read_text(encoding="utf-8").strip() if token_file else ""
    try:
        with connect(api_url, token) as fw:
            return dict(fw.explanation(job_id, cluster=cluster, at=at_s))
    except ClientError as problem:
        raise Unavailable(problem.message, advice=problem.advice) from None


def _read(db_url: str | None, ephemeral: bool, job_id: str, cluster: str | None, at_s: float | None) -> dict[str, Any]:
    from flitwatch_db import connect
    from flitwatch_db.jobs.explanation import explain
    from flitwatch_ops.platform import database

    with database(db_url, ephemeral) as url, connect(url, role="reader") as conn:
        return explain(conn, job_id, cluster, at_s)


def lines(made: dict[str, Any]) -> list[str]:
    """An explanation for a person."""
    simulated = " (simulated)" if made["simulated"] else ""
    told = [f"job {made['job_id']}{simulated}: {made['title']}", made["detail"]]
    slow = made["slowdown"]
    if slow is not None:
        told.append(
            f"since {_clock(slow['since'])} (between {_clock(slow['since_low'])} and {_clock(slow['since_high'])}), {slow['lost_s'] / 60:.1f} minutes lost"
        )
    for link in made["links"][:MOST_SHOWN]:
        told.append(
            f"link {link['from_name']} to {link['to_name']} ({link['link_class']}): {_ratio(link['stall_ratio_before'])} to {_ratio(link['stall_ratio_after'])} stalls per flit"
        )
    for one in made["candidates"][:MOST_SHOWN]:
        if one["score"] > 0:
            who = f"{one['user'] or 'unknown user'}, {one['nodes'] or '?'} nodes"
            told.append(
                f"job {one['job_id']} ({who}, started {_clock(one['start'])}): score {one['score']:.2f}{', named' if one['named'] else ''}"
            )
    for remedy in made["remedies"]:
        saved = "" if remedy["minutes_saved"] is None else f" ({remedy['minutes_saved']:.1f} minutes)"
        told.append(f"{remedy['kind']}: {remedy['text']}{saved}")
    return told


def _clock(moment: datetime | str) -> str:
    held = moment if isinstance(moment, datetime) else datetime.fromisoformat(moment)
    return held.strftime("%H:%M:%S UTC")


def _ratio(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2g}"
