"""Routes of projects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, TypeAlias

import psycopg
from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from flitwatch_api.answers import json_response
from flitwatch_api.names import Names, TheNames
from flitwatch_api.platform import ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_db.incidents.shown import IncidentFilter, iterate_slowed_jobs
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.incidents import IncidentHead, SlowedJob
from flitwatch_domain.project_report import (
    ProjectReport,
    build_report,
    find_month,
    render_csv,
    render_document,
    render_page,
)

http = APIRouter(prefix="/projects", tags=["incidents"], responses=RESPONSES)
#: Most incidents of one month that are read.
MOST_INCIDENTS = 10_000
_Incident: TypeAlias = tuple[IncidentHead, list[SlowedJob]]


@http.get(
    "/{account}/report",
    response_model=ProjectReport,
    name="project_report",
    responses={
        200: {
            "content": {
                "text/html": {"schema": {"type": "string"}},
                "text/csv": {"schema": {"type": "string"}},
                "application/pdf": {"schema": {"type": "string", "format": "binary"}},
            }
        }
    },
)
async def report(
    platform: ThePlatform,
    names: TheNames,
    account: Annotated[
        str, Path(min_length=1, max_length=200, description="The project, as jobs show it to the caller.")
    ],
    month: Annotated[str, Query(pattern=r"^[0-9]{4}-[0-9]{2}$", description="Such as 2026-10 (UTC).")],
    format: Annotated[Literal["json", "html", "csv", "pdf"], Query(description="Page, table or document.")] = "json",
) -> Response:
    """Report what the jobs of a project lost to incidents in a month, and which users caused it."""
    try:
        from_s, to_s = find_month(month)
    except ValueError:
        raise BadRequest(f"{month} is not a month", advice="Write it like 2026-10.") from None

    def work(conn: psycopg.Connection[Any]) -> Response:
        # In the thread too: a month can have thousands of jobs.
        slowed = iterate_slowed_jobs(conn, IncidentFilter(from_s=from_s, to_s=to_s), MOST_INCIDENTS)
        return _render(build_report(account, month, _mask(names, slowed)), format)

    return await platform.in_thread("reader", work)


def _mask(names: Names, incidents: Iterable[_Incident]) -> Iterator[_Incident]:
    """Yield incidents and their jobs as shown to the caller."""
    for head, slowed in incidents:
        causes = [names.job(cause) for cause in head["causes"]]
        yield {**head, "causes": causes}, [names.job(job) for job in slowed]


def _render(made: ProjectReport, format: str) -> Response:
    if format == "json":
        return json_response(made)
    if format == "html":
        policy = {
            "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
            "Cache-Control": "no-cache",
        }
        return Response(render_page(made), media_type="text/html; charset=utf-8", headers=policy)
    body: str | bytes = render_csv(made) if format == "csv" else render_document(made)
    kind = "text/csv; charset=utf-8" if format == "csv" else "application/pdf"
    name = f"project-{made['month']}.{format}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-cache"}
    return Response(body, media_type=kind, headers=headers)
