"""Response models for the network noise of jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from flitwatch_api.parameters import Time


class NoiseFigure(BaseModel):
    """A figure of a job's network cards."""

    key: Literal["latency_us", "waits"]
    label: str
    unit: str
    mean: float = Field(description="Mean over the job.")
    quiet: float = Field(description="Lower quartile over the job's windows.")
    dispersion: float = Field(description="Quartile coefficient of dispersion over the windows: (Q3 - Q1) / (Q3 + Q1).")


class Share(BaseModel):
    """Network noise over a period; null means "cannot tell", with the reason."""

    share: float | None = Field(ge=0, le=1)
    of_s: float | None = Field(description="Time to which the share refers.")
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
    message_dispersion: float | None = Field(description="Dispersion of the modelled time of a message of 64 KiB.")
    noise_s: float | None = Field(
        description="Modelled seconds of sending beyond the job's own quiet level, mean over its NICs."
    )
    worst_noise_s: float | None = Field(description="The same for the NIC with the largest value.")
    of_runtime: Share
    of_slowdown: Share = Field(description="Share of the seconds beyond the median of similar finished jobs.")
    counters: list[str] = Field(description="Columns of the tables endpoint_* that it uses.")
    unknown: dict[str, str] = Field(description="Why a figure is unknown.")
    method: str
    simulated: bool


class NoiseSet(BaseModel):
    """One of two sets: runs or jobs by number, or the newest runs of an application in a period."""

    model_config = ConfigDict(extra="forbid")

    runs: list[Annotated[int, Field(ge=1, le=2**63 - 1)]] = Field(default=[], max_length=100)
    jobs: list[Annotated[str, StringConstraints(min_length=1, max_length=60)]] = Field(
        default=[], max_length=100, description="Ids as the scheduler prints them. Each job is one observation."
    )
    application: Annotated[str, StringConstraints(min_length=1, max_length=400)] | None = Field(
        default=None, description="Name of the application, as in instrumented runs."
    )
    since: Time | None = Field(default=None, description="With `application`: runs that started at or after this time.")
    until: Time | None = Field(default=None, description="With `application`: runs that started before this time.")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        named = bool(self.runs or self.jobs)
        if named == (self.application is not None):
            raise ValueError("name runs or jobs, or an application")
        if named and (self.since is not None or self.until is not None):
            raise ValueError("a period requires an application")
        return self


class NoiseQuestion(BaseModel):
    """Two sets to compare, and the message size for the modelled time."""

    model_config = ConfigDict(extra="forbid")

    first: NoiseSet
    second: NoiseSet
    message_bytes: int = Field(default=65_536, ge=1, le=2**40, strict=True)


class ComparedGuideline(BaseModel):
    """A published guideline for comparisons."""

    number: Literal[1, 2, 3]
    holds: bool | None = Field(description="null: it could not be checked.")
    text: str


class ComparedFigure(BaseModel):
    """A figure of both sets within their common allocations; null means "cannot tell"."""

    key: Literal["latency_cycles", "stalls_per_flit", "flits_per_s", "message_s"]
    unit: str
    first: float | None
    second: float | None
    ratio: float | None = Field(description="Ratio of the second to the first.")
    low: float | None = Field(description="95 % interval of the ratio.")
    high: float | None
    verdict: Literal["higher", "lower", "cannot tell"]


class NoiseDispersion(BaseModel):
    """Quartile coefficients of dispersion within the set's largest allocation; null below four observations."""

    measured: float | None = Field(description="Dispersion of the run times, including effects other than the network.")
    network: float | None = Field(description="Dispersion of the message times predicted from latency and stalls.")
    latency: float | None


class LeftOut(BaseModel):
    """A member of a set without an observation, with the reason."""

    number: str
    why: str


class ComparedSet(BaseModel):
    """Contents of a set."""

    observations: int
    shared: int = Field(description="Number in allocations that both sets have; only these are compared.")
    dispersion: NoiseDispersion
    left_out: list[LeftOut]


class NoiseComparison(BaseModel):
    """Two sets of runs by the counters of their network cards (De Sensi 2019, section 3)."""

    verdict: Literal["higher", "lower", "cannot tell"] = Field(
        description="Ratio of the second set's modelled message time to the first's."
    )
    why: str
    guidelines: list[ComparedGuideline]
    figures: list[ComparedFigure]
    first: ComparedSet
    second: ComparedSet
    message_bytes: int
    simulated: bool
