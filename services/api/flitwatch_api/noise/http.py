"""Routes of network noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from flitwatch_api.answers import build_model, json_response
from flitwatch_api.noise import schemas
from flitwatch_api.parameters import Limit, Text
from flitwatch_api.platform import Reader
from flitwatch_api.problems import RESPONSES
from flitwatch_api.tasks.begin import sees_tasks_as
from flitwatch_db.runs import noise_reads as reads
from flitwatch_domain.network_noise.collectives import fitted_line, notched_box

http = APIRouter(prefix="/noise", tags=["noise"], responses=RESPONSES)


@http.get("/measured", response_model=schemas.MeasuredList)
async def measured_noise(conn: Reader, network: Text = None, collective: Text = None, limit: Limit = 1000) -> Response:
    """List the measurements of `flitwatch import noise` by ratio, with a line fitted to each series."""
    rows = await reads.list_measured(conn, limit, network or None, collective or None)
    series = await reads.over_ratios(conn, limit, network or None, collective or None)
    items = [
        {
            **{key: row[key] for key in schemas.Measured.model_fields if key in row},
            **{
                f"{kind}_box": _make_box(row[f"{kind}_five"], row[f"{kind}_measurements"])
                for kind in ("perturbed", "quiet")
            },
        }
        for row in rows
    ]
    return json_response(
        {"items": items, "fits": [fit for series_row in series if (fit := _fit_line(series_row)) is not None]}
    )


def _make_box(five: list[float] | None, measurements: int | None) -> schemas.NotchedBox | None:
    return None if not five or not measurements else schemas.NotchedBox(**asdict(notched_box(five, measurements)))


def _fit_line(row: Mapping[str, Any]) -> schemas.Fit | None:
    line = fitted_line(row["ratios"], row["slowdowns"])
    if line is None:
        return None
    names = ("network", "collective", "collective_bytes", "perturbation_bytes", "world")
    return schemas.Fit(
        **{key: row[key] for key in names},
        splits=line.points,
        slope=line.slope,
        slope_ci95=line.slope_ci95,
        intercept=line.intercept,
        band=[
            schemas.BandPoint(ratio=ratio, low=low, fitted=fitted, high=high) for ratio, low, fitted, high in line.band
        ],
    )


@http.get("/simulated", response_model=schemas.SimulatedList)
async def simulated_noise(
    request: Request,
    conn: Reader,
    tasks: Annotated[int, Query(ge=1, le=50, description="Number of newest tasks with simulated collectives.")] = 10,
) -> Response:
    """List simulated slowdowns of tasks, for comparison with the measured ones."""
    task_rows = await reads.list_simulated(conn, tasks, sees_tasks_as(request))
    return json_response(
        build_model(schemas.SimulatedList, items=[point for task in task_rows for point in _simulated_points(task)])
    )


def _simulated_points(task: Mapping[str, Any]) -> Iterator[schemas.SimulatedPoint]:
    result = task["result"]
    study = result.get("study")
    for point in result["points"] if study else [result]:
        yield build_model(
            schemas.SimulatedPoint,
            task_id=task["task_id"],
            study=study,
            series=point.get("series", point["topology"]),
            **{key: point[key] for key in ("topology", "routing", "pattern", "semantics", "ratio", "runs")},
            endpoints=point["endpoints"],
            slowdown=point["slowdown"]["mean"],
            ci95=point["slowdown"]["ci95"],
            finished_at=task["finished_at"],
        )
