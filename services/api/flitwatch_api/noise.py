"""Routes of network noise and their response models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from flitwatch_api.answers import Items, build_model, json_response
from flitwatch_api.parameters import Limit, Text
from flitwatch_api.platform import Reader
from flitwatch_api.problems import RESPONSES
from flitwatch_api.tasks.begin import sees_tasks_as
from flitwatch_db.runs import noise_bench as reads
from flitwatch_domain.network_noise.observations import NotchedBox, fitted_line, notched_box


class BandPoint(BaseModel):
    """The fitted line at one ratio, with its 95 % interval."""

    ratio: float
    low: float
    fitted: float
    high: float


class Fit(BaseModel):
    """A least-squares line through the slowdowns of a series' splits, as a function of the ratio."""

    network: str
    collective: str
    collective_bytes: int
    perturbation_bytes: int
    world: int
    splits: int
    slope: float = Field(description="Slowdown that a ratio of 1 adds.")
    slope_ci95: tuple[float, float]
    intercept: float
    band: list[BandPoint]


class Measured(BaseModel):
    """A collective under perturbation, measured by the MPI microbenchmark over random splits of its processes."""

    network: str
    collective: str
    collective_bytes: int
    perturbation_bytes: int
    world: int = Field(description="MPI processes.")
    ratio: float = Field(description="Perturbing processes over all processes.")
    splits: int
    late: int = Field(description="Measurements that missed their window and were left out.")
    perturbed_s: float | None
    quiet_s: float | None
    slowdown: float | None = Field(description="Mean over the splits; null if every measurement was late.")
    slowdown_min: float | None
    slowdown_max: float | None
    slowdown_quartiles: list[float] | None
    imported_at: datetime
    perturbed_box: NotchedBox | None = Field(description="null if every measurement was late.")
    quiet_box: NotchedBox | None


class MeasuredList(BaseModel):
    """Measured slowdowns by network, collective, sizes and ratio."""

    items: list[Measured]
    fits: list[Fit] = Field(description="Fits of the series that have three or more splits at two or more ratios.")


class SimulatedPoint(BaseModel):
    """A simulated collective under perturbation: the mean over random mappings."""

    task_id: int
    study: str | None = Field(description="null: a single collective.")
    series: str
    topology: str
    routing: str
    pattern: str
    semantics: str
    endpoints: int
    ratio: float
    runs: int
    slowdown: float
    ci95: list[float] | None
    finished_at: datetime | None


class SimulatedList(Items[SimulatedPoint]):
    """Simulated points, newest tasks first, in each task's own order."""


http = APIRouter(prefix="/noise", tags=["noise"], responses=RESPONSES)


@http.get("/measured", response_model=MeasuredList)
async def measured_noise(conn: Reader, network: Text = None, collective: Text = None, limit: Limit = 1000) -> Response:
    """List the measurements of `flitwatch import noise` by ratio, with a line fitted to each series."""
    rows = await reads.list_measured(conn, limit, network or None, collective or None)
    series = await reads.over_ratios(conn, limit, network or None, collective or None)
    items = [
        {
            **{key: row[key] for key in Measured.model_fields if key in row},
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


def _make_box(five: list[float] | None, measurements: int | None) -> NotchedBox | None:
    return None if not five or not measurements else notched_box(five, measurements)


def _fit_line(row: Mapping[str, Any]) -> Fit | None:
    line = fitted_line(row["ratios"], row["slowdowns"])
    if line is None:
        return None
    names = ("network", "collective", "collective_bytes", "perturbation_bytes", "world")
    return Fit(
        **{key: row[key] for key in names},
        splits=line.points,
        slope=line.slope,
        slope_ci95=line.slope_ci95,
        intercept=line.intercept,
        band=[BandPoint(ratio=ratio, low=low, fitted=fitted, high=high) for ratio, low, fitted, high in line.band],
    )


@http.get("/simulated", response_model=SimulatedList)
async def simulated_noise(
    request: Request,
    conn: Reader,
    tasks: Annotated[int, Query(ge=1, le=50, description="Number of newest tasks with simulated collectives.")] = 10,
) -> Response:
    """List simulated slowdowns of tasks, for comparison with the measured ones."""
    task_rows = await reads.list_simulated(conn, tasks, sees_tasks_as(request))
    return json_response(
        build_model(SimulatedList, items=[point for task in task_rows for point in _simulated_points(task)])
    )


def _simulated_points(task: Mapping[str, Any]) -> Iterator[SimulatedPoint]:
    result = task["result"]
    study = result.get("study")
    for point in result["points"] if study else [result]:
        yield build_model(
            SimulatedPoint,
            task_id=task["task_id"],
            study=study,
            series=point.get("series", point["topology"]),
            **{key: point[key] for key in ("topology", "routing", "pattern", "semantics", "ratio", "runs")},
            endpoints=point["endpoints"],
            slowdown=point["slowdown"]["mean"],
            ci95=point["slowdown"]["ci95"],
            finished_at=task["finished_at"],
        )
