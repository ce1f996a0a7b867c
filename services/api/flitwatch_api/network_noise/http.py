"""Routes of network noise: of a job, and of two sets of runs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
from fastapi import APIRouter
from fastapi.responses import Response

from flitwatch_api.answers import json_response
from flitwatch_api.names import TheNames
from flitwatch_api.network_noise import service
from flitwatch_api.network_noise.service import JobNetworkNoise, NoiseComparison, NoiseQuestion
from flitwatch_api.parameters import Cluster, JobId
from flitwatch_api.people.access import require_access
from flitwatch_api.platform import Reader, ThePlatform
from flitwatch_api.problems import RESPONSES

http = APIRouter(tags=["jobs"], responses=RESPONSES)


@http.get("/jobs/{job_id}/network-noise", response_model=JobNetworkNoise)
async def network_noise(
    conn: Reader,
    job_id: JobId,
    cluster: Cluster = None,
) -> Response:
    """Estimate how much longer a job's network cards took to send than in its own quiet times, and the share of that in its slowdown."""
    return json_response(await service.of_job(conn, job_id, cluster or None, datetime.now(UTC)))


@http.post(
    "/network-noise/compare",
    response_model=NoiseComparison,
    openapi_extra=require_access("viewer", "read", changes=False),
)
async def compare_network_noise(platform: ThePlatform, names: TheNames, asked: NoiseQuestion) -> Response:
    """Compare whether messages took longer in one set of runs than in another, within the limits of published guidelines."""

    def work(conn: psycopg.Connection[Any]) -> NoiseComparison:
        return service.of_sets(conn, asked, names.pseudonyms)

    return json_response(await platform.in_thread("reader", work), "no-store")
