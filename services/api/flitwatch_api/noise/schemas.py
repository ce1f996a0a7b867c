"""Response models for network noise."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field


class NotchedBox(BaseModel):
    """Seconds of all single measurements: extremes, quartiles, median."""

    least: float
    q1: float
    median: float
    q3: float
    most: float
    notch: tuple[float, float] = Field(
        description="95 % interval of the median: medians whose notches do not overlap differ."
    )
    measurements: int


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


class SimulatedList(BaseModel):
    """Simulated points, newest tasks first, in each task's own order."""

    items: list[SimulatedPoint]
