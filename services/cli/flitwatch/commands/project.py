"""`flitwatch project`: a project's losses to network congestion in a month."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from flitwatch.console import OutPath, json_option, print_result
from flitwatch.rest import ApiOptions, api_options, open_client
from flitwatch.tables import remove_controls

if TYPE_CHECKING:
    from flitwatch_domain.project_report import ProjectReport

SUFFIXES = (".html", ".csv", ".pdf")


@click.command()
@click.argument("account")
@click.option("--month", metavar="YYYY-MM", help="Default: the previous month.")
@click.option(
    "--out", type=OutPath(), help="Output file for the report: a page (.html), a table (.csv) or a document (.pdf)."
)
@api_options
@json_option
def project(account: str, month: str | None, out: Path | None, api: ApiOptions, as_json: bool) -> None:
    """Report what the jobs of project ACCOUNT lost to incidents in a month, and which users caused it.

    Without --url or a profile, the command asks the platform on this machine. Users appear under the names that the token permits.
    """
    from flitwatch_domain.project_report import describe_report, format_hours

    if out is not None and out.suffix not in SUFFIXES:
        raise click.UsageError(f"{out}: the file's name must end in one of {', '.join(SUFFIXES)}")
    month = month or f"{datetime.now(UTC).replace(day=1) - timedelta(days=1):%Y-%m}"
    with open_client(api.require()) as fw:
        answer = fw.api.project_report(account, month=month)
    jobs = [{**job, "since": datetime.fromisoformat(job["since"])} for job in answer["jobs"]]
    report = cast("ProjectReport", {**answer, "jobs": jobs})
    if out is not None:
        _write_report(report, out)
    if as_json:
        print_result(answer, True)
        return
    click.echo(remove_controls(f"{account}, {month}: {describe_report(report)}"))
    for cause in answer["causes"]:
        click.echo(
            remove_controls(
                f"{format_hours(cause['node_hours']):>10} node-hours in {cause['jobs']} jobs to {cause['user']}"
            )
        )


def _write_report(report: ProjectReport, out: Path) -> None:
    from flitwatch_domain.project_report import render_csv, render_document, render_page

    if out.suffix == ".pdf":
        out.write_bytes(render_document(report))
    else:
        out.write_text(render_page(report) if out.suffix == ".html" else render_csv(report), encoding="utf-8")
