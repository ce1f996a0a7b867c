"""JSON values of docs/contracts/log.md as pydantic models: the formats that collectors may publish."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from flitwatch_domain.errors import BadInput

T = TypeVar("T")

#: Seconds since 1970 UTC, at most in the year 2106.
EpochSeconds = Annotated[float, Field(ge=0, lt=1 << 32, allow_inf_nan=False)]
#: Two values of this length fit into one row of a B-tree index.
INDEXED_BYTES = 1200


def _check_indexable(text: str) -> str:
    if len(text.encode()) > INDEXED_BYTES:
        raise ValueError(f"is longer than {INDEXED_BYTES} bytes")
    return text


Indexed = Annotated[str, AfterValidator(_check_indexable)]
Name = Annotated[Indexed, Field(min_length=1)]
#: Ranges of PostgreSQL's int4 and int8.
Small = Annotated[int, Field(ge=0, lt=1 << 31)]
Nanoseconds = Annotated[int, Field(ge=0, lt=1 << 63)]
#: A name used as a database key or in events: PostgreSQL does not allow NUL.
Key = Annotated[Name, Field(pattern=r"^[^\x00]*$")]


class _Shape(BaseModel):
    """Base of all values. Unknown fields are ignored, so a newer collector can send more."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class JobStepValue(_Shape):
    """A step within a job's record."""

    step: Key
    name: str | None = None
    state: str | None = None
    start: EpochSeconds | None = None
    end: EpochSeconds | None = None
    nodes: Small | None = None
    node_list: str | None = None


class JobValue(_Shape):
    """Job, or one requeue of a job (topic flitwatch.jobs.v1)."""

    cluster: Key
    job_id: Key
    restart: Small = 0
    user: Name | None = None
    account: str | None = None
    name: str | None = None
    partition: str | None = None
    state: Key
    exit_code: str | None = None
    submit: EpochSeconds | None = None
    start: EpochSeconds | None = None
    end: EpochSeconds | None = None
    nodes: Small | None = None
    node_list: str | None = None
    steps: list[JobStepValue] = []
    simulated: bool = False
    limit: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class RankPlace(_Shape):
    """Node on which one rank ran."""

    rank: Small
    node: Name | None = None


class RunValue(_Shape):
    """Header of a run (topic flitwatch.runs.v1)."""

    type: Literal["run"]
    run_key: Key
    job_id: Indexed | None = None
    exe: Name
    start: EpochSeconds | None = None
    ranks: list[RankPlace]
    counters: list[Name] = []
    simulated: bool = False


class StepValue(_Shape):
    """Step of a run: its time by rank and, if measured, its counters as [rank][counter]."""

    type: Literal["step"]
    run_key: Key
    step: Small
    time_ns: Annotated[list[Nanoseconds], Field(min_length=1)]
    values: list[list[int]] | None = None

    @model_validator(mode="after")
    def _fits(self) -> StepValue:
        if self.values is not None:
            if len(self.values) != len(self.time_ns):
                raise ValueError(f"values of {len(self.values)} ranks alongside times of {len(self.time_ns)}")
            if len({len(row) for row in self.values}) > 1:
                raise ValueError("ranks with different numbers of counters")
        return self


_Sum = Annotated[float, Field(ge=-(2.0**53), le=2.0**53, allow_inf_nan=False)]
_Spread = Annotated[float, Field(ge=0, le=1e30, allow_inf_nan=False)]
#: Integers that float8 represents exactly.
_Count = Annotated[int, Field(ge=0, lt=1 << 53)]
_Word = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]


class SampleValue(_Shape):
    """One host's summary of the packets that it sampled in one context and time slice (topic flitwatch.samples.v1)."""

    fabric: _Word
    host: _Word
    job: _Word | None = None
    tag: _Word | None = None
    phase: _Word | None = None
    start: EpochSeconds
    variant: Literal["one-bit", "standard"]
    longest_path: Annotated[int, Field(ge=1, le=16)]
    link: list[Annotated[int, Field(ge=0, lt=1 << 31)]]
    tested: list[_Spread]
    tested_bytes: list[_Spread]
    traffic: list[_Sum]
    traffic_variance: list[_Spread]
    congested: list[_Sum]
    congested_variance: list[_Spread]
    packets: dict[_Word, _Count] = {}
    simulated: bool = False

    @model_validator(mode="after")
    def _fits(self) -> SampleValue:
        columns = (
            self.tested,
            self.tested_bytes,
            self.traffic,
            self.traffic_variance,
            self.congested,
            self.congested_variance,
        )
        if any(len(column) != len(self.link) for column in columns):
            raise ValueError("columns that differ in length from link")
        return self


RunRecord = Annotated[RunValue | StepValue, Field(discriminator="type")]

_RUNS: TypeAdapter[RunValue | StepValue] = TypeAdapter(RunRecord)


def parse_job(value: bytes) -> JobValue:
    """Parse a record of flitwatch.jobs.v1. Raise `BadInput` that names the invalid field."""
    return _parse_value(JobValue.model_validate_json, value)


def parse_run(value: bytes) -> RunValue | StepValue:
    """Parse a record of flitwatch.runs.v1. Raise `BadInput` that names the invalid field."""
    return _parse_value(_RUNS.validate_json, value)


def parse_sample(value: bytes) -> SampleValue:
    """Parse a record of flitwatch.samples.v1. Raise `BadInput` that names the invalid field."""
    return _parse_value(SampleValue.model_validate_json, value)


def _parse_value(read: Callable[[bytes], T], value: bytes) -> T:
    try:
        return read(value)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "record"
        raise BadInput(f"{field}: {first['msg']}") from None
