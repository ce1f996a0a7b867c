"""Routes of ingest status."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from flitwatch_api.answers import build_model, json_response
from flitwatch_api.ingest import schemas
from flitwatch_api.ingest.arrivals import arrivals_of, build_coverage, mask_dead_letters, mask_topics
from flitwatch_api.ingest.lag import list_topics
from flitwatch_api.parameters import CursorText, Id, Limit, Window, make_cursor, read_page_cursor
from flitwatch_api.people.access import require_access
from flitwatch_api.platform import Reader, ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_db.ingest import reads
from flitwatch_domain.errors import BadRequest, NotFound

http = APIRouter(prefix="/ingest", tags=["ingest"], responses=RESPONSES)

#: Gaps and dead letters listed in the status.
LISTED = 50
LONGEST_COVERAGE_S = 31 * 86_400
OCTETS = "application/octet-stream"


@http.get("/status", response_model=schemas.Status)
async def status(request: Request, platform: ThePlatform, conn: Reader) -> Response:
    """Report arrivals, the writer's lag, and refused records."""
    now = datetime.now(UTC)
    return json_response(
        {
            "now": now,
            "topics": mask_topics(request, await list_topics(conn, platform.log_ends, now)),
            "schemas": await reads.list_schemas(conn),
            "dead_letters": {
                "total": await reads.dead_letter_total(conn),
                "last_hour": await reads.dead_letters_since(conn, now - timedelta(hours=1)),
                "recent": mask_dead_letters(request, await reads.dead_letters(conn, LISTED)),
            },
            "gaps": await reads.list_gaps(conn, LISTED, now),
            "gap_total": await reads.gap_total(conn),
            "silent_devices": await reads.silent_devices(conn, now),
            "silent": await reads.group_silent_devices(conn, now, LISTED),
            "position_age_s": await reads.position_age_s(conn, now),
            "read_only": platform.disk.lack(),
        }
    )


@http.get("/coverage", response_model=schemas.IngestCoverage)
async def coverage(
    conn: Reader,
    span: Annotated[Window, Query(description="Length of the time that ends now, at most 31 days.")] = 3600,
    steps: Annotated[int, Query(ge=1, le=500, description="Largest number of steps.")] = 60,
) -> Response:
    """Report in which steps records of each kind were written."""
    if span > LONGEST_COVERAGE_S:
        raise BadRequest(f"a span of {span} s is too long", advice="Ask for at most 31d.")
    step_s = 60 * math.ceil(span / steps / 60)
    count = math.ceil(span / step_s)
    from_s = (math.floor(time.time() / step_s) - count + 1) * step_s
    return json_response(build_coverage(await reads.count_by_step(conn, from_s, step_s, count), from_s, step_s, count))


@http.get("/arrivals", response_model=schemas.Arrivals)
async def arrivals(request: Request, conn: Reader) -> Response:
    """List all sources with their arrivals and refused records. A null `last_at` means that no data have arrived yet."""
    return json_response(await arrivals_of(request, conn, datetime.now(UTC)))


@http.get("/dead-letters", response_model=schemas.DeadLetterList)
async def dead_letters(request: Request, conn: Reader, limit: Limit = 100, cursor: CursorText = None) -> Response:
    """List records that could not be used, newest first."""
    rows = await reads.dead_letters(conn, limit + 1, read_page_cursor(cursor))
    items = mask_dead_letters(request, rows[:limit])
    following = make_cursor(items[-1].id) if len(rows) > limit else None
    return json_response(build_model(schemas.DeadLetterList, items=items, next_cursor=following))


@http.get(
    "/dead-letters/{number}/raw",
    # Refused accounting lines contain names of people.
    openapi_extra=require_access("operator", "names"),
    response_class=Response,
    responses={
        200: {
            "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}},
            "description": "The first 64 kB of the record.",
        }
    },
)
async def dead_letter_raw(request: Request, conn: Reader, number: Id) -> Response:
    """Return the raw bytes of a record as a download."""
    request.state.saw_names = True
    raw = await reads.dead_letter_raw(conn, number)
    if raw is None:
        raise NotFound(f"there is no dead letter {number}", advice="/api/v1/ingest/dead-letters lists them.")
    headers = {"Content-Disposition": f'attachment; filename="dead-letter-{number}.bin"', "Cache-Control": "no-store"}
    return Response(raw, media_type=OCTETS, headers=headers)
