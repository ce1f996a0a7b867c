"""Routes of runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from flitwatch_api.answers import build_model, json_response
from flitwatch_api.counters.windows import MAX_VALUES, check_limit
from flitwatch_api.jobs.service import run_item
from flitwatch_api.names import TheNames
from flitwatch_api.parameters import LATEST_S, CursorText, Id, Limit, make_cursor, read_page_cursor
from flitwatch_api.people.access import require_access
from flitwatch_api.platform import Reader, ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_api.runs import schemas
from flitwatch_db.runs import reads, reported
from flitwatch_domain.access import Caller
from flitwatch_domain.errors import BadRequest, NotFound
from flitwatch_domain.runs import Run, RunStep

http = APIRouter(prefix="/runs", tags=["runs"], responses=RESPONSES)


@http.get("", response_model=schemas.RunList)
async def runs(
    conn: Reader,
    names: TheNames,
    job: Annotated[str | None, Query(max_length=60, description="Runs of this job.")] = None,
    exe: Annotated[str | None, Query(max_length=400, description="Runs of this application.")] = None,
    limit: Limit = 100,
    cursor: CursorText = None,
) -> Response:
    """List runs of instrumented applications, newest first."""
    rows = await reads.list_runs(conn, limit + 1, read_page_cursor(cursor), job or None, exe or None, names.pseudonyms)
    items = [run_item(row, names) for row in rows[:limit]]
    next_cursor = make_cursor(items[-1].run_id) if len(rows) > limit else None
    return json_response(build_model(schemas.RunList, items=items, next_cursor=next_cursor))


@http.get("/{run_id}/steps", response_model=schemas.RunSteps)
async def steps(conn: Reader, seen: TheNames, run_id: Id) -> Response:
    """Return the steps of a run, with the usual times of other runs of the same application."""
    row = await reads.find_run(conn, run_id)
    if row is None:
        raise NotFound(f"there is no run {run_id}", advice="/api/v1/runs lists them.")
    names: list[str] = row["counter_names"]
    check_limit(row["steps"] * (6 + len(names)), MAX_VALUES, "MAX_VALUES", "values in the answer")
    run_steps = await reads.load_steps(conn, run_id, len(names))
    usual = await reads.load_usual_steps(conn, run_id, row["exe"], row["nodes"], row["ranks"], run_steps.step)
    body: dict[str, Any] = {
        "run": run_item(row, seen),
        "step": run_steps.step,
        "time_s": run_steps.time_s,
        "time_p50_s": run_steps.time_p50_s,
    }
    body["others"] = usual[0] if usual else 0
    body["mean_time_s"], body["p10_s"], body["p90_s"] = usual[1:] if usual else (None, None, None)
    sums = run_steps.counters
    body["counters"] = None if sums is None else {name: sums[:, i] for i, name in enumerate(names)}
    return json_response(body)


def _stored_response(made: reported.StoredRun) -> Response:
    report = build_model(schemas.RunReport, run_id=made.run_id, created=made.created, new_steps=made.new_steps)
    if not made.created:
        return json_response(report, "no-store")
    return json_response(report, "no-store", status=201, location=f"/api/v1/runs/{made.run_id}/steps")


@http.post(
    "",
    response_model=schemas.RunReport,
    status_code=201,
    responses={200: {"model": schemas.RunReport, "description": "The run was already reported; new steps were added."}},
    openapi_extra=require_access("user", "runs"),
)
async def report_run(request: Request, platform: ThePlatform, new: schemas.ReportedRun) -> Response:
    """Report a run of any program, with its steps so far. A repeated key identifies the same run."""
    caller = request.state.caller
    request.app.state.callers.count_report(caller)
    run, run_steps = head_of(caller, new), steps_of(new.steps)
    return _stored_response(
        await platform.in_thread("writer", lambda conn: reported.store_report(conn, run, run_steps, owner_of(caller)))
    )


@http.post("/{run_id}/steps", response_model=schemas.RunReport, openapi_extra=require_access("user", "runs"))
async def report_steps(request: Request, platform: ThePlatform, run_id: Id, new: schemas.MoreSteps) -> Response:
    """Add steps to a running run. A repeated step replaces the earlier one."""
    caller = request.state.caller
    request.app.state.callers.count_report(caller)
    key, run_steps = key_of(caller, new.key), steps_of(new.steps)
    return _stored_response(
        await platform.in_thread(
            "writer", lambda conn: reported.append_steps(conn, run_id, key, run_steps, owner_of(caller))
        )
    )


def key_of(caller: Caller, key: str) -> str:
    """Return the stored key. It is specific to the caller, so guessing a key gives no access to imported runs or another account's runs."""
    digest = hashlib.sha256("\0".join((caller.name, key)).encode()).hexdigest()
    return f"reported-{digest[:32]}"


def owner_of(caller: Caller) -> str | None:
    """Return the account whose jobs a caller may report: people only their own, a service all (None)."""
    return None if caller.role == "service" else caller.name


def head_of(caller: Caller, new: schemas.ReportedRun) -> Run:
    """Return the head of a run: one rank per node, or one rank if the nodes are unknown."""
    nodes = tuple(new.nodes) or (None,)
    return Run(
        key_of(caller, new.key),
        new.application,
        new.job_id,
        None if new.start is None else _start_seconds(new.start),
        tuple(range(len(nodes))),
        nodes,
    )


def steps_of(steps: Sequence[schemas.ReportedStep]) -> list[RunStep]:
    """Return steps with the one measured time."""
    return [RunStep(step.step, np.array([round(step.time_s * 1e9)], np.int64)) for step in steps]


def _start_seconds(start: datetime) -> float:
    seconds = (start if start.tzinfo else start.replace(tzinfo=UTC)).timestamp()
    if not 0 <= seconds < LATEST_S:
        raise BadRequest("`start` must be between 1970 and 2106")
    return seconds
