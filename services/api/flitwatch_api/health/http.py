"""Health and metrics of the process."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from flitwatch_api.answers import json_response
from flitwatch_api.health.metrics import Metrics
from flitwatch_api.names import hides_jobs
from flitwatch_api.people.access import check_access, requirement_of
from flitwatch_api.people.login_limiter import network_of
from flitwatch_api.platform import ThePlatform
from flitwatch_api.problems import MEDIA_TYPE as PROBLEM
from flitwatch_api.problems import Problem
from flitwatch_domain.access import Caller
from flitwatch_domain.errors import Forbidden, Unauthenticated, Unavailable

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


class Ready(Health):
    """The service answers requests."""

    read_only: str | None = Field(description="Why nothing new is stored at present; null: new data are stored.")


@http.get("/healthz", response_model=Health)
async def healthz() -> Response:
    """Report that the process is running."""
    return json_response({"status": "up"}, "no-store")


async def _count_request(request: Request) -> None:
    """Count a request that costs a query against its address's rate limit."""
    request.app.state.callers.count(None, network_of(request))


@http.get("/readyz", response_model=Ready, responses=_UNREADY, dependencies=[Depends(_count_request)])
async def readyz(platform: ThePlatform) -> Response:
    """Report that the database answers and that this version can use its schema. `read_only` shows that the disk is nearly full; stored data can
    still be read."""
    await platform.readiness.check()
    return json_response({"status": "ready", "read_only": platform.disk.lack()}, "no-store")


@http.get(
    "/metrics",
    dependencies=[Depends(_count_request)],
    response_class=Response,
    responses={
        200: {
            "content": {
                "application/openmetrics-text": {"schema": {"type": "string"}},
                "text/plain": {"schema": {"type": "string"}},
            },
            "description": "OpenMetrics, or the Prometheus text format if only that is accepted.",
        }
    },
)
async def metrics(request: Request, platform: ThePlatform) -> Response:
    """Return metrics of this process and of ingest for Prometheus. Callers who may view also get the newest findings: stalls, gaps, predicted
    slowdowns, firing alerts."""
    api_metrics: Metrics = request.app.state.metrics
    caller = await _find_viewer(request)
    jobs = caller is not None and not hides_jobs(platform.settings, caller)
    body, media_type = await api_metrics.render(platform, request.headers.get("accept", ""), caller is not None, jobs)
    return Response(body, headers={"Content-Type": media_type, "Cache-Control": "no-store"})


async def _find_viewer(request: Request) -> Caller | None:
    """Return the caller if they may view, or None if they may not or the check is currently impossible."""
    try:
        caller: Caller | None = await request.app.state.callers.of(request)
        check_access(caller, requirement_of({"GET"}, None))
    except (Forbidden, Unauthenticated, Unavailable):
        return None
    return caller
