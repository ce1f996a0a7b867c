"""Health of the process, and its figures."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel

from flitwatch_api.answers import answer
from flitwatch_api.health.metrics import MEDIA_TYPE, Metrics
from flitwatch_api.people.browsers import address_of
from flitwatch_api.platform import ThePlatform
from flitwatch_api.problems import MEDIA_TYPE as PROBLEM
from flitwatch_api.problems import Problem
from flitwatch_db.migrations.health import missing_migrations
from flitwatch_domain.errors import Unavailable

http = APIRouter(tags=["health"])

_UNREADY: dict[int | str, dict[str, Any]] = {
    503: {
        "model": Problem,
        "description": "Not ready",
        "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}


class Health(BaseModel):
    """A check that passed."""

    status: str


@http.get("/healthz", response_model=Health)
async def healthz() -> Response:
    """The process is up."""
    return answer({"status": "up"}, "no-store")


async def _counted(request: Request) -> None:
    """Whoever asks for what costs a query takes from the bucket of their address, as everywhere."""
    request.app.state.callers.count(None, address_of(request))


@http.get("/readyz", response_model=Health, responses=_UNREADY, dependencies=[Depends(_counted)])
async def readyz(platform: ThePlatform) -> Response:
    """The database answers and its tables are of this version."""
    async with platform.reading() as conn:
        missing = await missing_migrations(conn)
    if missing:
        raise Unavailable(
            f"the database lacks {len(missing)} migrations, the first is {missing[0]}",
            advice="Run `flitwatch db migrate`.",
        )
    return answer({"status": "ready"}, "no-store")


@http.get(
    "/metrics",
    dependencies=[Depends(_counted)],
    response_class=Response,
    responses={
        200: {
            "content": {"application/openmetrics-text": {"schema": {"type": "string"}}},
            "description": "OpenMetrics.",
        }
    },
)
async def metrics(request: Request, platform: ThePlatform) -> Response:
    """Figures of this process and of ingest, for Prometheus."""
    held: Metrics = request.app.state.metrics
    return Response(await held.render(platform), headers={"Content-Type": MEDIA_TYPE, "Cache-Control": "no-store"})
