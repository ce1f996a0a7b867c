"""Routes of incidents and their response models."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import psycopg
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field, StringConstraints

from flitwatch_api.answers import build_model, json_response
from flitwatch_api.names import Names, TheNames
from flitwatch_api.parameters import CursorText, Id, Limit, Text, Time, make_cursor, read_page_cursor
from flitwatch_api.people.access import made_by, require_access
from flitwatch_api.platform import Reader, ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_db.fabrics import reads as fabrics
from flitwatch_db.incidents import shown, store
from flitwatch_domain.errors import NotFound
from flitwatch_domain.incidents import IncidentDetail, IncidentHead, IncidentNote
from flitwatch_domain.table_file import render_table

#: Terminal control characters, zero-width characters and bidirectional marks are refused.
NoteText = Annotated[
    str,
    StringConstraints(
        min_length=1,
        max_length=2000,
        strip_whitespace=True,
        pattern=r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*$",
    ),
]


class IncidentList(BaseModel):
    """A page of incidents."""

    items: list[IncidentHead]
    next_cursor: str | None
    unexamined: int | None = Field(
        description="Number of ended jobs since `from` that are not examined yet, at most 1000: the list may be incomplete. Null: without `from`."
    )


class NewIncidentNote(BaseModel):
    """A note to store with an incident."""

    text: NoteText


http = APIRouter(prefix="/incidents", tags=["incidents"], responses=RESPONSES)
#: Row limit of one CSV file.
MOST_ROWS = 10_000
COLUMNS = ("incident_id", "fabric", "state", "began", "ended", "title", "causes", "slowed", "lost_s", "node_hours", "node_hours_low", "node_hours_high", "simulated")  # fmt: skip


async def asked_incidents(
    conn: Reader,
    names: TheNames,
    fabric: Text = None,
    job: Annotated[
        str | None, Query(max_length=60, description="Only incidents that this job caused or that slowed it.")
    ] = None,
    user: Annotated[
        str | None, Query(max_length=200, description="Only incidents that a job of this user caused.")
    ] = None,
    state: Annotated[Literal["open", "over", "withdrawn"] | None, Query()] = None,
    from_: Annotated[
        Time | None, Query(alias="from", description="Only incidents that ended after this time, or have not ended.")
    ] = None,
    to: Annotated[Time | None, Query(description="Only incidents that began before this time.")] = None,
) -> shown.IncidentFilter:
    """Parse the request's incident filter."""
    fabric_id = None if not fabric else (await fabrics.find_fabric_head(conn, fabric)).fabric_id
    return shown.IncidentFilter(fabric_id, None, job or None, user or None, state, from_, to, names.for_database())


TheIncidents = Annotated[shown.IncidentFilter, Depends(asked_incidents)]


@http.get("", response_model=IncidentList)
async def incidents(
    platform: ThePlatform,
    names: TheNames,
    asked: TheIncidents,
    limit: Limit = 100,
    cursor: CursorText = None,
) -> Response:
    """List incidents, newest first."""
    before = read_page_cursor(cursor)
    rows, unexamined = await platform.in_thread(
        "reader",
        lambda conn: (shown.list_heads(conn, asked, limit + 1, before), shown.count_unexamined(conn, asked)),
    )
    items = [mask_head(row, names) for row in rows[:limit]]
    next_cursor = make_cursor(items[-1]["incident_id"]) if len(rows) > limit else None
    return json_response(build_model(IncidentList, items=items, next_cursor=next_cursor, unexamined=unexamined))


@http.get(
    "/export",
    name="incidents_export",
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
async def export(platform: ThePlatform, asked: TheIncidents) -> Response:
    """Return incidents as a table (CSV), newest first: at most 10,000."""

    def work(conn: psycopg.Connection[Any]) -> str:
        rows = shown.list_heads(conn, asked, MOST_ROWS)
        return render_table(
            COLUMNS, ({**row, "causes": " ".join(one["job_id"] for one in row["causes"])} for row in rows)
        )

    table = await platform.in_thread("reader", work)
    headers = {"Content-Disposition": 'attachment; filename="incidents.csv"', "Cache-Control": "no-cache"}
    return Response(table, media_type="text/csv; charset=utf-8", headers=headers)


@http.get("/{incident_id}", response_model=IncidentDetail, name="incident_detail")
async def detail(platform: ThePlatform, names: TheNames, incident_id: Id) -> Response:
    """Return one incident: causes, links, slowed jobs, minutes, alerts, and notes on actions taken. An incident that was merged into another one
    redirects there (308)."""
    incident = await platform.in_thread("reader", lambda conn: shown.load_detail(conn, incident_id))
    if incident is None:
        raise NotFound(f"there is no incident {incident_id}", advice="/api/v1/incidents lists them.")
    if isinstance(incident, int):
        return RedirectResponse(f"./{incident}", status_code=308)
    victims = [names.job(item) for item in incident["victims"]]
    notes = [{**item, "author": names.author(item["author"])} for item in incident["notes"]]
    return json_response({**mask_head(incident, names), "victims": victims, "notes": notes})


@http.post("/{incident_id}/notes", response_model=IncidentNote, status_code=201, name="add_incident_note", openapi_extra=require_access("user", "tasks"))  # fmt: skip
async def add_note(request: Request, platform: ThePlatform, incident_id: Id, new: NewIncidentNote) -> Response:
    """Add a note on the actions taken in an incident."""
    note = await platform.in_thread(
        "writer", lambda conn: store.add_note(conn, incident_id, made_by(request), new.text)
    )
    if note is None:
        raise NotFound(f"there is no incident {incident_id}", advice="/api/v1/incidents lists them.")
    return json_response(note, status=201)


def mask_head(row: IncidentHead, names: Names) -> IncidentHead:
    """Return an incident as shown to the caller."""
    return {**row, "causes": [names.job(cause) for cause in row["causes"]]}
