"""Response models for runs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from flitwatch_api.answers import Page


class Run(BaseModel):
    """One execution of an instrumented application."""

    run_id: int
    run_key: str
    job_id: str | None
    exe: str
    start: datetime | None
    ranks: int = Field(description="Ranks that report.")
    nodes: int = Field(description="Nodes of its job, or the reporting ranks if the job is unknown.")
    steps: int
    time_s: float | None = Field(description="Sum of its steps' times.")
    simulated: bool


class RunList(Page[Run]):
    """A page of runs."""


class RunSteps(BaseModel):
    """Columns with one entry per step."""

    run: Run
    step: list[int]
    time_s: list[float] = Field(description="The slowest rank's time.")
    time_p50_s: list[float | None] = Field(description="The median rank's time.")
    others: int = Field(
        description="Number of other runs of the same application and size, on which the next three are based."
    )
    mean_time_s: list[float | None] | None
    p10_s: list[float | None] | None
    p90_s: list[float | None] | None
    counters: dict[str, list[float | None]] | None = Field(
        description="Counters by vendor's name, summed over ranks; null if not recorded."
    )


#: Limits of one report. Further steps need further requests.
MAX_NODES, MAX_STEPS, MAX_STEP_NUMBER = 20_000, 10_000, 1_000_000
MAX_STEP_S = 366 * 86_400.0


def _check_printable(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("must be printable text without surrounding blanks")
    return text


Word = Annotated[str, AfterValidator(_check_printable)]
RunKey = Annotated[
    Word,
    Field(min_length=8, max_length=200, description="Unique id of the run, so that a repeated request adds nothing."),
]


class _Report(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ReportedStep(_Report):
    """One time step."""

    step: int = Field(ge=0, lt=MAX_STEP_NUMBER)
    time_s: float = Field(
        ge=0, le=MAX_STEP_S, allow_inf_nan=False, description="Its duration, stored to the nanosecond."
    )


def _check_distinct(steps: list[ReportedStep]) -> list[ReportedStep]:
    step_numbers: set[int] = set()
    for step in steps:
        if step.step in step_numbers:
            raise ValueError(f"step {step.step} appears twice")
        step_numbers.add(step.step)
    return steps


ReportedSteps = Annotated[list[ReportedStep], Field(max_length=MAX_STEPS), AfterValidator(_check_distinct)]


class ReportedRun(_Report):
    """A run of any program."""

    key: RunKey
    application: Annotated[Word, Field(min_length=1, max_length=400)]
    job_id: Annotated[Word, Field(min_length=1, max_length=60)] | None = Field(
        default=None, description="Id as the scheduler prints it."
    )
    start: datetime | None = Field(default=None, description="Without a zone: UTC.")
    nodes: list[Annotated[Word, Field(min_length=1, max_length=200)]] = Field(default=[], max_length=MAX_NODES)
    steps: ReportedSteps = []


class MoreSteps(_Report):
    """Further steps of a run."""

    key: RunKey
    steps: Annotated[ReportedSteps, Field(min_length=1)]


class RunReport(BaseModel):
    """Changes made by a report."""

    run_id: int
    created: bool = Field(description="False if the run was reported before.")
    new_steps: int = Field(description="Number of new steps. A repeated step replaces the earlier one.")
