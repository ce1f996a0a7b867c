"""Routes of stored advice: forwarding tables, routing modes and placements. The former name, recommendations, is deprecated."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from flitwatch_api.answers import Page, build_model, json_response
from flitwatch_api.names import Names, TheNames, replace_names
from flitwatch_api.parameters import CursorText, Id, Limit, Text, make_cursor, read_page_cursor
from flitwatch_api.people.access import made_by, require_access
from flitwatch_api.platform import Reader
from flitwatch_api.problems import RESPONSES
from flitwatch_db.estimates import recommendations as reads
from flitwatch_domain.errors import NotFound


class RecommendationGain(BaseModel):
    """Expected speed-up: time before divided by time after."""

    factor: float
    low: float | None
    high: float | None
    level: float
    runs: int = Field(description="Simulated pairs, or comparable runs.")
    basis: str = Field(description="Basis of the comparison.")


class Recommendation(BaseModel):
    """Result of the loop or the routing advice: found, recommended or refused."""

    recommendation_id: int
    kind: Literal["routes", "routing_mode", "placement"]
    state: Literal["recommended", "refused"]
    created: datetime
    task_id: int | None
    fabric_id: int | None
    fabric: str | None
    job_id: str | None
    user: str | None
    application: str | None
    title: str
    reason: str
    gain: RecommendationGain | None
    environment: str | None = Field(description="Line for the job's environment, such as MPICH_GNI_ROUTING_MODE=...")
    has_lfts: bool
    has_matrix: bool
    has_links: bool
    simulated: bool
    created_by: str | None = Field(description="Author of its task; null: unknown.")
    authorised: bool = Field(
        description="Whether its author may change advice for the site. Otherwise it is only a what-if."
    )
    figures: Literal["given", "simulated", "counted"] = Field(
        description="Source of its figures: observations from its author, a simulation, or counters in the database."
    )


class RecommendationList(Page[Recommendation]):
    """A page of recommendations."""


class Alternative(BaseModel):
    """An alternative that was compared."""

    label: str
    time_s: float | None


class Reconstruction(BaseModel):
    """Reconstruction of the traffic matrix."""

    basis: str
    relative_error: float | None = Field(description="Known only for simulated traffic.")
    estimated_error: float | None
    residual: float | None
    iterations: int | None
    converged: bool | None
    wall_s: float | None


class Tables(BaseModel):
    """Quality of the forwarding tables, and their changes."""

    true_gap: float | None
    ftree_gap: float | None
    z_ar_bytes: float | None
    entries_changed: int | None
    entries: int | None


class RecommendationDetail(Recommendation):
    """A recommendation with its evidence."""

    why: list[reads.RecommendationReason]
    before: reads.RouteOutcome | None
    after: reads.RouteOutcome | None
    alternatives: list[Alternative]
    reconstruction: Reconstruction | None
    routes: Tables | None
    parameters: dict[str, Any]


class TrafficMatrix(BaseModel):
    """Bytes from sender (column) to receiver (row); null if unknown or not asked for."""

    by: Literal["router", "group"]
    labels: list[str]
    true: list[list[float | None]] | None
    reconstructed: list[list[float | None]] | None
    difference: list[list[float | None]] | None


class Carried(BaseModel):
    """Traffic carried, by link."""

    traffic_bytes: list[float | None]
    congested: list[float | None] = Field(description="Congested fraction, 0 to 1.")


class BeforeAfterLinks(BaseModel):
    """Inter-switch links of the simulated fabric before and after, by column."""

    link: list[int]
    src: list[int]
    dst: list[int]
    class_: list[str] = Field(alias="class")
    router: list[int]
    name: list[str]
    level: list[int | None]
    group: list[int | None]
    nodes: list[int]
    before: Carried
    after: Carried


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


@http.get("/advice", response_model=RecommendationList, name="stored_advice")
@http.get("/recommendations", response_model=RecommendationList, deprecated=True)
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
    items = [build_model(Recommendation, _mask_row(row, names, request)) for row in rows[:limit]]
    following = make_cursor(items[-1].recommendation_id) if len(rows) > limit else None
    return json_response(build_model(RecommendationList, items=items, next_cursor=following))


@http.get("/advice/{recommendation_id}", response_model=RecommendationDetail, name="one_advice")
@http.get("/recommendations/{recommendation_id}", response_model=RecommendationDetail, deprecated=True)
async def recommendation(request: Request, conn: Reader, names: TheNames, recommendation_id: Id) -> Response:
    """Return one recommendation with its evidence."""
    row = await reads.find_recommendation(conn, recommendation_id, _visible_author(request))
    if row is None:
        raise _missing_error(recommendation_id)
    return json_response(build_model(RecommendationDetail, _mask_row(row, names, request)))


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


@http.get("/advice/{recommendation_id}/matrix", response_model=TrafficMatrix, name="advice_matrix")
@http.get(
    "/recommendations/{recommendation_id}/matrix",
    response_model=TrafficMatrix,
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


@http.get("/advice/{recommendation_id}/links", response_model=BeforeAfterLinks, name="advice_links")
@http.get(
    "/recommendations/{recommendation_id}/links",
    response_model=BeforeAfterLinks,
    name="recommendation_links",
    deprecated=True,
)
async def links(request: Request, conn: Reader, recommendation_id: Id) -> Response:
    """Return the links between switches before and after, for the plots."""
    content = await reads.read_part(conn, recommendation_id, "links", _visible_author(request))
    if content is None:
        raise _missing_error(recommendation_id, "links")
    return Response(content, media_type="application/json", headers={"Cache-Control": "no-cache"})
