"""Routes of projects."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import psycopg
from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from flitwatch_api.answers import build_model, json_response
from flitwatch_api.names import TheNames
from flitwatch_api.platform import ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_api.projects import schemas
from flitwatch_db.incidents.shown import IncidentFilter, list_slowed_jobs
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.incidents import IncidentHead, SlowedJob
from flitwatch_domain.project_report import build_report, find_month, render_csv, render_document, render_page

http = APIRouter(prefix="/projects", tags=["incidents"], responses=RESPONSES)
#: Most incidents of one month that are read.
MOST_INCIDENTS = 10_000


@http.get(
    "/{account}/report",
    response_model=schemas.ProjectReport,
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

    def work(conn: psycopg.Connection[Any]) -> list[tuple[IncidentHead, list[SlowedJob]]]:
        return list_slowed_jobs(conn, IncidentFilter(from_s=from_s, to_s=to_s), MOST_INCIDENTS)

    shown: list[tuple[IncidentHead, list[SlowedJob]]] = []
    for head, slowed in await platform.in_thread("reader", work):
        causes = [names.job(cause) for cause in head["causes"]]
        shown.append(({**head, "causes": causes}, [names.job(job) for job in slowed]))
    made = build_report(account, month, shown)
    if format == "json":
        return json_response(build_model(schemas.ProjectReport, made))
    if format == "html":
        policy = {
            "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
            "Cache-Control": "no-cache",
        }
        return Response(render_page(made), media_type="text/html; charset=utf-8", headers=policy)
    body: str | bytes = render_csv(made) if format == "csv" else render_document(made)
    kind = "text/csv; charset=utf-8" if format == "csv" else "application/pdf"
    headers = {"Content-Disposition": f'attachment; filename="project-{month}.{format}"', "Cache-Control": "no-cache"}
    return Response(body, media_type=kind, headers=headers)
