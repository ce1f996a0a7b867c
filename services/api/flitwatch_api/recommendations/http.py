"""Routes of stored advice: forwarding tables, routing modes and placements. The former name, recommendations, is deprecated."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from flitwatch_api.answers import build_model, json_response
from flitwatch_api.names import Names, TheNames, replace_names
from flitwatch_api.parameters import CursorText, Id, Limit, Text, make_cursor, read_page_cursor
from flitwatch_api.people.access import made_by, require_access
from flitwatch_api.platform import Reader
from flitwatch_api.problems import RESPONSES
from flitwatch_api.recommendations import schemas
from flitwatch_db.estimates import recommendation_reads as reads
from flitwatch_domain.errors import NotFound

http = APIRouter(tags=["recommendations"], responses=RESPONSES)

#: Fields with free text; the others are figures and fixed words.
_TEXTS = frozenset({"title", "reason", "gain", "why", "before", "after", "alternatives", "parameters"})
#: OpenAPI description of the forwarding tables' response.
_TABLES: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
_MATRICES = ("true", "reconstructed", "difference")


#: Replacements in texts for names that only an author wrote.
_A_USER, _AN_APPLICATION = "a user", "an application"


def _mask_row(row: reads.Row, names: Names, request: Request) -> reads.Row:
    """Return a row with names as shown to the caller, also in its texts: titles contain the application with its path.

    A name that no job or run has is its author's text. It is shown unchanged to the author, and hidden from others; it gets no pseudonym.
    """
    user, application, by = row["user"], row["application"], row["created_by"]
    known_user, known_application = row.pop("user_known"), row.pop("application_known")
    if not names.pseudonyms:
        return row
    own = by == made_by(request)
    row["created_by"] = None if by is None else names.author(by)
    if not own:
        row["user"] = names.user(user) if user is not None and known_user else None
        row["application"] = names.path(application) if application is not None and known_application else None
        for part in _TEXTS & row.keys():
            row[part] = replace_names(
                row[part], ((application, row["application"] or _AN_APPLICATION), (user, row["user"] or _A_USER))
            )
    return row


def _visible_author(request: Request) -> str | None:
    """Return the author whose what-ifs the caller may see; None: all authors."""
    return None if "operate" in request.state.caller.scopes else made_by(request)


def _missing_error(number: int, what: str = "") -> NotFound:
    message = f"recommendation {number} has no {what}" if what else f"there is no recommendation {number}"
    return NotFound(message, advice="/api/v1/advice lists them.")


@http.get("/advice", response_model=schemas.RecommendationList, name="stored_advice")
@http.get("/recommendations", response_model=schemas.RecommendationList, deprecated=True)
async def recommendations(
    request: Request,
    conn: Reader,
    names: TheNames,
    kind: Annotated[Literal["routes", "routing_mode", "placement"] | None, Query()] = None,
    state: Annotated[Literal["recommended", "refused"] | None, Query()] = None,
    fabric: Text = None,
    job: Text = None,
    limit: Limit = 100,
    cursor: CursorText = None,
) -> Response:
    """List the advice of the loop and of routing modes, newest first, and the caller's own what-ifs."""
    before = read_page_cursor(cursor)
    rows = await reads.list_recommendations(
        conn, limit + 1, before, kind, state, fabric or None, job or None, made_by(request)
    )
    items = [build_model(schemas.Recommendation, _mask_row(row, names, request)) for row in rows[:limit]]
    following = make_cursor(items[-1].recommendation_id) if len(rows) > limit else None
    return json_response(build_model(schemas.RecommendationList, items=items, next_cursor=following))


@http.get("/advice/{recommendation_id}", response_model=schemas.RecommendationDetail, name="one_advice")
@http.get("/recommendations/{recommendation_id}", response_model=schemas.RecommendationDetail, deprecated=True)
async def recommendation(request: Request, conn: Reader, names: TheNames, recommendation_id: Id) -> Response:
    """Return one recommendation with its evidence."""
    row = await reads.find_recommendation(conn, recommendation_id, _visible_author(request))
    if row is None:
        raise _missing_error(recommendation_id)
    return json_response(build_model(schemas.RecommendationDetail, _mask_row(row, names, request)))


@http.get(
    "/advice/{recommendation_id}/lfts",
    name="advice_lfts",
    openapi_extra=require_access("operator", "operate"),
    response_class=Response,
    responses=_TABLES,
)
@http.get(
    "/recommendations/{recommendation_id}/lfts",
    name="recommendation_lfts",
    openapi_extra=require_access("operator", "operate"),
    response_class=Response,
    responses=_TABLES,
    deprecated=True,
)
async def lfts(request: Request, conn: Reader, recommendation_id: Id) -> Response:
    """Return the forwarding tables in the format of OpenSM's file engine."""
    content = await reads.read_part(conn, recommendation_id, "lfts", _visible_author(request))
    if content is None:
        raise _missing_error(recommendation_id, "forwarding tables")
    headers = {
        "Content-Disposition": f'attachment; filename="recommendation-{recommendation_id}.lfts"',
        "Cache-Control": "no-cache",
    }
    return Response(content, media_type="text/plain; charset=utf-8", headers=headers)


@http.get("/advice/{recommendation_id}/matrix", response_model=schemas.TrafficMatrix, name="advice_matrix")
@http.get(
    "/recommendations/{recommendation_id}/matrix",
    response_model=schemas.TrafficMatrix,
    name="recommendation_matrix",
    deprecated=True,
)
async def matrix(
    request: Request,
    conn: Reader,
    recommendation_id: Id,
    by: Literal["router", "group"] = "router",
    of: Annotated[Literal["true", "reconstructed", "difference"] | None, Query()] = None,
) -> Response:
    """Return the communication matrix by router or group: true (only for simulated traffic), reconstructed, or their difference."""
    part: Literal["matrix_router", "matrix_group"] = "matrix_router" if by == "router" else "matrix_group"
    content = await reads.read_part(conn, recommendation_id, part, _visible_author(request))
    if content is None:
        raise _missing_error(recommendation_id, "matrix")
    matrices = orjson.loads(content)
    left_out = {} if of is None else {name: None for name in _MATRICES if name != of}
    return json_response({**matrices, **left_out})


@http.get("/advice/{recommendation_id}/links", response_model=schemas.BeforeAfterLinks, name="advice_links")
@http.get(
    "/recommendations/{recommendation_id}/links",
    response_model=schemas.BeforeAfterLinks,
    name="recommendation_links",
    deprecated=True,
)
async def links(request: Request, conn: Reader, recommendation_id: Id) -> Response:
    """Return the links between switches before and after, for the plots."""
    content = await reads.read_part(conn, recommendation_id, "links", _visible_author(request))
    if content is None:
        raise _missing_error(recommendation_id, "links")
    return Response(content, media_type="application/json", headers={"Cache-Control": "no-cache"})
