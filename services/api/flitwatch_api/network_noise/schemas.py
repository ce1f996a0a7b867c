"""Shapes of answers about the network noise of jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field


class NoiseFigure(BaseModel):
    """A figure of a job's network cards."""

    key: Literal["latency_us", "waits"]
    label: str
    unit: str
    mean: float = Field(description="Over the job.")
    quiet: float = Field(description="Lower quartile over the job's windows.")
    dispersion: float = Field(description="Quartile coefficient of dispersion over the windows: (Q3 - Q1) / (Q3 + Q1).")


class Share(BaseModel):
    """Network noise over a time; null: cannot tell, and why."""

    share: float | None = Field(ge=0, le=1)
    of_s: float | None = Field(description="The time that it is a share of.")
    cannot_tell: str | None


class JobNetworkNoise(BaseModel):
    """The network noise of a job, from the counters of its network cards (De Sensi 2019)."""

    job_pk: int
    job_id: str
    verdict: Literal["estimated", "cannot tell", "not computed"] = Field(
        description="`estimated`: seconds are known. `not computed`: the job runs, or ended moments ago."
    )
    computed_at: datetime | None
    fabric_id: int | None
    window_s: int | None
    windows: int = Field(description="Windows with traffic.")
    cards: int
    cards_counted: int
    figures: list[NoiseFigure]
    message_dispersion: float | None = Field(description="Of the modelled time of a message of 64 KiB.")
    noise_s: float | None = Field(
        description="Modelled seconds of sending beyond the job's own quiet level, mean over its cards."
    )
    worst_noise_s: float | None = Field(description="The same of the card that has most.")
    of_runtime: Share
    of_slowdown: Share = Field(description="Of the seconds beyond the median of finished jobs of its kind.")
    counters: list[str] = Field(description="Columns of the tables endpoint_* that it was made from.")
    unknown: dict[str, str] = Field(description="Why a figure is unknown.")
    method: str
    simulated: bool
