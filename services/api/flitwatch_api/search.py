"""Route and response models of the search."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from flitwatch_api.answers import Items, json_response
from flitwatch_api.names import HITS_OF_PEOPLE, TheNames
from flitwatch_api.platform import Reader
from flitwatch_api.problems import RESPONSES
from flitwatch_db.jobs.reads import find_hits as find


class Hit(BaseModel):
    """A search hit."""

    kind: str = Field(description="job, incident, router, node, user or fabric")
    id: str
    title: str
    detail: str | None
    href: str = Field(description="Path of its page.")


class Hits(Items[Hit]):
    """Search hits, exact hits first."""


http = APIRouter(tags=["search"], responses=RESPONSES)

EACH = 8
MOST = 25


def _hit_address(hit: dict[str, Any]) -> str:
    name = quote(hit["id"], safe="")
    match hit["kind"]:
        case "job":
            return f"/jobs/{name}"
        case "incident":
            return f"/incidents/{name}"
        case "user":
            return f"/jobs?user={name}"
        case "router":
            return f"/fabric/{hit['fabric']}?router={name}"
        case "node":
            return f"/fabric/{hit['fabric']}?router={hit['router']}"
        case _:
            return f"/fabric/{name}"


@http.get("/search", response_model=Hits)
async def search(
    conn: Reader,
    names: TheNames,
    q: Annotated[str, Query(min_length=1, max_length=200, description="Part of a name or id.")],
) -> Response:
    """Search jobs, incidents, users, fabrics, routers and nodes by part of their name."""
    hits = await find(conn, q.strip(), EACH, names.for_database()) if q.strip() else []
    if names.hides_jobs:
        hits = [hit for hit in hits if hit["kind"] not in HITS_OF_PEOPLE]
    items = [
        {key: hit[key] for key in ("kind", "id", "title", "detail")} | {"href": _hit_address(hit)}
        for hit in hits[:MOST]
    ]
    return json_response({"items": items})
