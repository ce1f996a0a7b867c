"""Routes of explanations: of a job, and of the incident on a machine; their response models."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

import psycopg
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from flitwatch_api.answers import build_model, json_response, utc_texts
from flitwatch_api.names import Names, TheNames
from flitwatch_api.parameters import Cluster, JobId, Time
from flitwatch_api.platform import ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_db.fabrics import reads as fabrics
from flitwatch_db.jobs.as_of import job_at
from flitwatch_db.jobs.evidence import load_evidence as read_case
from flitwatch_db.jobs.explanation import explain_by_id
from flitwatch_db.jobs.incident import find_incident as present
from flitwatch_db.jobs.parts import load_parts
from flitwatch_db.jobs.whole import explain_whole
from flitwatch_domain.diagnosis.roots import CongestionRoot
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.explanation.case import render_page
from flitwatch_domain.explanation.result import Explanation, Incident, IncidentSummary, WholeJob


class JobPart(BaseModel):
    """A figure of a job's own parts over time."""

    key: str
    label: str
    unit: str = Field(description="According to the catalogue of counters.")
    values: list[float | None] = Field(description="One value per step; null is unknown.")


class JobCounters(BaseModel):
    """Counters of a job's own network cards and links; figures without a counter are omitted."""

    ts: list[datetime] = Field(description="Start of each step.")
    step_s: int
    parts: list[JobPart]


http = APIRouter(tags=["jobs"], responses=RESPONSES)


@http.get("/jobs/{job_id}/explanation", response_model=Explanation)
async def explanation(
    platform: ThePlatform,
    names: TheNames,
    job_id: JobId,
    cluster: Cluster = None,
    at: Annotated[Time | None, Query(description="Time of the answer (default: now).")] = None,
) -> Response:
    """Explain whether a job is slow, since when, which links and jobs may be the cause, how certain this is, and what would help."""

    job_explanation = await platform.in_thread("reader", lambda conn: explain_by_id(conn, job_id, cluster or None, at))
    return json_response(_mask_explanation(job_explanation, names))


@http.get("/jobs/{job_id}/tasks", response_model=WholeJob)
async def tasks_of_job(
    platform: ThePlatform,
    names: TheNames,
    job_id: JobId,
    cluster: Cluster = None,
    at: Annotated[Time | None, Query(description="Time of the answer (default: now).")] = None,
) -> Response:
    """List the tasks of an array (530 of 530_1), or the components of a heterogeneous job (10 of 10+0), with a summary of their verdicts."""

    made = await platform.in_thread("reader", lambda conn: explain_whole(conn, job_id, cluster or None, at))
    return json_response(names.job(made))


@http.get("/incident", response_model=Incident)
async def incident(
    platform: ThePlatform,
    names: TheNames,
    fabric: Annotated[str, Query(min_length=1, max_length=200, description="Number or name of the machine's fabric.")],
    at: Annotated[Time | None, Query(description="Time of the answer (default: now).")] = None,
) -> Response:
    """Return a machine's current incident: which job slows which others, over which links, since when, and what would help."""
    # Explanations take long, and need their own connection.
    async with platform.reading() as conn:
        fabric_id = (await fabrics.find_fabric_head(conn, fabric)).fabric_id

    present_incident = await platform.in_thread("reader", lambda conn: present(conn, fabric_id, at))
    last = present_incident["last"]
    return json_response(
        {**_mask_summary(present_incident, names), "last": None if last is None else _mask_summary(last, names)}
    )


def _mask_summary(made: IncidentSummary, names: Names) -> IncidentSummary:
    """Return an incident as shown to the caller."""
    return {
        **made,
        "aggressor": None if made["aggressor"] is None else names.job(made["aggressor"]),
        "victims": [names.job(job) for job in made["victims"]],
        "others": [names.job(job) for job in made["others"]],
    }


@http.get(
    "/jobs/{job_id}/case",
    response_class=Response,
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
)
async def case(
    request: Request,
    platform: ThePlatform,
    names: TheNames,
    job_id: JobId,
    cluster: Cluster = None,
    at: Annotated[Time | None, Query(description="Time of the evidence (default: now).")] = None,
) -> Response:
    """Return the evidence of a job as one self-contained HTML page: chain, pictures, figures, method, and limits of the evidence."""

    evidence = await platform.in_thread("reader", lambda conn: read_case(conn, job_id, cluster or None, at))
    page = render_page(
        replace(evidence, made=_mask_explanation(evidence.made, names)), str(request.url), datetime.now(UTC)
    )
    headers = {
        "Content-Disposition": f'attachment; filename="job-{evidence.made["job_pk"]}-evidence.html"',
        "Cache-Control": "no-cache",
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    }
    return Response(page, media_type="text/html; charset=utf-8", headers=headers)


@http.get("/jobs/{job_id}/counters", response_model=JobCounters)
async def counters(
    platform: ThePlatform,
    job_id: JobId,
    cluster: Cluster = None,
    from_: Annotated[Time | None, Query(alias="from", description="Default: the job's start.")] = None,
    to: Annotated[Time | None, Query(description="Default: the job's end, or now.")] = None,
    points: Annotated[int, Query(ge=2, le=1000, description="Largest number of steps.")] = 180,
) -> Response:
    """Return the counters of a job's own network cards and of the links of its routers while it ran."""

    def work(conn: psycopg.Connection[Any]) -> JobCounters:
        now_s = time.time()
        job = job_at(conn, job_id, cluster or None, now_s)
        begin = from_ if from_ is not None else job["start_s"]
        end = to if to is not None else (job["end_s"] if job["end_s"] is not None else now_s)
        if begin is None:
            return build_model(JobCounters, ts=[], step_s=1, parts=[])
        if end <= begin:
            raise BadRequest("the period ends before it starts", advice="`to` must be later than `from`.")
        part_series = load_parts(conn, job["job_pk"], begin, end, points)
        shown = [build_model(JobPart, vars(part)) for part in part_series.parts]
        return build_model(JobCounters, ts=utc_texts(part_series.ts), step_s=part_series.step_s, parts=shown)

    return json_response(await platform.in_thread("reader", work))


def _mask_explanation(made: Explanation, names: Names) -> Explanation:
    """Return an explanation as shown to the caller. Its sentences name jobs by number and no users."""
    root = made["root"]
    fed: CongestionRoot | None = None if root is None else {**root, "jobs": [names.job(job) for job in root["jobs"]]}
    return {**names.job(made), "root": fed, "candidates": [names.job(job) for job in made["candidates"]]}
