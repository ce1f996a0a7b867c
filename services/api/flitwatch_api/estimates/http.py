"""Routes of estimates and forecasts."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from flitwatch_api.answers import json_response
from flitwatch_api.estimates import live, schemas, service
from flitwatch_api.names import TheNames
from flitwatch_api.parameters import MAX_ID, CursorText, Id, JobId, Limit, Text
from flitwatch_api.people.access import made_by
from flitwatch_api.platform import Reader
from flitwatch_api.problems import RESPONSES
from flitwatch_db.fabrics import reads as fabrics

http = APIRouter(tags=["estimates"], responses=RESPONSES)

Exe = Annotated[
    str | None,
    Query(
        max_length=400,
        description="Application (default: that of the newest estimate of recorded runs, then of files).",
    ),
]
Nodes = Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Number of nodes of the application.")]
Number = Annotated[
    int | None, Query(ge=0, le=MAX_ID, description="Estimate to return instead of the newest (/estimates/versions).")
]
Kind = Annotated[Literal["blame", "deviation", "forecast"] | None, Query()]


@http.get("/estimates", response_model=schemas.Applications)
async def estimates(conn: Reader, names: TheNames) -> Response:
    """List instrumented applications, with the state of their estimates."""
    return json_response(await service.list_applications(conn, names))


@http.get("/estimates/versions", response_model=schemas.HeadList)
async def versions(
    conn: Reader,
    names: TheNames,
    kind: Kind = None,
    exe: Exe = None,
    nodes: Nodes = None,
    limit: Limit = 100,
    cursor: CursorText = None,
) -> Response:
    """List all stored estimates, newest first: data, parameters, code version, score."""
    return json_response(await service.list_versions(conn, names, limit, cursor, kind, exe or None, nodes))


@http.get("/estimates/blame", response_model=schemas.Blame)
async def blame(
    request: Request,
    conn: Reader,
    names: TheNames,
    exe: Exe = None,
    nodes: Nodes = None,
    estimate: Number = None,
    by: Annotated[schemas.By, Query(description="List users, or jobs of one name.")] = "user",
    limit: Limit = 100,
    cursor: CursorText = None,
) -> Response:
    """Rank names by how strongly exposure to their jobs coincides with slow runs. Not proof of cause."""
    return json_response(
        await service.load_blame(conn, names, by, exe or None, nodes, estimate, limit, cursor, made_by(request))
    )


@http.get("/estimates/blame/several", response_model=schemas.SeveralSets)
async def blame_several(
    conn: Reader,
    names: TheNames,
    by: Annotated[schemas.By, Query(description="List users, or jobs of one name.")] = "user",
    definition: Annotated[
        Literal["ours", "paper"],
        Query(description="Meaning of found: named, or mutual information beyond chance (the paper's)."),
    ] = "ours",
    least_sets: Annotated[
        int, Query(ge=0, le=1000, description="List names found in at least this many sets; 0 lists all names.")
    ] = 2,
    limit: Limit = 100,
) -> Response:
    """List names that several sets of runs find, over all applications, with the evidence of each. Not proof of cause."""
    return json_response(await service.blame_several(conn, names, by, definition, least_sets, limit))


@http.get("/estimates/blame/{estimate_id}/{by}/{place}", response_model=schemas.BlameDetail)
async def blame_detail(
    request: Request,
    conn: Reader,
    names: TheNames,
    estimate_id: Id,
    by: schemas.By,
    place: Annotated[int, Path(ge=1, le=2**31 - 1)],
) -> Response:
    """Return the runs behind one name: the exposure to it and the time of each run."""
    return json_response(await service.blame_detail(conn, names, estimate_id, by, place, made_by(request)))


@http.get("/estimates/drivers", response_model=schemas.Deviation)
@http.get("/estimates/deviation", response_model=schemas.Deviation, name="deviation", deprecated=True)
async def drivers(
    conn: Reader,
    names: TheNames,
    inputs: Annotated[
        Literal["rates", "deltas"],
        Query(
            description="Counters per second of the step, or as counted over it. The latter is the paper's choice and contains the step's duration."
        ),
    ] = "rates",
) -> Response:
    """Show the relevance of counters by application."""
    return json_response(await service.load_deviation(conn, names, inputs))


@http.get("/estimates/forecast", response_model=schemas.Forecast)
async def forecast(
    conn: Reader, names: TheNames, exe: Exe = None, nodes: Nodes = None, estimate: Number = None
) -> Response:
    """Show backtests by m, k and features, the baselines, the deployed forecaster and its drift."""
    return json_response(await service.load_forecast(conn, names, exe or None, nodes, estimate))


@http.get("/forecasts", response_model=schemas.RunningList)
async def forecasts(conn: Reader, names: TheNames, fabric: Text = None, limit: Limit = 100) -> Response:
    """List running instrumented jobs and their forecasts, the slowest first."""
    fabric_id = None if not fabric else (await fabrics.find_fabric_head(conn, fabric)).fabric_id
    return json_response(await live.list_running_runs(conn, names, limit, fabric_id))


@http.get("/runs/slowest", response_model=schemas.SlowestRuns)
async def slowest_runs(
    conn: Reader,
    names: TheNames,
    fabric: Text = None,
    limit: Annotated[int, Query(ge=1, le=50, description="Largest number of jobs to return.")] = 8,
) -> Response:
    """List running instrumented jobs by the slowdown of their newest steps against earlier runs, with the expected end of each."""
    fabric_id = None if not fabric else (await fabrics.find_fabric_head(conn, fabric)).fabric_id
    return json_response(await live.list_slowest_runs(conn, names, limit, fabric_id))


@http.get("/forecasts/jobs", response_model=schemas.RunningJobList)
async def forecasts_of_jobs(
    conn: Reader,
    names: TheNames,
    fabric: Text = None,
    limit: Annotated[int, Query(ge=1, le=200, description="Largest number of jobs to return.")] = 50,
) -> Response:
    """List running jobs without recorded steps: the expected total time of each, from similar jobs that ran as long."""
    fabric_id = None if not fabric else (await fabrics.find_fabric_head(conn, fabric)).fabric_id
    return json_response(await live.running_jobs(conn, names, limit, fabric_id))


@http.get("/runs/{run_id}/forecast", response_model=schemas.RunForecast)
async def run_forecast(conn: Reader, names: TheNames, run_id: Id) -> Response:
    """Return the steps of a run, the forecast band of the next ones, and earlier forecasts with the actual times."""
    return json_response(await live.run_forecast(conn, names, run_id))


@http.get("/jobs/{job_id}/outlook", response_model=schemas.Outlook)
async def outlook(
    conn: Reader,
    names: TheNames,
    job_id: JobId,
    cluster: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """Describe a job without recorded steps: its time compared with earlier similar jobs, stalls on its routers, and neighbours."""
    return json_response(await live.load_outlook(conn, names, job_id, cluster or None))
