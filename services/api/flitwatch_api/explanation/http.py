"""The route of explanations."""

from __future__ import annotations

from typing import Annotated, Any

import psycopg
from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from flitwatch_api.answers import answer
from flitwatch_api.explanation import schemas
from flitwatch_api.names import Names, TheNames
from flitwatch_api.parameters import Time
from flitwatch_api.platform import ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_db.core.connection import limit_statements
from flitwatch_db.jobs.explanation import explain

http = APIRouter(tags=["jobs"], responses=RESPONSES)


@http.get("/jobs/{job_id}/explanation", response_model=schemas.Explanation)
async def explanation(
    platform: ThePlatform,
    names: TheNames,
    job_id: Annotated[str, Path(min_length=1, max_length=60, description="As the scheduler prints it: 42, 3_4, 10+1.")],
    cluster: Annotated[
        str | None, Query(max_length=200, description="Where several clusters use the same id; else the newest.")
    ] = None,
    at: Annotated[Time | None, Query(description="The answer of this moment; without it, of now.")] = None,
) -> Response:
    """Whether a job is slow, since when, which links carry it, who may be behind it, how sure that is, and what would help."""

    def work(conn: psycopg.Connection[Any]) -> dict[str, Any]:
        limit_statements(conn, platform.settings.api_statement_timeout_ms)
        return explain(conn, job_id, cluster or None, at)

    return answer(shown(await platform.in_thread("reader", work), names))


def shown(made: dict[str, Any], names: Names) -> dict[str, Any]:
    """An explanation as the caller may see it; its sentences name jobs by number and nobody by name."""
    return {**names.job(made), "candidates": [names.job(one) for one in made["candidates"]]}
