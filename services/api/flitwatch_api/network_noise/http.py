"""The route of a job's network noise."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from flitwatch_api.answers import answer
from flitwatch_api.network_noise import service
from flitwatch_api.network_noise.schemas import JobNetworkNoise
from flitwatch_api.platform import Reader
from flitwatch_api.problems import RESPONSES

http = APIRouter(tags=["jobs"], responses=RESPONSES)


@http.get("/jobs/{job_id}/network-noise", response_model=JobNetworkNoise)
async def network_noise(
    conn: Reader,
    job_id: Annotated[str, Path(min_length=1, max_length=60, description="As the scheduler prints it: 42, 3_4, 10+1.")],
    cluster: Annotated[
        str | None, Query(max_length=200, description="Where several clusters use the same id; else the newest.")
    ] = None,
) -> Response:
    """How much longer a job's network cards took to send than in its own quiet times, and the share of that in its slowdown."""
    return answer(await service.of_job(conn, job_id, cluster or None, datetime.now(UTC)))
