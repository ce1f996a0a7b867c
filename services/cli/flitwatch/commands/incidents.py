"""`flitwatch incidents`: causes of slow jobs, in the same words as the page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from flitwatch.console import Database, Moment, database_options, exit_with_error, json_option, print_result
from flitwatch.rest import ApiOptions, Place, api_options, open_client
from flitwatch.tables import remove_controls

if TYPE_CHECKING:
    from flitwatch_client import models
    from flitwatch_domain.incidents import IncidentDetail, IncidentHead

    Head = IncidentHead | models.IncidentHead
    Detail = IncidentDetail | models.IncidentDetail

STATES = ("open", "over", "withdrawn")


@click.command()
@click.argument("incident_id", type=click.IntRange(0), required=False)
@click.option("--fabric", help="Only incidents of this machine, by name.")
@click.option("--job", help="Only incidents that this job caused or that slowed it.")
@click.option("--user", help="Only incidents that a job of this user caused.")
@click.option("--state", type=click.Choice(STATES), help="Only incidents in this state.")
@click.option("--from", "from_s", type=Moment(), help="Only incidents that ended after this time, or have not ended.")
@click.option("--to", "to_s", type=Moment(), help="Only incidents that began before this time.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, help="Largest number of incidents to list.")
@api_options
@database_options
@json_option
def incidents(
    incident_id: int | None,
    fabric: str | None,
    job: str | None,
    user: str | None,
    state: Any,
    from_s: float | None,
    to_s: float | None,
    limit: int,
    api: ApiOptions,
    database: Database,
    as_json: bool,
) -> None:
    """List incidents, newest first. With INCIDENT_ID, show one.

    With --url or a profile, the command asks the API. Otherwise it reads the database.
    """
    at_api = api.choose()
    if incident_id is not None:
        incident = _load_incident(database, incident_id) if at_api is None else _request_incident(at_api, incident_id)
        print_result(incident, True) if as_json else click.echo("\n".join(detail_lines(incident)))
        return
    filters = {"fabric": fabric, "job": job, "user": user, "state": state}
    if at_api is None:
        heads: list[Any]
        heads, unexamined = _load_incidents(database, filters, from_s, to_s, limit)
    else:
        with open_client(at_api) as fw:
            answer = fw.api.incidents(**filters, from_=from_s, to=to_s, limit=limit)
        heads, unexamined = answer["items"], answer["unexamined"]
    if as_json:
        print_result({"items": heads, "unexamined": unexamined}, True)
        return
    for head in heads:
        click.echo(format_head(head))
    if not heads:
        click.echo("There are no stored incidents for this.")
    if unexamined:
        click.echo(f"The list is not complete. Ended jobs that are not examined yet: {unexamined}.")


def _request_incident(at_api: Place, incident_id: int) -> models.IncidentDetail:
    with open_client(at_api) as fw:
        return fw.api.incident_detail(incident_id)


def _load_incidents(
    database: Database, asked: dict[str, Any], from_s: float | None, to_s: float | None, limit: int
) -> tuple[list[IncidentHead], int | None]:
    from flitwatch_db.fabrics.store import get_fabric_row
    from flitwatch_db.incidents import shown

    with database.connect(role="reader") as conn:
        fabric = asked.pop("fabric")
        fabric_id = None if fabric is None else get_fabric_row(conn, fabric).fabric_id
        incident_filter = shown.IncidentFilter(fabric_id, from_s=from_s, to_s=to_s, **asked)
        return shown.list_heads(conn, incident_filter, limit), shown.count_unexamined(conn, incident_filter)


def _load_incident(database: Database, incident_id: int) -> IncidentDetail:
    from flitwatch_db.incidents import shown

    with database.connect(role="reader") as conn:
        incident = shown.load_detail(conn, incident_id)
        if isinstance(incident, int):
            incident = shown.load_detail(conn, incident)
    if incident is None or isinstance(incident, int):
        exit_with_error(f"there is no incident {incident_id}; `flitwatch incidents` lists them")
    return incident


def format_head(head: Head) -> str:
    """Format an incident as one line."""
    simulated = " (simulated)" if head["simulated"] else ""
    began = head["began"] if isinstance(head["began"], datetime) else datetime.fromisoformat(head["began"])
    day = began.astimezone(UTC).date()
    return f"{head['incident_id']}  {day}  {head['state']}  {remove_controls(head['fabric'])}{simulated}: {head['title']}; {_format_lost_hours(head)}"


def detail_lines(one: Detail) -> list[str]:
    """Format an incident for people."""
    from flitwatch_domain.explanation.words import format_slower

    texts = [format_head(one), one["detail"]]
    texts += [f"cause: job {cause['job_id']}, {remove_controls(cause['user'] or 'unknown user')}, {remove_controls(cause['name'] or 'no name')}" for cause in one["causes"]]  # fmt: skip
    for slowed in one["victims"]:
        until = (
            _format_clock(slowed["until"])
            if slowed["until"] is not None
            else "now"
            if slowed["state"] == "RUNNING"
            else "its end"
        )
        lost = f"{slowed['lost_s']:.0f} s lost (95 %: {slowed['lost_low_s']:.0f} to {slowed['lost_high_s']:.0f})"
        when = f"from {_format_clock(slowed['since'])} to {until}"
        texts.append(f"slowed: job {slowed['job_id']}, {format_slower(slowed['factor'])} {when}, {lost}")
    texts += [f"help: {remedy['text']}" for remedy in one["remedies"]]
    texts += [
        f"done: {remove_controls(note['text'])} ({remove_controls(note['author'])}, {_format_clock(note['at'])})"
        for note in one["notes"]
    ]
    return texts


def _format_lost_hours(head: Head) -> str:
    hours, low, high = head["node_hours"], head["node_hours_low"], head["node_hours_high"]
    if hours is None or low is None or high is None:
        return "node-hours lost: unknown"
    return f"{hours:.3g} node-hours lost (95 %: {low:.3g} to {high:.3g})"


def _format_clock(moment: datetime | str) -> str:
    at = moment if isinstance(moment, datetime) else datetime.fromisoformat(moment)
    return at.astimezone(UTC).strftime("%H:%M:%S UTC")
